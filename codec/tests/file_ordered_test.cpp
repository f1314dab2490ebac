// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "file/ordered.hpp"

#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <numeric>
#include <set>
#include <stdexcept>
#include <thread>

#include "file_fixture.hpp"

namespace ptd::file {
namespace {

using namespace std::chrono_literals;
using Hook = std::function<Result<void>(std::uint64_t piece)>;

// What happens to `pieces` numbers. What take and commit touch has no lock of its own: run_ordered
// promises that they exclude each other, and the thread sanitizer looks.
struct Job {
  std::uint64_t pieces = 0;
  Hook on_take, on_work, on_commit, on_finish;

  std::uint64_t takes = 0;  // calls of take
  std::uint64_t taken = 0;
  std::uint64_t most_open = 0;
  std::vector<std::uint64_t> committed;
  unsigned workers = 0;

  std::mutex mutex;
  std::set<std::uint64_t> finished;
  std::set<std::thread::id> threads;
};

Result<void> call(const Hook& hook, std::uint64_t piece) {
  if (hook) return hook(piece);
  return {};
}

class Worker final : public OrderedWorker {
 public:
  explicit Worker(Job& job) : job_(job) { ++job_.workers; }

  Result<bool> take() override {
    ++job_.takes;
    PTD_TRY(call(job_.on_take, job_.taken));
    if (job_.taken == job_.pieces) return false;
    piece_ = job_.taken++;
    job_.most_open = std::max(job_.most_open, job_.taken - job_.committed.size());
    return true;
  }
  Result<void> work() override {
    square_ = piece_ * piece_;
    return call(job_.on_work, piece_);
  }
  Result<void> commit() override {
    PTD_TRY(call(job_.on_commit, piece_));
    job_.committed.push_back(square_);
    return {};
  }
  Result<void> finish() override {
    {
      const std::lock_guard lock(job_.mutex);
      job_.finished.insert(piece_);
      job_.threads.insert(std::this_thread::get_id());
    }
    return call(job_.on_finish, piece_);
  }

 private:
  Job& job_;
  std::uint64_t piece_ = 0;
  std::uint64_t square_ = 0;
};

Result<void> run(unsigned threads, Job& job) {
  return run_ordered(threads, [&] { return std::make_unique<Worker>(job); });
}

// The squares of the first `count` numbers: what a job commits.
std::vector<std::uint64_t> squares(std::uint64_t count) {
  std::vector<std::uint64_t> result(count);
  for (std::uint64_t i = 0; i < count; ++i) result[i] = i * i;
  return result;
}

Hook failing_at(std::uint64_t at, const std::string& message) {
  return [=](std::uint64_t piece) -> Result<void> {
    if (piece == at) return fail(ErrorCode::io, "", message);
    return {};
  };
}

// Waits for what another thread should soon do; false after ten seconds without it.
bool soon(const std::atomic<bool>& flag) {
  for (int i = 0; i < 10'000 && !flag; ++i) std::this_thread::sleep_for(1ms);
  return flag;
}

std::string message_of(const Result<void>& result) { return result ? "no error" : result.error().message; }

class OrderedRunTest : public testing::TestWithParam<unsigned> {};

INSTANTIATE_TEST_SUITE_P(Threads, OrderedRunTest, testing::Values(1U, 2U, 7U));

TEST_P(OrderedRunTest, CommitsInOrder) {
  for (const std::uint64_t pieces : {0U, 1U, 2U, 6U, 7U, 8U, 1000U}) {
    Job job;
    job.pieces = pieces;
    // Uneven work, so that threads overtake each other.
    job.on_work = [](std::uint64_t piece) -> Result<void> {
      if (piece % 13 == 0) std::this_thread::sleep_for(100us);
      return {};
    };
    ASSERT_TRUE(run(GetParam(), job));
    EXPECT_EQ(job.takes, pieces + 1);
    EXPECT_EQ(job.committed, squares(pieces));
    EXPECT_EQ(job.finished.size(), pieces);
    EXPECT_LE(job.most_open, GetParam());
    EXPECT_LE(job.workers, GetParam());
    EXPECT_LE(job.workers, pieces + 1) << "few pieces need few threads";
  }
}

TEST_P(OrderedRunTest, ManagesManyPieces) {
  Job job;
  job.pieces = 100'000;
  ASSERT_TRUE(run(GetParam(), job));
  EXPECT_EQ(job.committed, squares(job.pieces));
}

TEST_P(OrderedRunTest, EndsAtAFailedTake) {
  Job job;
  job.pieces = 1000;
  job.on_take = failing_at(20, "take");
  EXPECT_EQ(message_of(run(GetParam(), job)), "take");
  EXPECT_EQ(job.taken, 20U);
  EXPECT_EQ(job.takes, 21U);
  EXPECT_EQ(job.committed, squares(20));
  EXPECT_EQ(job.finished.size(), 20U);
}

TEST_P(OrderedRunTest, EndsAtFailedWork) {
  Job job;
  job.pieces = 1000;
  job.on_work = failing_at(20, "work");
  EXPECT_EQ(message_of(run(GetParam(), job)), "work");
  EXPECT_EQ(job.committed, squares(20));
  EXPECT_EQ(job.finished.size(), 20U);
  EXPECT_LE(job.taken, 20 + GetParam());
}

TEST_P(OrderedRunTest, EndsAtAFailedCommit) {
  Job job;
  job.pieces = 1000;
  job.on_commit = failing_at(20, "commit");
  EXPECT_EQ(message_of(run(GetParam(), job)), "commit");
  EXPECT_EQ(job.committed, squares(20));
  EXPECT_EQ(job.finished.size(), 20U) << "what was not committed is not finished";
  EXPECT_LE(job.taken, 20 + GetParam());
}

TEST_P(OrderedRunTest, EndsAtAFailedFinish) {
  Job job;
  job.pieces = 1'000'000'000;  // more than anyone waits for
  job.on_finish = failing_at(20, "finish");
  EXPECT_EQ(message_of(run(GetParam(), job)), "finish");
  ASSERT_GE(job.committed.size(), 21U);
  EXPECT_EQ(job.committed, squares(job.committed.size()));
  EXPECT_TRUE(GetParam() > 1 || job.committed.size() == 21) << "one thread has time to stop";
}

TEST_P(OrderedRunTest, FailsAtTheVeryFirst) {
  for (const auto member : {&Job::on_take, &Job::on_work, &Job::on_commit}) {
    Job job;
    job.pieces = 100;
    job.*member = failing_at(0, "first");
    EXPECT_EQ(message_of(run(GetParam(), job)), "first");
    EXPECT_TRUE(job.committed.empty());
    EXPECT_TRUE(job.finished.empty());
  }
}

TEST_P(OrderedRunTest, ReportsTheFirstFailureInOrder) {
  // Every piece from 20 on fails, the later the sooner.
  Job job;
  job.pieces = 1000;
  job.on_work = [](std::uint64_t piece) -> Result<void> {
    if (piece < 20) return {};
    if (piece == 20) std::this_thread::sleep_for(2ms);
    return fail(ErrorCode::io, "", std::to_string(piece));
  };
  EXPECT_EQ(message_of(run(GetParam(), job)), "20");
  EXPECT_EQ(job.committed, squares(20));
}

TEST_P(OrderedRunTest, TurnsExceptionsIntoErrors) {
  for (const auto member : {&Job::on_take, &Job::on_work, &Job::on_commit, &Job::on_finish}) {
    const auto code = [&](const std::function<void()>& thrower) {
      Job job;
      job.pieces = 100;
      job.*member = [&](std::uint64_t piece) -> Result<void> {
        if (piece == 20) thrower();
        return {};
      };
      const auto result = run(GetParam(), job);
      EXPECT_GE(job.committed.size(), 20U);
      EXPECT_EQ(job.committed, squares(job.committed.size()));
      return result ? ErrorCode::io : result.error().code;
    };
    EXPECT_EQ(code([] { throw std::bad_alloc(); }), ErrorCode::no_memory);
    EXPECT_EQ(code([] { throw std::runtime_error("x"); }), ErrorCode::internal);
    EXPECT_EQ(code([] { throw 7; }), ErrorCode::internal);
  }
}

TEST_P(OrderedRunTest, DoesWithoutWorkersThatCannotBeMade) {
  for (const bool throws : {true, false}) {
    Job job;
    job.pieces = 100;
    bool first = true;
    const auto result = run_ordered(GetParam(), [&]() -> std::unique_ptr<OrderedWorker> {
      if (std::exchange(first, false)) return std::make_unique<Worker>(job);
      if (throws) throw std::bad_alloc();
      return nullptr;
    });
    EXPECT_TRUE(result);
    EXPECT_EQ(job.committed, squares(100));
  }
}

TEST_P(OrderedRunTest, NeedsOneWorker) {
  const auto thrown =
      run_ordered(GetParam(), []() -> std::unique_ptr<OrderedWorker> { throw std::bad_alloc(); });
  ASSERT_FALSE(thrown);
  EXPECT_EQ(thrown.error().code, ErrorCode::no_memory);
  const auto none = run_ordered(GetParam(), [] { return std::unique_ptr<OrderedWorker>(); });
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::internal);
}

TEST_P(OrderedRunTest, MayRunInsideItself) {
  Job job;
  job.pieces = 10;
  std::atomic<int> wrong = 0;
  job.on_work = [&](std::uint64_t) -> Result<void> {
    Job inner;
    inner.pieces = 50;
    wrong += run(GetParam(), inner) && inner.committed == squares(50) ? 0 : 1;
    return {};
  };
  EXPECT_TRUE(run(GetParam(), job));
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(job.committed, squares(10));
}

TEST(OrderedRun, StartsNoThreadForOne) {
  Job job;
  job.pieces = 100;
  ASSERT_TRUE(run(1, job));
  EXPECT_EQ(job.threads, std::set{std::this_thread::get_id()});
  EXPECT_EQ(job.workers, 1U);
}

TEST(OrderedRun, WorksInParallel) {
  // Piece 0 ends only once piece 1 is worked on, and the other way round.
  Job job;
  job.pieces = 2;
  std::atomic<bool> started[2] = {false, false};
  std::atomic<bool> met = true;
  job.on_work = [&](std::uint64_t piece) -> Result<void> {
    started[piece] = true;
    if (!soon(started[1 - piece])) met = false;
    return {};
  };
  ASSERT_TRUE(run(2, job));
  EXPECT_TRUE(met);
}

TEST(OrderedRun, LetsALaterPieceWait) {
  // Piece 1 is done long before piece 0.
  Job job;
  job.pieces = 2;
  std::atomic<bool> done = false;
  std::atomic<bool> overtaken = true;
  job.on_work = [&](std::uint64_t piece) -> Result<void> {
    if (piece == 1) done = true;
    if (piece == 0) {
      overtaken = soon(done);
      std::this_thread::sleep_for(20ms);
    }
    return {};
  };
  ASSERT_TRUE(run(2, job));
  EXPECT_TRUE(overtaken);
  EXPECT_EQ(job.committed, squares(2));
}

TEST(OrderedRun, FinishesBesideTheCommitsOfOthers) {
  Job job;
  job.pieces = 2;
  std::atomic<bool> committed = false;
  std::atomic<bool> beside = true;
  job.on_commit = [&](std::uint64_t piece) -> Result<void> {
    if (piece == 1) committed = true;
    return {};
  };
  job.on_finish = [&](std::uint64_t piece) -> Result<void> {
    if (piece == 0) beside = soon(committed);
    return {};
  };
  ASSERT_TRUE(run(2, job));
  EXPECT_TRUE(beside);
}

TEST(OrderedRun, KeepsTheErrorOfAnEarlierPiece) {
  Job job;
  job.pieces = 2;
  std::atomic<bool> second_started = false;
  std::atomic<bool> first_failed = false;
  job.on_work = [&](std::uint64_t piece) -> Result<void> {
    if (piece == 1) second_started = true;
    soon(piece == 1 ? first_failed : second_started);
    if (piece == 0) first_failed = true;
    if (piece == 1) std::this_thread::sleep_for(5ms);
    return fail(ErrorCode::io, "", std::to_string(piece));
  };
  EXPECT_EQ(message_of(run(2, job)), "0");
  EXPECT_TRUE(second_started);
  EXPECT_TRUE(job.committed.empty());
}

TEST(OrderedRun, ReportsALateFinishOfAnEarlierPiece) {
  // Piece 1 fails first; piece 0, committed by then, fails to finish.
  Job job;
  job.pieces = 2;
  std::atomic<bool> failed = false;
  job.on_commit = [&](std::uint64_t piece) -> Result<void> {
    if (piece == 0) return {};
    failed = true;
    return fail(ErrorCode::io, "", "commit of 1");
  };
  job.on_finish = [&](std::uint64_t) -> Result<void> {
    soon(failed);
    std::this_thread::sleep_for(5ms);
    return fail(ErrorCode::io, "", "finish of 0");
  };
  EXPECT_EQ(message_of(run(2, job)), "finish of 0");
  EXPECT_TRUE(failed);
}

TEST(OrderedRun, GoesOnWithTheThreadsThatItGets) {
  if (file_test::sanitized) GTEST_SKIP() << "sanitizers need the address space";
  const auto code = file_test::in_child([] {
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    // Room to work in, but not for the stack of another thread.
    constexpr std::size_t stack = std::size_t{1} << 30U;
    const rlim_t room = pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) + stack / 2;
    const rlimit limit{room, room};
    pthread_attr_t attributes;
    if (pages == 0 || ::setrlimit(RLIMIT_AS, &limit) != 0 || ::pthread_attr_init(&attributes) != 0 ||
        ::pthread_attr_setstacksize(&attributes, stack) != 0 ||
        ::pthread_setattr_default_np(&attributes) != 0)
      return 9;
    Job job;
    job.pieces = 100;
    if (!run(7, job)) return 1;
    return job.committed == squares(100) && job.threads.size() == 1 ? 0 : 2;
  });
  EXPECT_EQ(code, 0);
}

TEST(ThreadCount, IsWhatWasAskedForWithinReason) {
  EXPECT_EQ(thread_count(1), 1U);
  EXPECT_EQ(thread_count(7), 7U);
  EXPECT_EQ(thread_count(~0U), 1024U);
  EXPECT_GE(thread_count(0), 1U);
}

TEST(ThreadCount, CountsCoresThatMayBeUsed) {
  const auto code = file_test::in_child([] {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    if (::sched_getaffinity(0, sizeof cores, &cores) != 0) return 9;
    if (thread_count(0) != static_cast<unsigned>(CPU_COUNT(&cores))) return 1;
    std::size_t first = 0;
    while (!CPU_ISSET(first, &cores)) ++first;
    CPU_ZERO(&cores);
    CPU_SET(first, &cores);
    if (::sched_setaffinity(0, sizeof cores, &cores) != 0) return 9;
    return thread_count(0) == 1 ? 0 : 2;
  });
  EXPECT_EQ(code, 0);
}

}  // namespace
}  // namespace ptd::file
