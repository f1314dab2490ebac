// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>

#include <cstring>

#include "file/atomic_file.hpp"
#include "file/temp_file.hpp"
#include "file_fixture.hpp"

namespace ptd::file {
namespace {

using file_test::as_bytes;
using file_test::in_child;

constexpr std::size_t mebibyte = std::size_t{1} << 20;  // what a spool buffers

class SpoolTest : public file_test::Folder {};

// Text that tells every place from its neighbours.
std::string pattern(std::size_t size, std::size_t seed) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>((i * 31 + i / 251 + seed) % 256);
  return text;
}

std::string read_back(const Spool& spool, std::uint64_t offset, std::size_t size) {
  std::string text(size, '\0');
  const auto read = spool.read(offset, std::as_writable_bytes(std::span(text)));
  return read ? text : read.error().to_string();
}

// Compares as a whole without printing megabytes.
void expect_holds(const Spool& spool, const std::string& expected) {
  ASSERT_EQ(spool.size(), expected.size());
  EXPECT_TRUE(read_back(spool, 0, expected.size()) == expected);
  std::byte room[1] = {};
  EXPECT_EQ(spool.read(expected.size(), room).error().code, ErrorCode::io);
}

TEST_F(SpoolTest, HasNoName) {
  auto spool = Spool::create(folder());
  ASSERT_TRUE(spool);
  ASSERT_TRUE(spool->append(as_bytes(pattern(3 * mebibyte, 0))));
  EXPECT_TRUE(names().empty());
}

TEST_F(SpoolTest, HasNoNameWhereFilesNeedOne) {
  const auto directory = open_directory(folder());
  ASSERT_TRUE(directory);
  const auto file = create_unlinked(*directory, "spool");
  ASSERT_TRUE(file);
  EXPECT_TRUE(names().empty());
  ASSERT_EQ(::pwrite(file->get(), "text", 4, 0), 4);
  char text[4] = {};
  ASSERT_EQ(::pread(file->get(), text, 4, 0), 4);
  EXPECT_EQ(std::string_view(text, 4), "text");
  EXPECT_NE(::fcntl(file->get(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST_F(SpoolTest, HoldsAppendsOfEverySize) {
  auto spool = Spool::create(folder());
  ASSERT_TRUE(spool);
  std::string expected;
  for (const std::size_t size :
       {std::size_t{1}, std::size_t{0}, mebibyte - 1, std::size_t{1}, mebibyte, std::size_t{5}, mebibyte + 1,
        3 * mebibyte, mebibyte / 2, mebibyte / 2, std::size_t{7}}) {
    const auto text = pattern(size, expected.size());
    ASSERT_TRUE(spool->append(as_bytes(text)));
    expected += text;
    expect_holds(*spool, expected);
  }
}

TEST_F(SpoolTest, ReadsAcrossTheBufferEdge) {
  auto spool = Spool::create(folder());
  ASSERT_TRUE(spool);
  const auto text = pattern(mebibyte + 100, 0);
  ASSERT_TRUE(spool->append(as_bytes(text).first(mebibyte)));
  ASSERT_TRUE(spool->append(as_bytes(text).subspan(mebibyte)));
  for (const std::size_t begin : {mebibyte - 10, mebibyte - 1, mebibyte, mebibyte + 1, mebibyte + 99})
    for (const std::size_t size : {0U, 1U, 20U}) {
      const auto expected = text.substr(begin, size);
      EXPECT_EQ(read_back(*spool, begin, expected.size()), expected);
    }
  EXPECT_EQ(read_back(*spool, 0, 10), text.substr(0, 10));
  EXPECT_EQ(read_back(*spool, text.size(), 0), "");
}

TEST_F(SpoolTest, CutsInTheFileAndInTheBuffer) {
  const auto text = pattern(mebibyte + 1000, 0);
  for (const std::size_t size :
       {text.size(), text.size() - 1, mebibyte + 1, mebibyte, mebibyte - 1, std::size_t{1}, std::size_t{0}}) {
    auto spool = Spool::create(folder());
    ASSERT_TRUE(spool);
    ASSERT_TRUE(spool->append(as_bytes(text).first(mebibyte)));
    ASSERT_TRUE(spool->append(as_bytes(text).subspan(mebibyte)));
    ASSERT_TRUE(spool->truncate(size));
    expect_holds(*spool, text.substr(0, size));
    ASSERT_TRUE(spool->append(as_bytes("after")));
    expect_holds(*spool, text.substr(0, size) + "after");
  }
}

TEST_F(SpoolTest, DoesNotGrowByCutting) {
  auto spool = Spool::create(folder());
  ASSERT_TRUE(spool);
  ASSERT_TRUE(spool->append(as_bytes("text")));
  EXPECT_EQ(spool->truncate(5).error().code, ErrorCode::argument);
  expect_holds(*spool, "text");
}

TEST_F(SpoolTest, RefusesToReadPastTheEnd) {
  auto spool = Spool::create(folder());
  ASSERT_TRUE(spool);
  ASSERT_TRUE(spool->append(as_bytes("text")));
  std::byte room[2] = {};
  for (const auto offset : {std::uint64_t{3}, std::uint64_t{4}, ~std::uint64_t{0}}) {
    const auto read = spool->read(offset, room);
    ASSERT_FALSE(read) << offset;
    EXPECT_EQ(read.error().code, ErrorCode::io);
  }
}

TEST_F(SpoolTest, KeepsWhatItHadWhereAnAppendFails) {
  const auto code = in_child([&] {
    if (!file_test::limit_file_size(mebibyte)) return 9;
    auto spool = Spool::create(folder());
    const auto text = pattern(mebibyte / 2, 0);
    if (!spool || !spool->append(as_bytes(text))) return 1;
    const auto failed = spool->append(as_bytes(pattern(mebibyte, 1)));
    if (failed || failed.error().code != ErrorCode::io) return 2;
    if (spool->size() != text.size()) return 3;
    if (read_back(*spool, 0, text.size()) != text) return 4;
    if (!spool->append(as_bytes("more"))) return 5;
    return read_back(*spool, text.size(), 4) == "more" ? 0 : 6;
  });
  EXPECT_EQ(code, 0);
}

TEST_F(SpoolTest, NamesAMissingDirectory) {
  const auto spool = Spool::create(in("missing"));
  ASSERT_FALSE(spool);
  EXPECT_EQ(spool.error().code, ErrorCode::io);
  EXPECT_EQ(spool.error().subject, in("missing").native());
  EXPECT_NE(spool.error().message.find(std::strerror(ENOENT)), std::string::npos);
}

TEST_F(SpoolTest, TakesAnEmptyPathForTheCurrentDirectory) {
  const auto code = in_child([&] { return ::chdir(folder().c_str()) == 0 && Spool::create("") ? 0 : 1; });
  EXPECT_EQ(code, 0);
}

TEST_F(SpoolTest, Moves) {
  auto first = Spool::create(folder());
  auto second = Spool::create(folder());
  ASSERT_TRUE(first && second);
  ASSERT_TRUE(first->append(as_bytes("first")));
  *second = std::move(*first);
  expect_holds(*second, "first");
  EXPECT_EQ(first->size(), 0U);
  EXPECT_EQ(first->append(as_bytes("x")).error().code, ErrorCode::argument);
  EXPECT_EQ(first->truncate(0).error().code, ErrorCode::argument);
  EXPECT_EQ(first->read(0, {}).error().code, ErrorCode::argument);
}

}  // namespace
}  // namespace ptd::file
