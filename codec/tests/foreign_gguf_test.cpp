// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// The GGUF header: what is read, what is refused, and that what is read is written back as it was.
#include "foreign/gguf.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "foreign/gguf_text.hpp"
#include "tests/foreign_samples.hpp"
#include "tests/gguf_samples.hpp"

namespace ptd::foreign {
namespace {

using enum ErrorCode;
using namespace gguf_test;
using namespace std::string_literals;
using Dims = std::vector<std::uint64_t>;

Result<GgufHeader> parse_whole(std::string_view whole) {
  auto header = parse_gguf(bytes_of(whole), whole.size());
  if (!header) return Failure(header.error());
  if (!*header) return fail(internal, "", "the whole file is not enough");
  return std::move(**header);
}

Result<GgufHeader> parse_parts(const Parts& parts) { return parse_whole(file(parts)); }

Result<GgufHeader> parse_tensor(const std::string& description, const std::string& data = "") {
  return parse_parts({{}, {description}, data});
}

Result<GgufHeader> parse_pair(const std::string& pair) { return parse_parts({{pair}, {}, {}}); }

std::string_view as_text(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

// --- types ---------------------------------------------------------------------------------------------

struct Known {
  std::uint32_t number;
  std::string_view name;
  std::uint32_t block, bytes;
};

// As include/ggml.h numbers them and src/ggml-common.h sizes them.
constexpr Known known[] = {
    {0, "f32", 1, 4},         {1, "f16", 1, 2},         {2, "q4_0", 32, 18},      {3, "q4_1", 32, 20},
    {6, "q5_0", 32, 22},      {7, "q5_1", 32, 24},      {8, "q8_0", 32, 34},      {9, "q8_1", 32, 36},
    {10, "q2_k", 256, 84},    {11, "q3_k", 256, 110},   {12, "q4_k", 256, 144},   {13, "q5_k", 256, 176},
    {14, "q6_k", 256, 210},   {15, "q8_k", 256, 292},   {16, "iq2_xxs", 256, 66}, {17, "iq2_xs", 256, 74},
    {18, "iq3_xxs", 256, 98}, {19, "iq1_s", 256, 50},   {20, "iq4_nl", 32, 18},   {21, "iq3_s", 256, 110},
    {22, "iq2_s", 256, 82},   {23, "iq4_xs", 256, 136}, {24, "i8", 1, 1},         {25, "i16", 1, 2},
    {26, "i32", 1, 4},        {27, "i64", 1, 8},        {28, "f64", 1, 8},        {29, "iq1_m", 256, 56},
    {30, "bf16", 1, 2},       {34, "tq1_0", 256, 54},   {35, "tq2_0", 256, 66},   {39, "mxfp4", 32, 17},
    {40, "nvfp4", 64, 36},    {41, "q1_0", 128, 18},    {42, "q2_0", 64, 18},
};

TEST(Gguf, KnowsEveryTypeAndItsBlocks) {
  for (const auto& row : known) {
    const auto bytes = 3 * 2 * std::uint64_t{row.bytes};
    const auto header =
        parse_tensor(tensor("t", {2 * row.block, 3}, row.number, 0), padded(std::string(bytes, 'x')));
    ASSERT_TRUE(header) << row.name << header.error().message;
    const auto& read = header->tensors.at(0);
    EXPECT_EQ(read.type->name, row.name);
    EXPECT_EQ(read.type->number, row.number);
    EXPECT_EQ(read.bytes, bytes) << row.name;
    EXPECT_EQ(read.type->dtype.has_value(), row.block == 1) << row.name;
  }
}

TEST(Gguf, KnowsNoOtherTypes) {
  std::size_t found = 0;
  for (std::uint32_t number = 0; number < 1000; ++number) found += ggml_type(number) != nullptr ? 1 : 0;
  EXPECT_EQ(found, std::size(known));
  EXPECT_TRUE(refuses(parse_tensor(tensor("t", {32}, 43, 0)), unsupported_input, "t", "type number 43"));
  EXPECT_TRUE(refuses(parse_tensor(tensor("t", {32}, ~0U, 0)), unsupported_input, "t", "4294967295"));
}

TEST(Gguf, NamesRemovedTypes) {
  const std::pair<std::uint32_t, std::string> removed[] = {
      {4, "Q4_2"},      {5, "Q4_3"},        {31, "Q4_0_4_4"},   {32, "Q4_0_4_8"},
      {33, "Q4_0_8_8"}, {36, "IQ4_NL_4_4"}, {37, "IQ4_NL_4_8"}, {38, "IQ4_NL_8_8"}};
  for (const auto& [number, name] : removed)
    EXPECT_TRUE(refuses(parse_tensor(tensor("t", {32}, number, 0)), unsupported_input, "t", name + " "));
}

TEST(Gguf, PlainTypesAreDtypesAndOthersSchemes) {
  for (const auto& row : known) {
    const auto* type = ggml_type(row.number);
    if (type->dtype) {
      EXPECT_EQ(ggml_type_of(*type->dtype), type);
      EXPECT_EQ(dtype_bits(*type->dtype), 8 * row.bytes);
      EXPECT_EQ(ggml_type_of_scheme(ggml_scheme(*type)), nullptr);
    } else {
      EXPECT_EQ(ggml_type_of_scheme(ggml_scheme(*type)), type);
    }
  }
  EXPECT_EQ(ggml_type_of_scheme("ggml.q4_K"), ggml_type(12));
  EXPECT_EQ(ggml_type_of_scheme("q4_k"), nullptr);
  EXPECT_EQ(ggml_type_of(DType::uint8), nullptr);
}

// --- what is read --------------------------------------------------------------------------------------

TEST(Gguf, ReadsEverythingInOrder) {
  const auto header = parse_parts(sample()).value();
  EXPECT_EQ(header.version, 3U);
  EXPECT_EQ(header.alignment, 32U);
  ASSERT_EQ(header.pairs.size(), 3U);
  EXPECT_EQ(header.pairs[1].key, "n");
  EXPECT_EQ(header.pairs[1].type, GgufType::uint32);
  EXPECT_EQ(header.pairs[1].end - header.pairs[1].begin, 4U);
  EXPECT_EQ(header.pairs_end, head({sample().pairs, {}, {}}).size());
  ASSERT_EQ(header.tensors.size(), 3U);
  EXPECT_EQ(header.tensors[0].dims, (Dims{3, 2}));
  EXPECT_EQ(header.tensors[1].bytes, 36U);
  EXPECT_EQ(header.tensors[2].offset, 96U);
  EXPECT_EQ(header.header_bytes, head(sample()).size());
  EXPECT_EQ(header.data_offset, padded(head(sample())).size());
  EXPECT_TRUE(header.has_padded_end);
}

TEST(Gguf, TheLastPaddingMayBeAbsent) {
  auto parts = sample();
  parts.data.resize(96 + 5);
  const auto header = parse_parts(parts).value();
  EXPECT_FALSE(header.has_padded_end);
  EXPECT_EQ(gguf_file_size(header), file(parts).size());
  EXPECT_FALSE(parse_whole(head({})).value().has_padded_end);
  EXPECT_TRUE(parse_whole(padded(head({}))).value().has_padded_end);
}

TEST(Gguf, EmptyTensorsTakeNoRoom) {
  const auto header = parse_parts({{},
                                   {tensor("a", {0, 5}, 0, 0), tensor("b", {}, 24, 0),
                                    tensor("c", {0}, 12, 32), tensor("d", {256, 0}, 12, 32)},
                                   padded("x")})
                          .value();
  EXPECT_EQ(header.tensors[0].bytes, 0U);
  EXPECT_EQ(header.tensors[1].bytes, 1U);
  EXPECT_EQ(header.tensors[1].dims, Dims{});
}

// --- versions, byte order, counts ----------------------------------------------------------------------

TEST(Gguf, Versions) {
  auto parts = sample();
  parts.version = 2;
  EXPECT_EQ(parse_parts(parts).value().version, 2U);
  const std::pair<std::uint32_t, std::string> others[] = {
      {0, "version 0"}, {1, "version 1"}, {4, "version 4"}, {0x03000000, "big-endian"}};
  for (const auto& [version, word] : others) {
    parts.version = version;
    EXPECT_TRUE(refuses(parse_parts(parts), unsupported_input, "", word));
  }
  EXPECT_TRUE(refuses(parse_whole("FUGG\0\0\0\3"s), unsupported_input, "", "gguf-convert-endian"));
  EXPECT_TRUE(refuses(parse_whole("GGML\3\0\0\0"s), foreign_input, "", "begins with"));
}

TEST(Gguf, CountsAreBoundedByWhatFollows) {
  const auto start = "GGUF" + u32(3);
  for (const auto count : {std::uint64_t{1}, std::uint64_t{1} << 40, ~std::uint64_t{0}}) {
    EXPECT_TRUE(refuses(parse_whole(start + u64(count) + u64(0)), foreign_input, "", "tensors"));
    EXPECT_TRUE(refuses(parse_whole(start + u64(0) + u64(count)), foreign_input, "", "metadata pairs"));
    const auto strings = head({{pair("k", 9, u32(8) + u64(count))}, {}, {}});
    const auto arrays = head({{pair("k", 9, u32(9) + u64(count))}, {}, {}});
    EXPECT_TRUE(refuses(parse_whole(strings), foreign_input, "k", "elements"));
    EXPECT_TRUE(refuses(parse_whole(arrays), foreign_input, "k", "elements"));
  }
  EXPECT_TRUE(refuses(parse_pair(u64(std::uint64_t{1} << 63) + "k"), foreign_input, "", "metadata key"));
}

TEST(Gguf, CountsBeyondTheFormatAreRefusedUnread) {
  const auto first = "GGUF" + u32(3) + u64(std::uint64_t{1} << 30) + u64(0);
  EXPECT_TRUE(refuses(parse_gguf(bytes_of(first), std::uint64_t{1} << 50), unsupported_input, "", "4194304"));
}

TEST(Gguf, AsksForMoreOnlyWhileMoreCanHelp) {
  const auto whole = file(sample());
  const auto header_bytes = head(sample()).size();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto parsed = parse_gguf(bytes_of(whole).first(size), whole.size());
    ASSERT_TRUE(parsed) << size << parsed.error().message;
    EXPECT_EQ(parsed->has_value(), size >= header_bytes) << size;
  }
  const auto endless = "GGUF" + u32(3) + u64(0) + u64(1) + u64(std::uint64_t{1} << 32);
  EXPECT_TRUE(
      refuses(parse_gguf(bytes_of(endless), std::uint64_t{1} << 40), unsupported_input, "", "268435456"));
}

// --- values --------------------------------------------------------------------------------------------

TEST(Gguf, EveryValueTypeIsPassedOver) {
  const std::string values[] = {raw(std::uint8_t{255}),
                                raw(std::int8_t{-1}),
                                raw(std::uint16_t{65535}),
                                raw(std::int16_t{-1}),
                                u32(7),
                                raw(-1),
                                raw(1.5F),
                                "\1"s,
                                text("x"),
                                array(9, 1, array(8, 1, text("y"))),
                                u64(8),
                                raw(std::int64_t{-1}),
                                raw(-2.5)};
  for (std::uint32_t type = 0; type < std::size(values); ++type) {
    const auto header = parse_pair(pair("k", type, values[type]));
    ASSERT_TRUE(header) << type << header.error().message;
    EXPECT_EQ(header->pairs[0].end - header->pairs[0].begin, values[type].size()) << type;
    EXPECT_TRUE(parse_pair(pair("k", 9, array(type, 0, "")))) << type;
    EXPECT_TRUE(parse_pair(pair("k", 9, array(type, 2, values[type] + values[type])))) << type;
    EXPECT_FALSE(parse_whole(head({{pair("k", type, values[type].substr(1))}, {}, {}}))) << type;
  }
  EXPECT_TRUE(refuses(parse_pair(pair("k", 13, "")), foreign_input, "k", "no type 13"));
  EXPECT_TRUE(refuses(parse_pair(pair("k", 9, array(13, 0, ""))), foreign_input, "k", "no type 13"));
}

TEST(Gguf, BooleansAreZeroOrOne) {
  EXPECT_TRUE(refuses(parse_pair(pair("k", 7, "\2")), foreign_input, "k", "not 2"));
  EXPECT_TRUE(refuses(parse_pair(pair("k", 9, array(7, 3, "\0\1\xFF"s))), foreign_input, "k", "not 255"));
}

TEST(Gguf, NestingIsBounded) {
  const auto nested = [](int levels) {
    std::string value = array(0, 1, "x");
    for (int i = 1; i < levels; ++i) value = array(9, 1, value);
    return pair("k", 9, value);
  };
  EXPECT_TRUE(parse_pair(nested(8)));
  EXPECT_TRUE(refuses(parse_pair(nested(9)), unsupported_input, "k", "nested"));
  EXPECT_FALSE(parse_pair(nested(3000)));
}

TEST(Gguf, KeysAreNeitherEmptyNorLongNorTwice) {
  EXPECT_TRUE(refuses(parse_pair(pair("", 0, "x")), foreign_input, "", "empty"));
  EXPECT_TRUE(parse_pair(pair(std::string(65535, 'k'), 0, "x")));
  EXPECT_TRUE(refuses(parse_pair(pair(std::string(65536, 'k'), 0, "x")), foreign_input, "", "65535"));
  EXPECT_TRUE(refuses(parse_parts({{pair("a", 0, "x"), pair("b", 0, "x"), pair("a", 1, "y")}, {}, {}}),
                      duplicate, "a", "number 1 and number 3"));
}

TEST(Gguf, IntegersOfAnyTypeAreRead) {
  const auto unsigned_of = [](std::uint32_t type, const std::string& value) {
    const auto whole = file({{pair("k", type, value)}, {}, {}});
    return gguf_unsigned(parse_whole(whole).value().pairs[0], bytes_of(whole));
  };
  EXPECT_EQ(unsigned_of(0, "\xFF"), 255U);
  EXPECT_EQ(unsigned_of(1, "\x7F"), 127U);
  EXPECT_EQ(unsigned_of(1, "\xFF"), std::nullopt);
  EXPECT_EQ(unsigned_of(2, raw(std::uint16_t{65535})), 65535U);
  EXPECT_EQ(unsigned_of(3, raw(std::int16_t{-5})), std::nullopt);
  EXPECT_EQ(unsigned_of(4, u32(~0U)), 0xFFFFFFFFU);
  EXPECT_EQ(unsigned_of(5, raw(77)), 77U);
  EXPECT_EQ(unsigned_of(10, u64(~std::uint64_t{0})), ~std::uint64_t{0});
  EXPECT_EQ(unsigned_of(11, raw(std::int64_t{-1})), std::nullopt);
  EXPECT_EQ(unsigned_of(6, raw(1.0F)), std::nullopt);
  EXPECT_EQ(unsigned_of(8, text("1")), std::nullopt);
}

// --- alignment -----------------------------------------------------------------------------------------

Parts aligned_to(std::uint32_t type, const std::string& value, std::size_t alignment) {
  return {{pair("general.alignment", type, value)},
          {tensor("a", {4}, 0, 0), tensor("b", {4}, 0, (16 + alignment - 1) / alignment * alignment)},
          padded(std::string(16, 'a'), alignment) + padded(std::string(16, 'b'), alignment),
          alignment};
}

TEST(Gguf, AlignmentOfAnyIntegerTypeIsHonoured) {
  for (const auto alignment : {std::uint8_t{8}, std::uint8_t{16}, std::uint8_t{24}, std::uint8_t{64}}) {
    const std::pair<std::uint32_t, std::string> values[] = {{0, raw(alignment)},
                                                            {1, raw(static_cast<std::int8_t>(alignment))},
                                                            {2, raw(std::uint16_t{alignment})},
                                                            {4, u32(alignment)},
                                                            {5, raw(static_cast<std::int32_t>(alignment))},
                                                            {10, u64(alignment)},
                                                            {11, raw(static_cast<std::int64_t>(alignment))}};
    for (const auto& [type, value] : values) {
      const auto header = parse_parts(aligned_to(type, value, alignment));
      ASSERT_TRUE(header) << type << header.error().message;
      EXPECT_EQ(header->alignment, alignment);
    }
  }
}

TEST(Gguf, OtherAlignmentsAreRefused) {
  const std::pair<std::uint32_t, std::string> values[] = {{4, u32(0)},
                                                          {4, u32(1)},
                                                          {4, u32(3)},
                                                          {4, u32(12)},
                                                          {8, text("16")},
                                                          {6, raw(16.0F)},
                                                          {11, raw(std::int64_t{-32})},
                                                          {9, array(4, 1, u32(16))},
                                                          {10, u64(std::uint64_t{1} << 63)},
                                                          {10, u64(std::uint64_t{1} << 32)}};
  for (const auto& [type, value] : values)
    EXPECT_TRUE(refuses(parse_parts(aligned_to(type, value, 32)), foreign_input, "general.alignment",
                        "multiple of 8"))
        << type;
}

TEST(Gguf, AHugeAlignmentNeedsAFileAsLarge) {
  EXPECT_TRUE(
      refuses(parse_parts(aligned_to(4, u32(std::uint64_t{1} << 30), 32)), foreign_input, "", "cut short"));
}

// --- tensors -------------------------------------------------------------------------------------------

TEST(Gguf, DimensionsAreCounted) {
  const auto refused_as = [](const Dims& dims, std::uint32_t type, ErrorCode code, std::string_view part) {
    return refuses(parse_tensor(tensor("t", dims, type, 0)), code, "t", part);
  };
  constexpr auto most = std::numeric_limits<std::uint64_t>::max();
  EXPECT_TRUE(refused_as({most >> 1, 2}, 24, foreign_input, "more than any file can hold"));
  EXPECT_TRUE(refused_as({std::uint64_t{1} << 63}, 24, foreign_input, "below 2^63"));
  EXPECT_TRUE(refused_as({most, 0}, 24, foreign_input, "below 2^63"));
  EXPECT_TRUE(refused_as({std::uint64_t{1} << 32, std::uint64_t{1} << 32}, 28, foreign_input, "more than"));
  EXPECT_TRUE(refused_as({1, 1, 1, 1, 1}, 0, unsupported_input, "5 dimensions"));
  EXPECT_TRUE(refused_as({33}, 2, foreign_input, "blocks of 32"));
  EXPECT_TRUE(refused_as({}, 2, foreign_input, "blocks of 32"));
  EXPECT_TRUE(refused_as({128, 2}, 12, foreign_input, "blocks of 256"));
  EXPECT_TRUE(refused_as({1 << 20}, 0, foreign_input, "cut short"));
}

TEST(Gguf, NamesAreWhatPtdTakes) {
  const auto refused_as = [](const std::string& name, std::string_view part) {
    const auto parsed = parse_tensor(tensor(name, {1}, 24, 0), padded("x"));
    return !parsed && parsed.error().code == unsupported_input &&
           parsed.error().message.find(part) != std::string::npos;
  };
  EXPECT_TRUE(refused_as("", "empty"));
  EXPECT_TRUE(refused_as("a\0b"s, "NUL"));
  EXPECT_TRUE(refused_as("a\xFF", "UTF-8"));
  EXPECT_TRUE(refused_as(std::string(1025, 'a'), "1025 bytes"));
  EXPECT_TRUE(parse_tensor(tensor(std::string(1024, 'a'), {1}, 24, 0), padded("x")));
}

TEST(Gguf, DuplicateTensorsAreNamedWithTheirPlaces) {
  const Parts parts{{}, {tensor("a", {1}, 24, 0), tensor("b", {1}, 24, 32), tensor("a", {1}, 24, 64)}, {}};
  EXPECT_TRUE(refuses(parse_parts(parts), duplicate, "a", "number 1 and number 3 of 3"));
}

TEST(Gguf, TensorsLieOneAfterTheOther) {
  const auto with = [](std::uint64_t second, std::size_t data) {
    return parse_parts(
        {{}, {tensor("a", {40}, 24, 0), tensor("b", {40}, 24, second)}, std::string(data, 'x')});
  };
  EXPECT_TRUE(with(64, 128));
  EXPECT_TRUE(with(64, 104));
  EXPECT_TRUE(refuses(with(32, 128), foreign_input, "b", "gap or overlaps"));
  EXPECT_TRUE(refuses(with(96, 160), foreign_input, "b", "gap or overlaps"));
  EXPECT_TRUE(refuses(with(40, 128), foreign_input, "b", "not aligned"));
  EXPECT_TRUE(refuses(with(std::uint64_t{1} << 50, 128), foreign_input, "b", "1125899906842624"));
  EXPECT_TRUE(refuses(with(~std::uint64_t{0} - 31, 128), foreign_input, "b", "gap"));
  EXPECT_TRUE(refuses(with(64, 103), foreign_input, "b", "tensor \"b\" ends"));
  EXPECT_TRUE(refuses(with(64, 110), foreign_input, "", "padding"));
  EXPECT_TRUE(refuses(with(64, 129), foreign_input, "", "the last 1 bytes"));
}

// --- hostile bytes -------------------------------------------------------------------------------------

TEST(Gguf, EveryCutIsRefused) {
  const auto whole = file(sample());
  const auto without_padding = whole.size() - 32 + 5;
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_EQ(parse_whole(std::string_view(whole).substr(0, size)).has_value(), size == without_padding)
        << size;
}

std::vector<std::byte> rendered(GgufHeader header, Bytes whole) {
  const auto count = header.pairs.size();
  const auto pairs = whole.subspan(gguf_prefix_bytes, header.pairs_end - gguf_prefix_bytes);
  return render_gguf(header, count, pairs).value();
}

TEST(Gguf, WhatIsReadIsWrittenBackWhateverByteIsChanged) {
  const auto good = file(sample());
  std::size_t accepted = 0;
  for (std::size_t at = 0; at < head(sample()).size(); ++at)
    for (int value = 0; value < 256; ++value) {
      auto changed = good;
      changed[at] = static_cast<char>(value);
      const auto header = parse_whole(changed);
      if (!header) {
        ASSERT_NE(header.error().code, internal) << header.error().message;
        continue;
      }
      ++accepted;
      ASSERT_EQ(gguf_file_size(*header), changed.size());
      ASSERT_EQ(as_text(rendered(*header, bytes_of(changed))),
                std::string_view(changed).substr(0, header->header_bytes));
    }
  EXPECT_GT(accepted, 1000U);  // names, strings, numbers
}

// --- writing -------------------------------------------------------------------------------------------

TEST(Gguf, RendersWhatItPlaced) {
  GgufHeader header;
  header.alignment = 32;
  header.tensors = {{"a", ggml_type(0), {3, 2}, 99, 99}, {"b", ggml_type(12), {256}, 0, 0}};
  std::vector<std::byte> pairs;
  append_gguf_string_pair(pairs, "general.architecture", "llama");
  const auto head_bytes = render_gguf(header, 1, pairs).value();
  EXPECT_EQ(as_text(head_bytes), head({{pair("general.architecture", 8, text("llama"))},
                                       {tensor("a", {3, 2}, 0, 0), tensor("b", {256}, 12, 32)},
                                       {}}));
  EXPECT_EQ(header.data_offset % 32, 0U);
  EXPECT_EQ(gguf_file_size(header), header.data_offset + 32 + 160);
  header.has_padded_end = false;
  EXPECT_EQ(gguf_file_size(header), header.data_offset + 32 + 144);
}

TEST(Gguf, DoesNotRenderWhatItWouldNotRead) {
  const auto refused_as = [](const Dims& dims, std::uint32_t type, std::string_view part) {
    GgufHeader header;
    header.tensors = {{"t", ggml_type(type), dims, 0, 0}};
    return refuses(render_gguf(header, 0, {}), unsupported_input, "t", part);
  };
  EXPECT_TRUE(refused_as({1, 1, 1, 1, 1}, 0, "4 dimensions"));
  EXPECT_TRUE(refused_as({100}, 12, "blocks of 256"));
  EXPECT_TRUE(refused_as({(std::uint64_t{1} << 62) + 1}, 24, "largest file"));
}

// --- for people ----------------------------------------------------------------------------------------

std::optional<PairSpec> readable(std::string_view key, std::uint32_t type, const std::string& value) {
  const auto whole = file({{pair(key, type, value)}, {}, {}});
  return readable_pair(parse_whole(whole).value().pairs[0], bytes_of(whole));
}

PairSpec json(const std::string& value) { return {"gguf.k", value, ValueKind::json}; }

TEST(GgufText, ValuesAreSaidInJson) {
  EXPECT_EQ(readable("k", 0, "\xFF"), json("255"));
  EXPECT_EQ(readable("k", 1, "\xFF"), json("-1"));
  EXPECT_EQ(readable("k", 11, raw(std::numeric_limits<std::int64_t>::min())), json("-9223372036854775808"));
  EXPECT_EQ(readable("k", 6, raw(0.1F)), json("0.1"));
  EXPECT_EQ(readable("k", 12, raw(1e300)), json("1e+300"));
  EXPECT_EQ(readable("k", 7, "\1"), json("true"));
  EXPECT_EQ(readable("k", 9, array(8, 2, text("a\"") + text("\n"))), json(R"(["a\"","\n"])"));
  EXPECT_EQ(readable("k", 9, array(9, 2, array(2, 0, "") + array(7, 1, "\0"s))), json("[[],[false]]"));
}

TEST(GgufText, StringsAreTextOrBytes) {
  EXPECT_EQ(readable("k", 8, text("a\nb")), (PairSpec{"gguf.k", "a\nb", ValueKind::text}));
  EXPECT_EQ(readable("k", 8, text("a\xFF")), (PairSpec{"gguf.k", "a\xFF", ValueKind::bytes}));
}

TEST(GgufText, WhatCannotBeSaidIsLeftOut) {
  EXPECT_EQ(readable("k", 6, raw(std::numeric_limits<float>::quiet_NaN())), std::nullopt);
  EXPECT_EQ(readable("k", 12, raw(-std::numeric_limits<double>::infinity())), std::nullopt);
  EXPECT_EQ(readable("k", 9, array(8, 1, text("\xFF"))), std::nullopt);
  EXPECT_EQ(readable("k\xFF", 0, "x"), std::nullopt);
  EXPECT_EQ(readable("a\0b"s, 0, "x"), std::nullopt);
  EXPECT_EQ(readable(std::string(1020, 'k'), 0, "x"), std::nullopt);
  EXPECT_TRUE(readable(std::string(1019, 'k'), 0, "x"));
  EXPECT_TRUE(readable("k", 8, text(std::string(65528, 'x'))));
  EXPECT_EQ(readable("k", 8, text(std::string(65529, 'x'))), std::nullopt);
}

}  // namespace
}  // namespace ptd::foreign
