// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "cuda/index.hpp"

#include <algorithm>

namespace ptd::cuda {
namespace {

bool are_same(const std::weak_ptr<FileScope>& a, const ScopePtr& b) noexcept {
  return !a.owner_before(b) && !b.owner_before(a);
}

}  // namespace

ScopePtr StorageIndex::scope_of(const FileKey& key, const Reader& file) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = scopes_.find(key);
    if (found != scopes_.end())
      if (auto scope = found->second.lock()) return scope;
  }
  auto made = std::make_shared<FileScope>(file);  // takes its time, so without the lock
  const std::lock_guard lock(mutex_);
  auto& entry = scopes_[key];
  if (auto other = entry.lock()) return other;
  entry = made;
  std::erase_if(scopes_, [](const auto& scope) { return scope.second.expired(); });
  return made;
}

MemoryPtr StorageIndex::find_proven(const ProvenKey& key) const {
  const auto found = proven_.find(key);
  return found == proven_.end() ? nullptr : found->second.lock();
}

bool StorageIndex::list_proven(const ScopePtr& but, std::vector<BlockPtr>& looked_at) {
  std::erase_if(proven_blocks_, [](const auto& proven) { return proven.block.expired(); });
  bool has_others = false;
  for (auto& proven : proven_blocks_) {
    if (are_same(proven.scope, but)) continue;
    has_others = true;
    if (proven.is_listed) continue;
    looked_at.push_back(proven.block.lock());
    if (looked_at.back()) list(looked_at.back());
    proven.is_listed = true;
  }
  return has_others;
}

void StorageIndex::list(const BlockPtr& block) {
  if (proven_.size() >= sweep_at_) {
    std::erase_if(proven_, [](const auto& entry) { return entry.second.expired(); });
    sweep_at_ = std::max<std::size_t>(1024, 2 * proven_.size());
  }
  for (std::size_t i = 0; i < block->proven.size(); ++i) {
    const auto& name = block->proven[i];
    auto& memory = block->storages[i];
    if (name.bytes > 0)
      proven_[{name.digest, name.bytes, memory.bytes, block->device}] = MemoryPtr(block, &memory);
  }
}

}  // namespace ptd::cuda
