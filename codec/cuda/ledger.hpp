// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// The cache's counters.
#pragma once

#include <algorithm>
#include <mutex>
#include <ptd/cuda.hpp>

namespace ptd::cuda {

/// Outlives the cache, since memory does. Thread-safe.
class Ledger {
 public:
  template <class Change>
  void change(Change apply) {
    const std::lock_guard lock(mutex_);
    apply(counters_);
    counters_.most_arena_bytes = std::max(counters_.most_arena_bytes, counters_.arena_bytes);
  }

  [[nodiscard]] CacheCounters counters() const {
    const std::lock_guard lock(mutex_);
    return counters_;
  }

 private:
  mutable std::mutex mutex_;
  CacheCounters counters_;
};

using LedgerPtr = std::shared_ptr<Ledger>;

}  // namespace ptd::cuda
