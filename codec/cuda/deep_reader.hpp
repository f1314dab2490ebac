// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Many direct reads in flight at once: a disk is as fast as its queue is long.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "cuda/direct_file.hpp"

namespace ptd::cuda {

/// One read of whole blocks.
struct BlockRead {
  std::uint64_t offset = 0;
  MutableBytes into;
  std::uint64_t number = 0;  ///< the queue's name for it
};

/// Says what is to be read next, and takes what has come. Thread-safe; nothing of it throws.
class ReadQueue {
 public:
  virtual ~ReadQueue() = default;
  /// Nothing: there is none left, ever; or, unless it may wait, none now.
  [[nodiscard]] virtual std::optional<BlockRead> next(bool may_wait) noexcept = 0;
  /// So many bytes have come, from the front: fewer than asked for at the end of the file or after an error.
  virtual void finish(std::uint64_t number, std::uint64_t bytes) noexcept = 0;
};

class DeepReader {
 public:
  virtual ~DeepReader() = default;
  /// Reads until the queue has no more, or it cannot go on. Nothing is in flight when it returns; what was
  /// not finished then will not be.
  virtual void run(const DirectFile& file, ReadQueue& queue) noexcept = 0;
};

using DeepReaderPtr = std::unique_ptr<DeepReader>;

/// With io_uring, from one thread. Error `io` where that is not to be had: an old kernel, a container that
/// forbids it, or a build without liburing.
Result<DeepReaderPtr> ring_reader(unsigned depth);

/// With so many threads, each of which waits for one read.
DeepReaderPtr thread_reader(unsigned threads);

}  // namespace ptd::cuda
