// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "file_fixture.hpp"

namespace ptd {
namespace {

using file_test::as_bytes;
using file_test::read_text;

constexpr auto huge = std::numeric_limits<std::uint64_t>::max();

// Can be read once only; nobody does here.
class Pipe final : public ByteSource {
 public:
  [[nodiscard]] std::uint64_t size() const noexcept override { return 10; }
  [[nodiscard]] bool sequential() const noexcept override { return true; }
  [[nodiscard]] std::string label() const override { return "a pipe"; }
  [[nodiscard]] Result<void> read(std::uint64_t /*offset*/, MutableBytes /*destination*/) const override {
    return fail(ErrorCode::internal, "", "read");
  }
};

// Every source keeps these promises, whatever it holds.
void expect_bounds(const ByteSource& source) {
  std::byte room[2] = {};
  const auto size = source.size();
  EXPECT_TRUE(source.read(size, MutableBytes()));
  EXPECT_TRUE(source.read(size - 2, room));
  for (const auto offset : {size - 1, size, size + 1, huge - 1, huge}) {
    const auto read = source.read(offset, room);
    ASSERT_FALSE(read) << offset;
    EXPECT_EQ(read.error().code, ErrorCode::io);
    EXPECT_EQ(read.error().subject, source.label());
    EXPECT_EQ(read.error().offset, offset);
    EXPECT_NE(read.error().message.find("past the end"), std::string::npos);
  }
}

TEST(MemorySource, ReadsWhatItBorrows) {
  std::string text = "tensor";
  const auto source = borrow_memory(as_bytes(text), "somewhere");
  text[0] = 'T';
  EXPECT_EQ(source->size(), 6U);
  EXPECT_EQ(read_text(*source, 0, 6), "Tensor");
  EXPECT_EQ(read_text(*source, 2, 3), "nso");
  EXPECT_EQ(source->in_memory().data(), as_bytes(text).data());
  EXPECT_EQ(source->label(), "somewhere");
  EXPECT_FALSE(source->sequential());
  expect_bounds(*source);
}

TEST(MemorySource, OwnsWithoutCopying) {
  std::vector<std::byte> bytes(5, std::byte{'x'});
  const auto* const address = bytes.data();
  const auto source = own_memory(std::move(bytes));
  EXPECT_EQ(source->in_memory().data(), address);
  EXPECT_EQ(read_text(*source, 0, 5), "xxxxx");
  EXPECT_EQ(source->label(), "memory");
  expect_bounds(*source);
}

TEST(MemorySource, MayBeEmpty) {
  const auto source = own_memory({});
  EXPECT_EQ(source->size(), 0U);
  EXPECT_TRUE(source->read(0, {}));
  EXPECT_FALSE(source->read(1, {}));
}

TEST(ZeroSource, IsAsLargeAsItSays) {
  const auto source = zero_source(huge);
  std::string text = "not zero";
  ASSERT_TRUE(source->read(huge - text.size(), std::as_writable_bytes(std::span(text))));
  EXPECT_EQ(text, std::string(8, '\0'));
  EXPECT_TRUE(source->in_memory().empty());
  EXPECT_FALSE(source->read(huge - 1, std::as_writable_bytes(std::span(text))));
  expect_bounds(*zero_source(std::uint64_t{1} << 40));
}

TEST(SliceSource, ReadsItsPartOnly) {
  const auto base = borrow_memory(as_bytes("0123456789"), "digits");
  const auto slice = slice_source(base, 3, 4);
  ASSERT_TRUE(slice);
  EXPECT_EQ((*slice)->size(), 4U);
  EXPECT_EQ(read_text(**slice, 0, 4), "3456");
  EXPECT_EQ(read_text(**slice, 3, 1), "6");
  EXPECT_EQ((*slice)->in_memory().data(), base->in_memory().data() + 3);
  EXPECT_EQ((*slice)->in_memory().size(), 4U);
  EXPECT_EQ((*slice)->label(), "digits");
  expect_bounds(**slice);
}

TEST(SliceSource, KeepsItsBase) {
  auto base = own_memory(std::vector<std::byte>(10, std::byte{'k'}));
  const std::weak_ptr<const ByteSource> watched = base;
  auto slice = slice_source(std::move(base), 9, 1);
  ASSERT_TRUE(slice);
  EXPECT_FALSE(watched.expired());
  EXPECT_EQ(read_text(**slice, 0, 1), "k");
  slice->reset();
  EXPECT_TRUE(watched.expired());
}

TEST(SliceSource, WorksOnSlicesAndWithoutMemory) {
  const auto base = zero_source(huge);
  const auto outer = slice_source(base, huge - 100, 100);
  ASSERT_TRUE(outer);
  const auto inner = slice_source(*outer, 90, 10);
  ASSERT_TRUE(inner);
  EXPECT_EQ(read_text(**inner, 8, 2), std::string(2, '\0'));
  EXPECT_TRUE((*inner)->in_memory().empty());
  expect_bounds(**inner);
}

TEST(SliceSource, MayBeEmptyAnywhere) {
  const auto base = borrow_memory(as_bytes("0123456789"));
  for (const std::uint64_t offset : {0U, 5U, 10U}) {
    const auto slice = slice_source(base, offset, 0);
    ASSERT_TRUE(slice) << offset;
    EXPECT_EQ((*slice)->size(), 0U);
    EXPECT_TRUE((*slice)->in_memory().empty());
    EXPECT_TRUE((*slice)->read(0, {}));
  }
}

TEST(SliceSource, RefusesWhatIsNotInside) {
  const auto base = borrow_memory(as_bytes("0123456789"), "digits");
  for (const auto& [offset, size] : {std::pair<std::uint64_t, std::uint64_t>{0, 11},
                                     {10, 1},
                                     {11, 0},
                                     {5, huge},
                                     {huge, 1},
                                     {huge, huge}}) {
    const auto slice = slice_source(base, offset, size);
    ASSERT_FALSE(slice) << offset << ' ' << size;
    EXPECT_EQ(slice.error().code, ErrorCode::argument);
    EXPECT_EQ(slice.error().subject, "digits");
  }
  const auto none = slice_source(nullptr, 0, 0);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::argument);
}

TEST(SliceSource, TakesAllOfASequentialSourceOrNothing) {
  const SourcePtr pipe = std::make_shared<Pipe>();
  const auto whole = slice_source(pipe, 0, 10);
  ASSERT_TRUE(whole);
  EXPECT_EQ(*whole, pipe);
  EXPECT_TRUE((*whole)->sequential());
  for (const auto& [offset, size] : {std::pair<std::uint64_t, std::uint64_t>{0, 9}, {1, 9}, {0, 0}}) {
    const auto part = slice_source(pipe, offset, size);
    ASSERT_FALSE(part) << offset << ' ' << size;
    EXPECT_EQ(part.error().code, ErrorCode::argument);
    EXPECT_EQ(part.error().subject, "a pipe");
  }
}

}  // namespace
}  // namespace ptd
