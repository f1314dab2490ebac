// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "cuda/transfer.hpp"

#include <condition_variable>
#include <cstring>
#include <mutex>
#include <optional>

#include "cuda/parallel.hpp"
#include "file/failure.hpp"

namespace ptd::cuda {
namespace {

/// A batch that has been planned and not been sent. What changes, changes with the transfer's lock.
struct OpenBatch {
  OpenBatch(BatchPtr planned, PinnedBuffer to, std::size_t number)
      : plan(std::move(planned)), first_task(number), buffer(std::move(to)), tasks_left(plan->tasks.size()) {}

  const BatchPtr plan;
  const std::size_t first_task;  ///< its number in the transfer
  PinnedBuffer buffer;
  std::size_t tasks_given = 0;
  std::size_t tasks_left;
  std::size_t tasks_in_hand = 0;

  [[nodiscard]] std::size_t end_task() const { return first_task + plan->tasks.size(); }
};

using OpenBatchPtr = std::shared_ptr<OpenBatch>;

/// A thread's turn.
struct Turn {
  OpenBatchPtr batch;  ///< null: there is nothing left to do
  std::size_t task = 0;

  [[nodiscard]] std::size_t number() const { return batch->first_task + task; }
};

class Transfer {
 public:
  Transfer(BatchWork& work, const ByteSource& source, PinnedPool& pool, const Allocation& memory,
           const TransferOptions& options)
      : work_(work), source_(source), pool_(pool), memory_(memory), options_(options) {}

  Result<TransferReport> run() {
    run_on_threads(options_.threads, [this] { take_turns(); });
    auto done = memory_.wait();
    if (done) done = std::move(failure_);
    if (done) done = file::guarded([&] { return work_.finish(); });
    if (done) return report_;
    work_.settle();
    return Failure(std::move(done.error()));
  }

 private:
  void take_turns() noexcept {
    const auto done = file::guarded([&]() -> Result<void> {
      Worker worker(source_);
      for (auto turn = take_turn(); turn.batch; turn = take_turn()) do_task(worker, turn);
      const std::lock_guard lock(mutex_);
      report_.stored_bytes += worker.report.stored_bytes;
      return {};
    });
    if (!done) fail(0, Error(done.error()));
  }

  // --- turns: given in the order of the plan, so once one has failed, all before it have been given --------

  Turn take_turn() {
    std::unique_lock lock(mutex_);
    while (first_failed_ == none && !is_planned_) {
      if (!is_planning_ && !ahead_) {
        plan_next(lock);
        continue;
      }
      if (given_ && given_->tasks_given < given_->plan->tasks.size()) {
        ++given_->tasks_in_hand;
        return {given_, given_->tasks_given++};
      }
      if (is_opening_ || !ahead_)
        changed_.wait(lock);
      else
        open_next(lock);
    }
    return {};
  }

  /// While others fill the batch before: to plan many small storages took a third of the time that they came
  /// in.
  void plan_next(std::unique_lock<std::mutex>& lock) {
    is_planning_ = true;
    lock.unlock();
    auto planned = file::guarded([&] { return work_.next(); });
    lock.lock();
    is_planning_ = false;
    ahead_ = std::move(planned);
    changed_.notify_all();
  }

  /// Takes a buffer for what has been planned; in order, so that no batch waits for a buffer that a later one
  /// has.
  void open_next(std::unique_lock<std::mutex>& lock) {
    is_opening_ = true;
    const auto number = given_ ? given_->end_task() : 0;
    auto planned = std::move(*ahead_);
    const bool is_end = !planned || !*planned;
    if (!is_end) ahead_.reset();  // else there is nothing further to plan
    lock.unlock();
    auto opened = file::guarded([&] { return open(std::move(planned), number); });
    if (!opened) fail(number, std::move(opened.error()));
    lock.lock();
    is_opening_ = false;
    if (opened && *opened) {
      given_ = std::move(*opened);
      holders_.push_back(given_);
      give_up_spoiled();
    } else {
      is_planned_ = true;
    }
    changed_.notify_all();
  }

  Result<OpenBatchPtr> open(Result<BatchPtr> planned, std::size_t number) {
    PTD_LET(plan, std::move(planned));
    if (!plan) return OpenBatchPtr();
    PTD_LET(buffer, pool_.take());
    return std::make_shared<OpenBatch>(plan, std::move(buffer), number);
  }

  void do_task(Worker& worker, const Turn& turn) {
    auto done = file::guarded([&] { return fill_all(worker, turn); });
    if (!done) fail(turn.number(), std::move(done.error()));
    const std::lock_guard lock(mutex_);
    --turn.batch->tasks_in_hand;
    give_up_spoiled();
  }

  Result<void> fill_all(Worker& worker, const Turn& turn) {
    const auto& plan = *turn.batch->plan;
    const auto& task = plan.tasks[turn.task];
    const auto buffer = turn.batch->buffer.bytes();
    for (auto i = task.begin; i < task.end; ++i) {
      const auto& fill = plan.fills[i];
      PTD_TRY(work_.fill(worker, plan, fill, buffer.subspan(fill.in_buffer, fill.buffer_bytes())));
    }
    {
      const std::lock_guard lock(mutex_);
      if (--turn.batch->tasks_left > 0) return {};
    }
    return send(turn.batch);
  }

  // --- failures --------------------------------------------------------------------------------------------

  void fail(std::size_t number, Error error) noexcept {
    {
      const std::lock_guard lock(mutex_);
      if (number < first_failed_) {
        first_failed_ = number;
        failure_ = Failure(std::move(error));
      }
      give_up_spoiled();
    }
    changed_.notify_all();
    work_.stop();
  }

  /// A batch of which a task has failed, or is not going to be begun, is never sent. It must not keep its
  /// buffer: others may be waiting for one. With the lock.
  void give_up_spoiled() noexcept {
    if (first_failed_ == none) return;
    std::erase_if(holders_, [&](const OpenBatchPtr& batch) {
      if (batch->tasks_in_hand > 0 || batch->end_task() <= first_failed_) return false;
      give_back(*batch);
      return true;
    });
  }

  void give_back(OpenBatch& batch) noexcept {
    auto mark = file::guarded([&] { return work_.mark(*batch.plan); });
    batch.buffer.give_back(mark ? std::move(*mark) : nullptr);
  }

  // --- the end of a batch ----------------------------------------------------------------------------------

  Result<void> send(const OpenBatchPtr& batch) {
    const auto& plan = *batch->plan;
    const auto bytes = batch->buffer.bytes();
    for (const auto& blank : plan.blanks) std::memset(bytes.data() + blank.in_buffer, 0, blank.bytes);
    PTD_TRY(memory_.wait());
    PTD_LET(mark, work_.send(batch->plan, bytes));
    {
      const std::lock_guard lock(mutex_);
      report_.copies += plan.copies.size();
      report_.copied_bytes += plan.content_bytes;
      std::erase(holders_, batch);
    }
    batch->buffer.give_back(std::move(mark));
    return tell_progress(plan.content_bytes);
  }

  Result<void> tell_progress(std::uint64_t bytes) {
    if (!options_.progress) return {};
    const std::lock_guard lock(progress_mutex_);
    done_bytes_ += bytes;
    if (options_.progress(done_bytes_, options_.total_bytes)) return {};
    return ptd::fail(ErrorCode::cancelled, "", "the load was cancelled; nothing of it is left");
  }

  static constexpr std::size_t none = ~std::size_t{0};

  BatchWork& work_;
  const ByteSource& source_;
  PinnedPool& pool_;
  const Allocation& memory_;
  const TransferOptions& options_;

  std::mutex progress_mutex_;
  std::uint64_t done_bytes_ = 0;

  std::mutex mutex_;
  std::condition_variable changed_;
  OpenBatchPtr given_;                     ///< the last one that turns were given of
  std::optional<Result<BatchPtr>> ahead_;  ///< the one after it
  bool is_planning_ = false;
  bool is_opening_ = false;
  bool is_planned_ = false;            ///< there is no further batch
  std::vector<OpenBatchPtr> holders_;  ///< of buffers
  std::size_t first_failed_ = none;    ///< the first task that failed
  Result<void> failure_;
  TransferReport report_;
};

}  // namespace

Result<TransferReport> run_transfer(BatchWork& work, const ByteSource& source, PinnedPool& pool,
                                    const Allocation& memory, const TransferOptions& options) {
  return Transfer(work, source, pool, memory, options).run();
}

}  // namespace ptd::cuda
