// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "file/transfer.hpp"

#include <fcntl.h>
#include <sys/mman.h>

#include <cstring>
#include <numeric>

#include "file/failure.hpp"
#include "file_fixture.hpp"

namespace ptd::file {
namespace {

using file_test::as_bytes;

constexpr int some_fd = 42;

// A system that does the least that it may: at most 7 bytes a call, every third call interrupted,
// an error or the end at a chosen offset.
class MeanSystem {
 public:
  MeanSystem() : content(1000) { std::iota(content.begin(), content.end(), std::uint8_t{0}); }

  ssize_t read(int fd, void* data, std::size_t size, off_t offset) {
    const auto moved = step(fd, size, offset);
    if (moved > 0) std::memcpy(data, content.data() + offset, static_cast<std::size_t>(moved));
    return moved;
  }
  ssize_t write(int fd, const void* data, std::size_t size, off_t offset) {
    const auto moved = step(fd, size, offset);
    if (moved > 0) std::memcpy(content.data() + offset, data, static_cast<std::size_t>(moved));
    return moved;
  }
  auto reader() {
    return [this](int fd, void* data, std::size_t size, off_t at) { return read(fd, data, size, at); };
  }
  auto writer() {
    return [this](int fd, const void* data, std::size_t size, off_t at) { return write(fd, data, size, at); };
  }

  std::vector<std::uint8_t> content;
  off_t stop_at = 1000;
  int error = 0;  // at stop_at; 0: nothing more moves there
  int calls = 0;

 private:
  ssize_t step(int fd, std::size_t size, off_t offset) {
    EXPECT_EQ(fd, some_fd);
    EXPECT_GT(size, 0U);
    if (++calls % 3 == 0) {
      errno = EINTR;
      return -1;
    }
    if (offset >= stop_at) {
      errno = error;
      return error == 0 ? 0 : -1;
    }
    return std::min({static_cast<ssize_t>(size), ssize_t{7}, static_cast<ssize_t>(stop_at - offset)});
  }
};

std::vector<std::uint8_t> part(const MeanSystem& system, std::size_t offset, std::size_t size) {
  const auto begin = system.content.begin() + static_cast<std::ptrdiff_t>(offset);
  return {begin, begin + static_cast<std::ptrdiff_t>(size)};
}

TEST(Transfer, ReadsOnThroughShortReadsAndSignals) {
  MeanSystem system;
  std::vector<std::uint8_t> read(900);
  ASSERT_TRUE(read_fully(system.reader(), some_fd, 50, std::as_writable_bytes(std::span(read)), "f"));
  EXPECT_EQ(read, part(system, 50, 900));
  EXPECT_GE(system.calls, 900 / 7);
}

TEST(Transfer, MakesNoCallForNothing) {
  MeanSystem system;
  EXPECT_TRUE(read_fully(system.reader(), some_fd, 5000, {}, "f"));
  EXPECT_TRUE(write_fully(system.writer(), some_fd, 5000, {}, "f"));
  EXPECT_EQ(system.calls, 0);
}

TEST(Transfer, SaysWhereAReadFailed) {
  MeanSystem system;
  system.stop_at = 123;
  system.error = EIO;
  std::vector<std::byte> read(900);
  const auto result = read_fully(system.reader(), some_fd, 100, read, "/a/file");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::io);
  EXPECT_EQ(result.error().offset, 123U);
  EXPECT_EQ(result.error().subject, "/a/file");
  EXPECT_NE(result.error().message.find(std::strerror(EIO)), std::string::npos);
}

TEST(Transfer, TellsAnEarlyEndFromAnError) {
  MeanSystem system;
  system.stop_at = 200;
  std::vector<std::byte> read(101);
  const auto result = read_fully(system.reader(), some_fd, 100, read, "/a/file");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::io);
  EXPECT_EQ(result.error().offset, 200U);
  EXPECT_EQ(result.error().subject, "/a/file");
  EXPECT_NE(result.error().message.find("became shorter while it was read"), std::string::npos);
  EXPECT_TRUE(read_fully(system.reader(), some_fd, 100, std::span(read).first(100), "/a/file"));
}

TEST(Transfer, WritesOnThroughShortWritesAndSignals) {
  MeanSystem system;
  const std::vector<std::uint8_t> wanted(300, 0xAA);
  ASSERT_TRUE(write_fully(system.writer(), some_fd, 20, std::as_bytes(std::span(wanted)), "f"));
  EXPECT_EQ(part(system, 20, 300), wanted);
  EXPECT_EQ(system.content[19], 19U);
  EXPECT_EQ(system.content[320], 320 % 256);
}

TEST(Transfer, TreatsAWriteOfNothingAsFull) {
  MeanSystem system;
  system.stop_at = 30;
  const std::vector<std::byte> bytes(300);
  const auto result = write_fully(system.writer(), some_fd, 20, bytes, "/a/file");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::io);
  EXPECT_EQ(result.error().offset, 30U);
  EXPECT_NE(result.error().message.find("free space"), std::string::npos);
}

TEST(Transfer, SaysHowToMakeRoom) {
  for (const int error : {ENOSPC, EDQUOT}) {
    MeanSystem system;
    system.stop_at = 20;
    system.error = error;
    const auto result = write_fully(system.writer(), some_fd, 20, as_bytes("text"), "/a/file");
    ASSERT_FALSE(result);
    EXPECT_NE(result.error().message.find(std::strerror(error)), std::string::npos);
    EXPECT_NE(result.error().message.find("free space"), std::string::npos);
  }
}

TEST(Transfer, RefusesOffsetsThatNoFileHas) {
  MeanSystem system;
  for (const auto offset : {largest_file, largest_file + 1, ~std::uint64_t{0}}) {
    const auto result = write_fully(system.writer(), some_fd, offset, as_bytes("x"), "f");
    ASSERT_FALSE(result) << offset;
    EXPECT_EQ(result.error().code, ErrorCode::io);
  }
  EXPECT_EQ(system.calls, 0);
}

TEST(Transfer, MovesAtMostOneGibibyteACall) {
  constexpr std::size_t size = (std::size_t{5} << 30) / 2;
  void* const room = ::mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(room, MAP_FAILED);
  std::vector<std::pair<std::size_t, off_t>> calls;
  const auto note = [&](int, void*, std::size_t asked, off_t offset) {
    calls.emplace_back(asked, offset);
    return static_cast<ssize_t>(asked);
  };
  EXPECT_TRUE(read_fully(note, some_fd, 10, MutableBytes(static_cast<std::byte*>(room), size), "f"));
  constexpr std::size_t gibibyte = std::size_t{1} << 30;
  const std::vector<std::pair<std::size_t, off_t>> expected{
      {gibibyte, 10}, {gibibyte, 10 + gibibyte}, {gibibyte / 2, 10 + 2 * gibibyte}};
  EXPECT_EQ(calls, expected);
  ::munmap(room, size);
}

TEST(Transfer, ReportsAFullDevice) {
  const Fd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  if (!full) GTEST_SKIP() << "no /dev/full";
  const auto result = write_fully(::pwrite, full.get(), 0, as_bytes("text"), "/dev/full");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::io);
  EXPECT_NE(result.error().message.find("free space"), std::string::npos);
}

TEST(Failure, TurnsExceptionsIntoValues) {
  const auto no_memory = guarded([]() -> Result<int> { throw std::bad_alloc(); });
  ASSERT_FALSE(no_memory);
  EXPECT_EQ(no_memory.error().code, ErrorCode::no_memory);
  const auto known = guarded([]() -> Result<int> { throw std::runtime_error("the cause"); });
  ASSERT_FALSE(known);
  EXPECT_EQ(known.error().code, ErrorCode::internal);
  EXPECT_NE(known.error().message.find("the cause"), std::string::npos);
  const auto unknown = guarded([]() -> Result<int> { throw 7; });
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::internal);
  EXPECT_EQ(guarded([]() -> Result<int> { return 7; }), 7);
}

TEST(Failure, AlwaysSaysWhatToDo) {
  for (int error = 1; error < 134; ++error) {
    const auto message = system_failure("it cannot be done", "f", error).value().message;
    const auto end = message.find("): ");
    ASSERT_NE(end, std::string::npos) << message;
    EXPECT_GT(message.size(), end + 10) << message;
  }
}

TEST(Fd, ClosesOnceAndMoves) {
  Fd first(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const int number = first.get();
  ASSERT_TRUE(first);
  Fd second(std::move(first));
  EXPECT_EQ(second.get(), number);
  second = Fd();
  EXPECT_FALSE(second);
  EXPECT_EQ(::fcntl(number, F_GETFD), -1);
  EXPECT_EQ(errno, EBADF);
}

}  // namespace
}  // namespace ptd::file
