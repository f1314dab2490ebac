// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// From the file to the device: several threads fill parts of pinned buffers, and each full buffer is sent.
#pragma once

#include <atomic>
#include <ptd/reader.hpp>

#include "cuda/allocation.hpp"
#include "cuda/device.hpp"
#include "cuda/pinned_pool.hpp"
#include "cuda/transfer_plan.hpp"
#include "reader/chunk_reader.hpp"

namespace ptd::cuda {

/// What a thread of a transfer has for itself.
struct Worker {
  explicit Worker(const ByteSource& from) : source(from), reader(from) {}
  const ByteSource& source;
  reader::ChunkReader reader;
  ReadReport report;
};

/// What becomes of the batches of a transfer. After any error nothing more of it is asked for but `settle`.
class BatchWork {
 public:
  virtual ~BatchWork() = default;

  /// The next batch; null after the last. One thread at a time, and one batch ahead: may wait until others
  /// have been sent, but not for the one that it gave last.
  virtual Result<BatchPtr> next() = 0;
  /// Brings a fill to its place in the buffer. Several threads at once.
  virtual Result<void> fill(Worker& worker, const Batch& batch, const Fill& fill, MutableBytes to) = 0;
  /// All of a batch has been filled: enqueues its copies. Gives the mark behind them. Several threads at
  /// once.
  virtual Result<MarkPtr> send(const BatchPtr& batch, Bytes buffer) = 0;
  /// The end of what was enqueued of the batch, which is not going to be sent or was not sent as a whole.
  virtual Result<MarkPtr> mark(const Batch& batch) = 0;
  /// A batch is not going to be sent, so that nothing may wait for it. Any thread.
  virtual void stop() noexcept {}
  /// After the last batch was sent: what is left to do.
  virtual Result<void> finish() = 0;
  /// Waits for all that was enqueued.
  virtual void settle() noexcept = 0;
};

struct TransferOptions {
  unsigned threads = 1;
  std::uint64_t total_bytes = 0;  ///< of content, for the progress
  Progress progress;
};

struct TransferReport {
  std::uint64_t copied_bytes = 0;  ///< of content
  std::uint64_t stored_bytes = 0;
  std::uint64_t copies = 0;
};

/// Returns once every batch has been sent and the work has finished. Nothing is sent before there is memory;
/// only buffers are filled. After an error, which is that of the memory, or else of the first fault in the
/// order of the batches whatever the number of threads, nothing of it is in flight any more.
Result<TransferReport> run_transfer(BatchWork& work, const ByteSource& source, PinnedPool& pool,
                                    const Allocation& memory, const TransferOptions& options);

}  // namespace ptd::cuda
