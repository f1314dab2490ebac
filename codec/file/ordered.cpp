// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "file/ordered.hpp"

#include <sched.h>

#include <algorithm>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "file/failure.hpp"

namespace ptd::file {
namespace {

using MakeWorker = std::function<std::unique_ptr<OrderedWorker>()>;

// More threads than any machine has cores cost memory and bring nothing.
constexpr unsigned most_threads = 1024;

unsigned usable_cores() noexcept {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  // The cores that this process may use, which on a shared machine are not all that there are.
  if (::sched_getaffinity(0, sizeof cores, &cores) == 0) return static_cast<unsigned>(CPU_COUNT(&cores));
  return std::thread::hardware_concurrency();
}

// Pieces are numbered in the order in which they are taken. Every piece taken passes its turn, failed
// or not, so that no one waits for ever. Pieces between their take and their turn are consecutive and
// each has its own thread; so there are at most as many as threads, and each has a condition variable
// of its own at its number modulo that many.
class OrderedRun {
 public:
  OrderedRun(unsigned threads, const MakeWorker& make) : make_(make), turns_(threads) {
    threads_.reserve(threads - 1);
  }

  Result<void> run() {
    const auto worker = make_();
    if (!worker) return fail(ErrorCode::internal, "", "no worker was made; please report this");
    drive(*worker);
    // This thread has seen the end, so no one starts threads any more.
    for (auto& thread : threads_) thread.join();
    if (error_) return Failure(std::move(*error_));
    return {};
  }

 private:
  void drive(OrderedWorker& worker) noexcept {
    while (const auto piece = take(worker)) {
      if (!pass_turn(worker, *piece, guarded([&] { return worker.work(); }))) continue;
      if (auto finished = guarded([&] { return worker.finish(); }); !finished) {
        const std::lock_guard lock(mutex_);
        record(*piece, std::move(finished).error());
      }
    }
  }

  std::optional<std::uint64_t> take(OrderedWorker& worker) {
    const std::lock_guard lock(mutex_);
    if (exhausted_ || error_) return std::nullopt;
    auto taken = guarded([&] { return worker.take(); });
    if (taken)
      exhausted_ = !*taken;
    else
      record(taken_, std::move(taken).error());
    if (exhausted_ || error_) return std::nullopt;
    start_another();
    return taken_++;
  }

  // True if the piece was committed.
  bool pass_turn(OrderedWorker& worker, std::uint64_t piece, Result<void> worked) {
    std::unique_lock lock(mutex_);
    if (!worked) record(piece, std::move(worked).error());
    turn_of(piece).wait(lock, [&] { return turn_ == piece; });
    if (piece < failed_piece_) {
      if (auto committed = guarded([&] { return worker.commit(); }); !committed)
        record(piece, std::move(committed).error());
    }
    ++turn_;
    turn_of(turn_).notify_one();
    return piece < failed_piece_;
  }

  // Threads start one by one as pieces come, so that a few pieces do not pay for many threads. One
  // that cannot be started is no error: the others do its share.
  void start_another() noexcept {
    if (threads_.size() + 1 >= turns_.size() || refused_) return;
    try {
      threads_.emplace_back([this, worker = make_()] {
        if (worker) drive(*worker);
      });
    } catch (...) {
      refused_ = true;
    }
  }

  void record(std::uint64_t piece, Error error) noexcept {
    if (piece >= failed_piece_) return;
    failed_piece_ = piece;
    error_ = std::move(error);
  }

  std::condition_variable& turn_of(std::uint64_t piece) { return turns_[piece % turns_.size()]; }

  const MakeWorker& make_;
  std::mutex mutex_;  // guards everything below, and excludes take, commit and make from each other
  std::vector<std::condition_variable> turns_;
  std::vector<std::thread> threads_;
  std::uint64_t taken_ = 0;
  std::uint64_t turn_ = 0;
  std::uint64_t failed_piece_ = std::numeric_limits<std::uint64_t>::max();
  std::optional<Error> error_;
  bool exhausted_ = false;
  bool refused_ = false;
};

}  // namespace

unsigned thread_count(unsigned threads) noexcept {
  return std::clamp(threads == 0 ? usable_cores() : threads, 1U, most_threads);
}

Result<void> run_ordered(unsigned threads, const MakeWorker& make) {
  return guarded([&] { return OrderedRun(thread_count(threads), make).run(); });
}

}  // namespace ptd::file
