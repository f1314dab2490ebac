// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Work in parallel, commit in order.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <ptd/error.hpp>

namespace ptd::file {

/// The number of threads to use for a request of `threads` (0 = one for each core that this process may
/// use), at least 1 and at most 1024.
unsigned thread_count(unsigned threads) noexcept;

/// One thread's part in run_ordered: made once a thread, so that it can keep buffers. Calls of take, of
/// commit and of the function that makes workers exclude each other, over all threads.
class OrderedWorker {
 public:
  virtual ~OrderedWorker() = default;

  /// Takes the next piece. Called by one thread at a time, in the order of the pieces. False: no more.
  virtual Result<bool> take() = 0;

  /// Works on the piece taken; runs beside other threads.
  virtual Result<void> work() = 0;

  /// Called in the order of the pieces, one thread at a time, after work.
  virtual Result<void> commit() = 0;

  /// After commit, beside other threads again: for I/O whose place commit decided.
  virtual Result<void> finish() = 0;
};

/// Runs workers made by `make` on thread_count(threads) threads (the calling thread is one of them; no
/// thread is started for threads == 1, and none before there is a piece for the one before it) until take
/// says no more. Returns the error of the first piece, in order, that failed; nothing of a later piece is
/// committed once an earlier one failed. A failed finish may come too late for that: its piece, and perhaps
/// some after it, are committed. All threads have ended when it returns. Results do not depend on the number
/// of threads. An exception std::bad_alloc inside a worker becomes `no_memory`, any other `internal`. A
/// thread that cannot be started, or whose worker cannot be made, is done without, except the first.
Result<void> run_ordered(unsigned threads, const std::function<std::unique_ptr<OrderedWorker>()>& make);

}  // namespace ptd::file
