// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Writing safetensors headers.
#include <gtest/gtest.h>

#include <algorithm>

#include "foreign/safetensors.hpp"
#include "tests/foreign_samples.hpp"

namespace ptd::foreign {
namespace {

using enum ErrorCode;
using namespace std::string_literals;

std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

SafetensorsHeader header_with(SafetensorsEntry entry) {
  SafetensorsHeader header;
  header.entries.push_back(std::move(entry));
  return header;
}

auto render_one(SafetensorsEntry entry) {
  auto header = header_with(std::move(entry));
  return render_safetensors(header);
}

// Byte for byte what safetensors 0.8.0 writes for these tensors.
TEST(RenderSafetensors, MatchesTheReferenceWriter) {
  SafetensorsHeader header;
  header.metadata = {{"k\"", "v\n"}};
  header.entries = {{"e", DType::int64, {0, 5}},
                    {"b", DType::float32, {2, 3}},
                    {"a\"\\/\b\f\n\r\t\x01\x1f\x7f\xc3\xa9\xf0\x9f\x98\x80", DType::uint8, {}}};
  const auto expected =
      "\xe8\0\0\0\0\0\0\0"s
      R"({"__metadata__":{"k\"":"v\n"},"e":{"dtype":"I64","shape":[0,5],"data_offsets":[0,0]},)"
      R"("b":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},)"
      "\"a\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\x7f\xc3\xa9\xf0\x9f\x98\x80\":"
      R"({"dtype":"U8","shape":[],"data_offsets":[24,25]}}    )";
  EXPECT_EQ(text_of(render_safetensors(header).value()), expected);
  EXPECT_EQ(header.data_offset, expected.size());
  EXPECT_EQ(header.entries[1].begin, 0U);
  EXPECT_EQ(header.entries[2].begin, 24U);
  EXPECT_EQ(header.entries[2].end, 25U);
}

TEST(RenderSafetensors, AnEmptyHeaderIsPadded) {
  SafetensorsHeader header;
  EXPECT_EQ(text_of(render_safetensors(header).value()), "\x08\0\0\0\0\0\0\0{}      "s);
}

TEST(RenderSafetensors, MetadataAlone) {
  SafetensorsHeader header;
  header.metadata = {{"b", "1"}, {"a", "2"}};
  EXPECT_EQ(text_of(render_safetensors(header).value()).substr(8),
            R"({"__metadata__":{"b":"1","a":"2"}}      )");
}

TEST(RenderSafetensors, IsReadBack) {
  SafetensorsHeader header;
  for (const auto& row : dtype_table)
    if (!safetensors_dtype(row.dtype).empty())
      header.entries.push_back({std::string(row.name), row.dtype, {2, 4}});
  header.metadata = {{"a", "\x1b"}, {"b", ""}};
  const auto bytes = render_safetensors(header).value();
  EXPECT_EQ(bytes.size() % 8, 0U);
  const auto read = parse_safetensors(bytes, bytes.size() + header.entries.back().end).value();
  EXPECT_EQ(read.data_offset, header.data_offset);
  EXPECT_EQ(read.metadata, header.metadata);
  ASSERT_EQ(read.entries.size(), header.entries.size());
  for (std::size_t i = 0; i < read.entries.size(); ++i) {
    EXPECT_EQ(read.entries[i].name, header.entries[i].name);
    EXPECT_EQ(read.entries[i].dtype, header.entries[i].dtype);
    EXPECT_EQ(read.entries[i].sizes, header.entries[i].sizes);
    EXPECT_EQ(read.entries[i].begin, header.entries[i].begin);
    EXPECT_EQ(read.entries[i].end, header.entries[i].end);
  }
}

TEST(RenderSafetensors, RefusesTheReservedName) {
  EXPECT_TRUE(refuses(render_one({"__metadata__", DType::uint8, {1}}), unsupported_input, "__metadata__",
                      "reserves"));
}

TEST(RenderSafetensors, RefusesNamesThatCannotBeWritten) {
  EXPECT_TRUE(refuses(render_one({"a\0b"s, DType::uint8, {1}}), unsupported_input, "a\0b"s, "NUL"));
  EXPECT_TRUE(refuses(render_one({"a\xff", DType::uint8, {1}}), unsupported_input, "a\xff", "UTF-8"));
}

TEST(RenderSafetensors, RefusesDtypesThatItLacks) {
  EXPECT_TRUE(refuses(render_one({"a", DType::complex128, {1}}), unsupported_input, "a", "complex128"));
  EXPECT_TRUE(refuses(render_one({"a", DType::uint4, {2}}), unsupported_input, "a", "uint4"));
}

TEST(RenderSafetensors, RefusesPartsOfBytes) {
  EXPECT_TRUE(render_one({"a", DType::float4_e2m1fn, {2, 7}}));
  EXPECT_TRUE(refuses(render_one({"a", DType::float4_e2m1fn, {3}}), unsupported_input, "a", "12 bits"));
  EXPECT_TRUE(refuses(render_one({"a", DType::float4_e2m1fn, {}}), unsupported_input, "a", "4 bits"));
}

// What the reference reader cannot count is not written, zero-size or not.
TEST(RenderSafetensors, RefusesSizesThatOverflow) {
  const auto big = std::uint64_t{1} << 62;
  EXPECT_FALSE(render_one({"a", DType::uint8, {big, 8}}));
  EXPECT_TRUE(refuses(render_one({"a", DType::uint8, {big, 8, 0}}), unsupported_input, "a", "cannot count"));
  EXPECT_FALSE(render_one({"a", DType::uint8, {0, big * 2}}));
  EXPECT_TRUE(render_one({"a", DType::uint8, {0, big}}));
  SafetensorsHeader header;
  for (const auto* const name : {"a", "b", "c", "d", "e"})
    header.entries.push_back({name, DType::uint8, {(std::uint64_t{1} << 61) - 1}});
  EXPECT_TRUE(refuses(render_safetensors(header), unsupported_input, "e", "largest file"));
}

TEST(RenderSafetensors, RefusesDuplicates) {
  SafetensorsHeader header;
  header.entries = {{"a", DType::uint8, {1}}, {"a", DType::uint8, {1}}};
  EXPECT_TRUE(refuses(render_safetensors(header), duplicate, "a", R"(duplicate tensor name "a")"));
  header.entries.clear();
  header.metadata = {{"k", "1"}, {"k", "2"}};
  EXPECT_TRUE(refuses(render_safetensors(header), duplicate, "k", R"(duplicate metadata key "k")"));
  header.metadata = {{"k", "\xff"}};
  EXPECT_TRUE(refuses(render_safetensors(header), unsupported_input, "k", "UTF-8"));
}

// A header that readers refuse for its size is not written.
TEST(RenderSafetensors, KeepsTheReadersLimit) {
  SafetensorsHeader header;
  header.metadata = {{"k", std::string(99'999'975, 'x')}};  // with the rest exactly the limit
  EXPECT_EQ(render_safetensors(header).value().size(), 100'000'008U);
  header.metadata[0].second += 'x';
  const auto refused = render_safetensors(header);
  EXPECT_TRUE(refuses(refused, unsupported_input, "", "100000008 bytes"));
  EXPECT_TRUE(refuses(refused, unsupported_input, "", "at most 100000000"));
}

}  // namespace
}  // namespace ptd::foreign
