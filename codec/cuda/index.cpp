// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "cuda/index.hpp"

#include <algorithm>

namespace ptd::cuda {
namespace {

bool serves(const MemoryPtr& memory, const StorageKey& key, Check check) {
  return memory && memory->check >= check && memory->bytes == key.bytes && memory->device == key.device &&
         !memory->arrival->has_failed();
}

}  // namespace

std::uint64_t StorageIndex::scope_of(const FileKey& file) {
  const std::lock_guard lock(mutex_);
  return scopes_.try_emplace(file, StorageKey::proven + 1 + scopes_.size()).first->second;
}

MemoryPtr StorageIndex::find(const StorageKey& in_file, Check check, MemoryPtr (&unfit)[2]) const {
  auto proven = in_file;
  proven.scope = StorageKey::proven;
  for (const auto& key : {in_file, proven}) {
    const auto found = memories_.find(key);
    if (found == memories_.end()) continue;
    auto memory = found->second.lock();
    if (serves(memory, key, check)) return memory;
    unfit[key.scope == StorageKey::proven ? 1 : 0] = std::move(memory);
  }
  return nullptr;
}

void StorageIndex::enter(const StorageKey& in_file, Check check, const MemoryPtr& memory) {
  memories_[in_file] = memory;
  if (check == Check::content) {
    auto proven = in_file;
    proven.scope = StorageKey::proven;
    memories_[proven] = memory;
  }
  if (memories_.size() < sweep_at_) return;
  std::erase_if(memories_, [](const auto& entry) { return entry.second.expired(); });
  sweep_at_ = std::max<std::size_t>(1024, 2 * memories_.size());
}

}  // namespace ptd::cuda
