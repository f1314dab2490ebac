// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// From the file to the device: several threads fill parts of pinned buffers, and one copy sends each buffer.
#pragma once

#include <atomic>
#include <ptd/reader.hpp>
#include <vector>

#include "cuda/feed.hpp"
#include "cuda/pinned_pool.hpp"
#include "cuda/placement.hpp"

namespace ptd::cuda {

struct TransferOptions {
  Check check = Check::chunks;
  unsigned threads = 0;
  Progress progress;
};

struct TransferReport {
  std::uint64_t copied_bytes = 0;
  std::uint64_t stored_bytes = 0;
  std::uint64_t copies = 0;
};

/// Does what the plan says: returns once every byte has been read and checked and every copy enqueued. After
/// an error, which is that of the first fault in the plan's order whatever the number of threads, nothing of
/// it is in flight any more.
Result<TransferReport> run_transfer(const Reader& file, const Feed& feed, const TransferPlan& plan,
                                    Device& device, PinnedPool& pool, const TransferOptions& options);

}  // namespace ptd::cuda
