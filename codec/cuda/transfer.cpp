// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "cuda/transfer.hpp"

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

class Transfer {
 public:
  Transfer(const Reader& file, const Feed& feed, const TransferPlan& plan, Device& device, PinnedPool& pool,
           const TransferOptions& options)
      : file_(file),
        feed_(feed),
        plan_(plan),
        device_(device),
        pool_(pool),
        options_(options),
        first_failed_(plan.tasks.size()),
        batches_(plan.batches.size()) {
    for (std::size_t i = 0; i < batches_.size(); ++i)
      batches_[i].tasks_left = plan.batches[i].tasks.end - plan.batches[i].tasks.begin;
  }

  Result<TransferReport> run() {
    PTD_TRY(prepare_contents());
    for (const auto& zeros : plan_.zeros) PTD_TRY(settled(device_.set_zero(zeros.device, zeros.bytes)));
    const auto tasks = static_cast<unsigned>(std::min<std::size_t>(plan_.tasks.size(), 1024));
    if (tasks > 0) run_on_threads(std::min(file::thread_count(options_.threads), tasks), [this] { work(); });
    PTD_TRY(settled(std::move(failure_)));
    report_.copied_bytes = plan_.content_bytes;
    return report_;
  }

 private:
  struct BatchState {
    enum class Step : std::uint8_t { untouched, taking, filling, failed };
    Step step = Step::untouched;
    PinnedBuffer buffer;
    std::size_t tasks_left = 0;
    std::size_t tasks_in_hand = 0;
  };

  /// A thread's own.
  struct Worker {
    explicit Worker(const ByteSource& source) : reader(source) {}
    reader::ChunkReader reader;
    ReadReport report;
  };

  /// After a failure nothing may be in flight: whoever asked gives the memory back.
  Result<void> settled(Result<void> outcome) {
    if (outcome) return outcome;
    if (const auto mark = device_.mark())
      static_cast<void>((*mark)->wait());  // the first error is the one to tell
    return outcome;
  }

  [[nodiscard]] const Content& content_of(std::size_t item) const {
    return file_.model().contents[plan_.contents[item]];
  }
  [[nodiscard]] const Segment& segment_of(std::size_t item) const {
    return file_.segment_of(plan_.contents[item]);
  }

  /// Every table is checked before an entry of it is used.
  Result<void> prepare_contents() {
    const auto items = plan_.contents.size();
    tables_.resize(items);
    proofs_.resize(options_.check == Check::content ? items : 0);
    return for_each(options_.threads, items, [&](std::size_t i) -> Result<void> {
      PTD_LET(table, reader::load_table(*feed_.source, segment_of(i), content_of(i).size));
      tables_[i] = std::move(table);
      if (!proofs_.empty()) proofs_[i] = std::make_unique<ContentProof>(content_of(i).size);
      return {};
    });
  }

  void work() noexcept {
    const auto done = file::guarded([&]() -> Result<void> {
      Worker worker(*feed_.source);
      for (auto task = next_++; task < first_failed_; task = next_++)
        if (auto result = file::guarded([&] { return do_task(worker, task); }); !result)
          fail(task, std::move(result.error()));
      const std::lock_guard lock(mutex_);
      report_.stored_bytes += worker.report.stored_bytes;
      return {};
    });
    if (!done) fail(0, Error(done.error()));
  }

  void fail(std::size_t task, Error error) {
    const std::lock_guard lock(mutex_);
    if (task >= failed_task_) return;
    failed_task_ = task;
    first_failed_ = task;
    failure_ = Failure(std::move(error));
    for (std::size_t i = 0; i < batches_.size(); ++i) give_up_if_spoiled(i);
  }

  /// A batch of which a task has failed, or is no longer going to be begun, is never sent. It must not keep
  /// its buffer: others may be waiting for one. With the lock.
  void give_up_if_spoiled(std::size_t number) {
    auto& batch = batches_[number];
    if (!batch.buffer || batch.tasks_in_hand > 0 || plan_.batches[number].tasks.end <= first_failed_) return;
    const auto mark = device_.mark();
    batch.buffer.give_back(mark ? *mark : nullptr);
    batch.step = BatchState::Step::untouched;  // an earlier task of it may be about to begin
  }

  void put_down(std::size_t number) {
    const std::lock_guard lock(mutex_);
    --batches_[number].tasks_in_hand;
    give_up_if_spoiled(number);
  }

  Result<void> do_task(Worker& worker, std::size_t number) {
    const auto& task = plan_.tasks[number];
    PTD_LET(buffer, buffer_of(task.batch));
    auto done = file::guarded([&] { return fill_all(worker, task, buffer); });
    if (!done) fail(number, std::move(done.error()));
    put_down(task.batch);
    return {};
  }

  Result<void> fill_all(Worker& worker, const Task& task, MutableBytes buffer) {
    for (auto i = task.fills.begin; i < task.fills.end; ++i) {
      const auto& fill = plan_.fills[i];
      PTD_TRY(do_fill(worker, fill, buffer.subspan(fill.in_buffer, fill.bytes)));
    }
    return end_task(task);
  }

  Result<void> do_fill(Worker& worker, const Fill& fill, MutableBytes raw) {
    const reader::Checks checks{.stored = false, .raw = options_.check != Check::none};
    PTD_TRY(worker.reader.read_range(segment_of(fill.item), *tables_[fill.item], fill.begin, raw, checks,
                                     worker.report));
    return options_.check == Check::content ? prove(fill, raw) : Result<void>();
  }

  Result<void> prove(const Fill& fill, Bytes raw) {
    const auto& content = content_of(fill.item);
    auto& proof = *proofs_[fill.item];
    proof.make_room(content.size);
    if (!proof.add(fill.begin, raw) || proof.finish(content.size) == content.digest) return {};
    return fail_at(ErrorCode::content_digest, "DIG-2", segment_of(fill.item).offset,
                   "a content does not have the digest that the model gives it; do not use this file");
  }

  /// The batch's buffer; the first to ask takes it from the pool, the others wait for that.
  Result<MutableBytes> buffer_of(std::size_t number) {
    auto& batch = batches_[number];
    using Step = BatchState::Step;
    std::unique_lock lock(mutex_);
    if (batch.step == Step::untouched) {
      batch.step = Step::taking;
      lock.unlock();
      auto buffer = pool_.take();
      lock.lock();
      batch.step = buffer ? Step::filling : Step::failed;
      if (buffer) batch.buffer = std::move(*buffer);
      changed_.notify_all();
      if (!buffer) return Failure(std::move(buffer.error()));
    }
    changed_.wait(lock, [&] { return batch.step != Step::taking; });
    if (batch.step == Step::failed)
      return ptd::fail(ErrorCode::no_memory, "", "there is no buffer to copy from");
    ++batch.tasks_in_hand;
    return batch.buffer.bytes();
  }

  Result<void> end_task(const Task& task) {
    {
      const std::lock_guard lock(mutex_);
      if (--batches_[task.batch].tasks_left > 0) return {};
    }
    PTD_TRY(send(plan_.batches[task.batch], batches_[task.batch]));
    return tell_progress(plan_.batches[task.batch]);
  }

  Result<void> send(const Batch& batch, BatchState& state) {
    const auto bytes = state.buffer.bytes();
    for (auto i = batch.blanks.begin; i < batch.blanks.end; ++i)
      std::memset(bytes.data() + plan_.blanks[i].in_buffer, 0, plan_.blanks[i].bytes);
    for (auto i = batch.copies.begin; i < batch.copies.end; ++i) {
      const auto& copy = plan_.copies[i];
      PTD_TRY(device_.copy(copy.device, bytes.data() + copy.in_buffer, copy.bytes));
    }
    PTD_LET(mark, device_.mark());
    state.buffer.give_back(std::move(mark));
    const std::lock_guard lock(mutex_);
    report_.copies += batch.copies.end - batch.copies.begin;
    return {};
  }

  Result<void> tell_progress(const Batch& batch) {
    if (!options_.progress) return {};
    std::uint64_t bytes = 0;
    for (auto task = batch.tasks.begin; task < batch.tasks.end; ++task)
      for (auto i = plan_.tasks[task].fills.begin; i < plan_.tasks[task].fills.end; ++i)
        bytes += plan_.fills[i].bytes;
    const std::lock_guard lock(progress_mutex_);
    done_ += bytes;
    if (options_.progress(done_, plan_.content_bytes)) return {};
    return ptd::fail(ErrorCode::cancelled, "", "the load was cancelled; nothing of it is left");
  }

  const Reader& file_;
  const Feed& feed_;
  const TransferPlan& plan_;
  Device& device_;
  PinnedPool& pool_;
  const TransferOptions& options_;

  std::vector<reader::TablePtr> tables_;               ///< by item
  std::vector<std::unique_ptr<ContentProof>> proofs_;  ///< by item
  std::atomic<std::size_t> next_ = 0;
  std::atomic<std::size_t> first_failed_;  ///< no task from here on needs to be done
  std::mutex progress_mutex_;
  std::uint64_t done_ = 0;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<BatchState> batches_;
  std::size_t failed_task_ = ~std::size_t{0};
  Result<void> failure_;
  TransferReport report_;
};

}  // namespace

Result<TransferReport> run_transfer(const Reader& file, const Feed& feed, const TransferPlan& plan,
                                    Device& device, PinnedPool& pool, const TransferOptions& options) {
  return Transfer(file, feed, plan, device, pool, options).run();
}

}  // namespace ptd::cuda
