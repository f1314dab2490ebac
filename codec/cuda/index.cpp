// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "cuda/index.hpp"

#include <algorithm>

namespace ptd::cuda {

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

void StorageIndex::enter_proven(const ProvenKey& key, const MemoryPtr& memory) {
  proven_[key] = memory;
  if (proven_.size() < sweep_at_) return;
  std::erase_if(proven_, [](const auto& entry) { return entry.second.expired(); });
  sweep_at_ = std::max<std::size_t>(1024, 2 * proven_.size());
}

}  // namespace ptd::cuda
