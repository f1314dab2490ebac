// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// From the file to the device: several threads fill parts of pinned buffers, and one copy sends each buffer.
#pragma once

#include <atomic>
#include <ptd/reader.hpp>
#include <span>

#include "cuda/feed.hpp"
#include "cuda/pinned_pool.hpp"
#include "cuda/table_store.hpp"
#include "cuda/transfer_plan.hpp"

namespace ptd::cuda {

struct TransferOptions {
  Check check = Check::chunks;
  unsigned threads = 0;          ///< 0: one a core
  std::uint64_t part_bytes = 0;  ///< that a thread fills at once
  Progress progress;
};

struct TransferReport {
  std::uint64_t copied_bytes = 0;
  std::uint64_t stored_bytes = 0;
  std::uint64_t copies = 0;
  std::uint64_t zero_bytes = 0;
};

/// Brings what is wanted, in its order: returns once every byte has been read and checked and every copy
/// enqueued. After an error, which is that of the first fault in that order whatever the number of threads,
/// nothing of it is in flight any more.
Result<TransferReport> run_transfer(const Reader& file, TableStore& tables, const Feed& feed,
                                    std::span<const Wanted> wanted, Device& device, PinnedPool& pool,
                                    const TransferOptions& options);

}  // namespace ptd::cuda
