// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "cuda/transfer.hpp"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <mutex>

#include "cuda/parallel.hpp"
#include "file/failure.hpp"
#include "file/ordered.hpp"
#include "reader/chunk_reader.hpp"
#include "segment/digest.hpp"
#include "wire/checked.hpp"

namespace ptd::cuda {
namespace {

constexpr std::uint64_t digest_bytes = sizeof(Digest);

/// Leaf digests of one content, until all have come and give its root.
class ContentProof {
 public:
  explicit ContentProof(std::uint64_t size) : left_(size) {}

  /// Hashes a run that begins on a leaf's boundary. True with the last one.
  bool add(std::uint64_t begin, Bytes raw) {
    const std::uint64_t first = begin / segment::leaf_bytes;
    const std::uint64_t count = wire::divide_up(raw.size(), segment::leaf_bytes);
    segment::hash_leaves(raw, MutableBytes(leaves_).subspan(first * digest_bytes, count * digest_bytes));
    return left_.fetch_sub(raw.size()) == raw.size();
  }

  void make_room(std::uint64_t size) {
    std::call_once(made_, [&] { leaves_.resize(wire::divide_up(size, segment::leaf_bytes) * digest_bytes); });
  }

  /// The root; the leaves are let go.
  [[nodiscard]] Digest finish(std::uint64_t size) {
    segment::RootHasher root(size);
    root.add(leaves_);
    std::vector<std::byte>().swap(leaves_);
    return root.finish();
  }

 private:
  std::once_flag made_;
  std::atomic<std::uint64_t> left_;
  std::vector<std::byte> leaves_;
};

/// A batch that has been planned and not been sent.
struct OpenBatch {
  enum class Step : std::uint8_t { untouched, taking, filling, failed };

  OpenBatch(std::unique_ptr<Batch> planned, std::size_t number)
      : plan(std::move(planned)), first_task(number), tasks_left(plan->tasks.size()) {}

  const std::unique_ptr<const Batch> plan;
  const std::size_t first_task;  ///< its number in the load

  // With the transfer's lock.
  Step step = Step::untouched;
  PinnedBuffer buffer;
  std::size_t tasks_left;
  std::size_t tasks_in_hand = 0;
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
  Transfer(const Reader& file, TableStore& tables, const Feed& feed, std::span<const Wanted> wanted,
           Device& device, PinnedPool& pool, const TransferOptions& options)
      : file_(file),
        tables_(tables),
        feed_(feed),
        wanted_(wanted),
        device_(device),
        pool_(pool),
        options_(options),
        planner_(file, wanted, pool.buffer_bytes(), options.part_bytes) {}

  Result<TransferReport> run() {
    prepare_proofs();
    if (options_.progress) total_bytes_ = content_bytes(file_, wanted_);
    run_on_threads(threads(), [this] { work(); });
    PTD_TRY(settled(std::move(failure_)));
    for (const auto& zeros : planner_.zeros()) PTD_TRY(settled(device_.set_zero(zeros.device, zeros.bytes)));
    report_.zero_bytes = planner_.zero_bytes();
    return report_;
  }

 private:
  /// A thread's own.
  struct Worker {
    explicit Worker(const ByteSource& source) : reader(source) {}
    reader::ChunkReader reader;
    ReadReport report;
  };

  /// A thread for each part, as far as there are so many.
  [[nodiscard]] unsigned threads() const {
    const auto most = file::thread_count(options_.threads);
    if (wanted_.size() >= most) return most;
    const auto parts = content_bytes(file_, wanted_) / options_.part_bytes + wanted_.size();
    return static_cast<unsigned>(std::min<std::uint64_t>(most, parts));
  }

  /// After a failure nothing may be in flight: whoever asked gives the memory back.
  Result<void> settled(Result<void> outcome) {
    if (outcome) return outcome;
    if (const auto mark = device_.mark())
      static_cast<void>((*mark)->wait());  // the first error is the one to tell
    return outcome;
  }

  // --- contents ------------------------------------------------------------------------------------------

  void prepare_proofs() {
    if (options_.check != Check::content) return;
    proofs_.reserve(wanted_.size());
    for (const auto& one : wanted_) {
      const auto content = file_.model().storages[one.storage].content;
      proofs_.push_back(content == no_index
                            ? nullptr
                            : std::make_unique<ContentProof>(file_.model().contents[content].size));
    }
  }

  Result<void> prove(const Fill& fill, Bytes raw) {
    const auto& content = file_.model().contents[fill.content];
    auto& proof = *proofs_[fill.wanted];
    proof.make_room(content.size);
    if (!proof.add(fill.begin, raw) || proof.finish(content.size) == content.digest) return {};
    return fail_at(ErrorCode::content_digest, "DIG-2", file_.segment_of(fill.content).offset,
                   "a content does not have the digest that the model gives it; do not use this file");
  }

  // --- turns ---------------------------------------------------------------------------------------------

  void work() noexcept {
    const auto done = file::guarded([&]() -> Result<void> {
      Worker worker(*feed_.source);
      for (auto turn = take_turn(); turn.batch; turn = take_turn())
        if (auto result = file::guarded([&] { return do_task(worker, turn); }); !result)
          fail(turn.number(), std::move(result.error()));
      const std::lock_guard lock(mutex_);
      report_.stored_bytes += worker.report.stored_bytes;
      return {};
    });
    if (!done) fail(0, Error(done.error()));
  }

  /// Turns are given in the order of the plan, so once one has failed, all before it have been given.
  Turn take_turn() {
    const std::lock_guard lock(plan_mutex_);
    if (first_failed_ != none) return {};
    if (!given_.batch || given_.task + 1 == given_.batch->plan->tasks.size()) {
      auto plan = planner_.next();
      if (!plan) return {};
      const auto number = given_.batch ? given_.number() + 1 : 0;
      given_ = {std::make_shared<OpenBatch>(std::move(plan), number), 0};
    } else {
      ++given_.task;
    }
    return given_;
  }

  void fail(std::size_t number, Error error) {
    const std::lock_guard lock(mutex_);
    if (number >= first_failed_) return;
    first_failed_ = number;
    failure_ = Failure(std::move(error));
    const auto batches = holders_;
    for (const auto& batch : batches) give_up_if_spoiled(batch);
  }

  /// A batch of which a task has failed, or is not going to be begun, is never sent. It must not keep its
  /// buffer: others may be waiting for one. With the lock.
  void give_up_if_spoiled(const OpenBatchPtr& batch) {
    const auto end = batch->first_task + batch->plan->tasks.size();
    const bool is_spoiled = first_failed_ != none && end > first_failed_;
    if (batch->tasks_in_hand > 0 || !is_spoiled || !batch->buffer) return;
    const auto mark = device_.mark();
    batch->buffer.give_back(mark ? *mark : nullptr);
    batch->step = OpenBatch::Step::untouched;  // an earlier task of it may be about to begin
    std::erase(holders_, batch);
  }

  void put_down(const OpenBatchPtr& batch) {
    const std::lock_guard lock(mutex_);
    --batch->tasks_in_hand;
    give_up_if_spoiled(batch);
  }

  Result<void> do_task(Worker& worker, const Turn& turn) {
    PTD_LET(buffer, buffer_of(turn.batch));
    auto done = file::guarded([&] { return fill_all(worker, turn, buffer); });
    if (!done) fail(turn.number(), std::move(done.error()));
    put_down(turn.batch);
    return {};
  }

  Result<void> fill_all(Worker& worker, const Turn& turn, MutableBytes buffer) {
    const auto& plan = *turn.batch->plan;
    const auto& task = plan.tasks[turn.task];
    for (auto i = task.begin; i < task.end; ++i) {
      const auto& fill = plan.fills[i];
      PTD_TRY(do_fill(worker, fill, buffer.subspan(fill.in_buffer, fill.bytes)));
    }
    return end_task(turn.batch);
  }

  Result<void> do_fill(Worker& worker, const Fill& fill, MutableBytes raw) {
    const reader::Checks checks{.stored = false, .raw = options_.check != Check::none};
    const auto& segment = file_.segment_of(fill.content);
    const auto size = file_.model().contents[fill.content].size;
    PTD_LET(table, tables_.get(fill.content, *feed_.source, segment, size));
    PTD_TRY(worker.reader.read_range(segment, *table, fill.begin, raw, checks, worker.report));
    return options_.check == Check::content ? prove(fill, raw) : Result<void>();
  }

  /// The batch's buffer; the first to ask takes it from the pool, the others wait for that.
  Result<MutableBytes> buffer_of(const OpenBatchPtr& batch) {
    using Step = OpenBatch::Step;
    std::unique_lock lock(mutex_);
    // It may have been given up again by the time a waiter wakes.
    while (batch->step != Step::filling) {
      if (batch->step == Step::failed)
        return ptd::fail(ErrorCode::no_memory, "", "there is no buffer to copy from");
      if (batch->step == Step::taking)
        changed_.wait(lock);
      else
        PTD_TRY(take_buffer(batch, lock));
    }
    ++batch->tasks_in_hand;
    return batch->buffer.bytes();
  }

  Result<void> take_buffer(const OpenBatchPtr& batch, std::unique_lock<std::mutex>& lock) {
    batch->step = OpenBatch::Step::taking;
    lock.unlock();
    auto buffer = pool_.take();
    lock.lock();
    batch->step = buffer ? OpenBatch::Step::filling : OpenBatch::Step::failed;
    changed_.notify_all();
    if (!buffer) return Failure(std::move(buffer.error()));
    batch->buffer = std::move(*buffer);
    holders_.push_back(batch);
    return {};
  }

  // --- the end of a batch --------------------------------------------------------------------------------

  Result<void> end_task(const OpenBatchPtr& batch) {
    {
      const std::lock_guard lock(mutex_);
      if (--batch->tasks_left > 0) return {};
    }
    PTD_TRY(send(*batch));
    {
      const std::lock_guard lock(mutex_);
      report_.copies += batch->plan->copies.size();
      report_.copied_bytes += batch->plan->content_bytes;
      std::erase(holders_, batch);
    }
    return tell_progress(batch->plan->content_bytes);
  }

  Result<void> send(OpenBatch& batch) {
    const auto bytes = batch.buffer.bytes();
    for (const auto& blank : batch.plan->blanks) std::memset(bytes.data() + blank.in_buffer, 0, blank.bytes);
    for (const auto& copy : batch.plan->copies)
      PTD_TRY(device_.copy(copy.device, bytes.data() + copy.in_buffer, copy.bytes));
    PTD_LET(mark, device_.mark());
    batch.buffer.give_back(std::move(mark));
    return {};
  }

  Result<void> tell_progress(std::uint64_t bytes) {
    if (!options_.progress) return {};
    const std::lock_guard lock(progress_mutex_);
    done_bytes_ += bytes;
    if (options_.progress(done_bytes_, total_bytes_)) return {};
    return ptd::fail(ErrorCode::cancelled, "", "the load was cancelled; nothing of it is left");
  }

  static constexpr std::size_t none = ~std::size_t{0};

  const Reader& file_;
  TableStore& tables_;
  const Feed& feed_;
  const std::span<const Wanted> wanted_;
  Device& device_;
  PinnedPool& pool_;
  const TransferOptions& options_;

  std::vector<std::unique_ptr<ContentProof>> proofs_;  ///< by wanted

  std::mutex plan_mutex_;
  Planner planner_;
  Turn given_;  ///< the last one

  std::mutex progress_mutex_;
  std::uint64_t done_bytes_ = 0;
  std::uint64_t total_bytes_ = 0;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<OpenBatchPtr> holders_;             ///< of buffers
  std::atomic<std::size_t> first_failed_ = none;  ///< the first task that failed
  Result<void> failure_;
  TransferReport report_;
};

}  // namespace

Result<TransferReport> run_transfer(const Reader& file, TableStore& tables, const Feed& feed,
                                    std::span<const Wanted> wanted, Device& device, PinnedPool& pool,
                                    const TransferOptions& options) {
  return Transfer(file, tables, feed, wanted, device, pool, options).run();
}

}  // namespace ptd::cuda
