// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// The safetensors header: what is read, and what is refused. Checked by hand against safetensors 0.8.0, whose
// verdict each test shares unless it says otherwise.
#include "foreign/safetensors.hpp"

#include <gtest/gtest.h>

#include <ptd/limits.hpp>

#include "tests/foreign_samples.hpp"

namespace ptd::foreign {
namespace {

using enum ErrorCode;
using namespace std::string_literals;
using Sizes = std::vector<std::uint64_t>;

std::string u8(std::string_view name, std::uint64_t begin, std::uint64_t end) {
  return entry(name, "U8", "[" + std::to_string(end - begin) + "]", begin, end);
}

// --- length and size -----------------------------------------------------------------------------------

std::string length_field(std::uint64_t value) {
  std::string out(8, '\0');
  std::memcpy(out.data(), &value, sizeof value);
  return out;
}

TEST(SafetensorsHeaderSize, CountsThePrefix) {
  EXPECT_EQ(safetensors_header_size(bytes_of(length_field(2)), 10).value(), 10U);
  EXPECT_EQ(safetensors_header_size(bytes_of(length_field(100'000'000)), 100'000'008).value(), 100'000'008U);
}

TEST(SafetensorsHeaderSize, NamesLimitAndActualSize) {
  const auto refused = safetensors_header_size(bytes_of(length_field(132'000'000)), std::uint64_t{1} << 40);
  EXPECT_TRUE(refuses(refused, foreign_input, "", "132000000"));
  EXPECT_TRUE(refuses(refused, foreign_input, "", "100000000"));
  EXPECT_FALSE(safetensors_header_size(bytes_of(length_field(std::uint64_t{1} << 63)), 1000));
  EXPECT_FALSE(safetensors_header_size(bytes_of(length_field(~std::uint64_t{0})), 1000));
}

TEST(SafetensorsHeaderSize, RefusesWhatDoesNotFit) {
  EXPECT_TRUE(
      refuses(safetensors_header_size(bytes_of(length_field(93)), 100), foreign_input, "", "cut short"));
  EXPECT_TRUE(refuses(safetensors_header_size(bytes_of("\2\0\0"s), 3), foreign_input, "", "this one has 3"));
  EXPECT_FALSE(safetensors_header_size({}, 0));
  EXPECT_FALSE(safetensors_header_size(bytes_of(length_field(0)), 8));
  EXPECT_FALSE(safetensors_header_size(bytes_of(length_field(1)), 9));
}

TEST(Safetensors, EveryCutOfTheHeaderIsRefused) {
  const auto whole = header_of(object(u8("a", 0, 1)));
  ASSERT_TRUE(parse_safetensors(bytes_of(whole), whole.size() + 1));
  for (std::size_t cut = 0; cut < whole.size(); ++cut)
    EXPECT_FALSE(parse_safetensors(bytes_of(whole).first(cut), cut)) << cut;
  EXPECT_EQ(parse_safetensors(bytes_of(whole).first(20), whole.size() + 1).error().code, argument);
}

// --- what is read --------------------------------------------------------------------------------------

TEST(Safetensors, ReadsEntriesInOrderOfTheirBytes) {
  const auto header =
      parse(object(entry("z", "F32", "[2,3]", 1, 25) + "," + entry("b", "BF16", "[]", 25, 27) + "," +
                   u8("a", 0, 1) + R"(,"__metadata__":{"y":"2","x":"1"})") +
                "  ",
            27)
          .value();
  ASSERT_EQ(header.entries.size(), 3U);
  EXPECT_EQ(header.entries[0].name, "a");
  EXPECT_EQ(header.entries[1].name, "z");
  EXPECT_EQ(header.entries[1].dtype, DType::float32);
  EXPECT_EQ(header.entries[1].sizes, (Sizes{2, 3}));
  EXPECT_EQ(header.entries[1].begin, 1U);
  EXPECT_EQ(header.entries[1].end, 25U);
  EXPECT_EQ(header.entries[2].dtype, DType::bfloat16);
  EXPECT_EQ(header.entries[2].sizes, Sizes{});
  const std::vector<std::pair<std::string, std::string>> metadata{{"x", "1"}, {"y", "2"}};
  EXPECT_EQ(header.metadata, metadata);
}

TEST(Safetensors, DataBeginsAfterTheHeader) {
  const auto json = object(u8("a", 0, 1)) + "   ";
  EXPECT_EQ(parse(json, 1).value().data_offset, json.size() + 8);
}

TEST(Safetensors, AnEmptyFileHasNoTensors) {
  EXPECT_TRUE(parse("{}", 0).value().entries.empty());
  EXPECT_TRUE(parse(R"({"__metadata__":null})", 0).value().metadata.empty());
}

TEST(Safetensors, KeepsTheRank) {
  for (const auto& [shape, sizes] : {std::pair<std::string, Sizes>{"[1,36,2]", {1, 36, 2}},
                                     {"[1,1,72]", {1, 1, 72}},
                                     {"[72,1]", {72, 1}},
                                     {"[72]", {72}}})
    EXPECT_EQ(parse(object(entry("a", "U8", shape, 0, 72)), 72).value().entries[0].sizes, sizes);
}

TEST(Safetensors, KeepsNamesExactly) {
  const auto header = parse(object(entry(R"(\u001b[2J\n\"\ud83d\ude00)", "U8", "[1]", 0, 1)), 1).value();
  EXPECT_EQ(header.entries[0].name, "\x1b[2J\n\"\xf0\x9f\x98\x80");
  EXPECT_EQ(parse(object(u8("", 0, 1)), 1).value().entries[0].name, "");
}

TEST(Safetensors, PassesOverMembersThatItDoesNotKnow) {
  const auto json =
      R"({"a":{"x":{"y":[1,null,-1.5e3,{"dtype":0}]},"dtype":"U8","shape":[1],"data_offsets":[0,1]}})";
  EXPECT_EQ(parse(json, 1).value().entries.at(0).sizes, Sizes{1});
}

struct Known {
  std::string_view spelling;
  DType dtype;
};
constexpr Known known[] = {
    {"BOOL", DType::boolean},
    {"U8", DType::uint8},
    {"I8", DType::int8},
    {"U16", DType::uint16},
    {"I16", DType::int16},
    {"U32", DType::uint32},
    {"I32", DType::int32},
    {"U64", DType::uint64},
    {"I64", DType::int64},
    {"F16", DType::float16},
    {"BF16", DType::bfloat16},
    {"F32", DType::float32},
    {"F64", DType::float64},
    {"C64", DType::complex64},
    {"F8_E4M3", DType::float8_e4m3fn},
    {"F8_E5M2", DType::float8_e5m2},
    {"F8_E4M3FNUZ", DType::float8_e4m3fnuz},
    {"F8_E5M2FNUZ", DType::float8_e5m2fnuz},
    {"F8_E8M0", DType::float8_e8m0fnu},
    {"F4", DType::float4_e2m1fn},
    {"F6_E2M3", DType::float6_e2m3fn},
    {"F6_E3M2", DType::float6_e3m2fn},
};

TEST(Safetensors, KnowsEveryDtypeAndItsWidth) {
  for (const auto& [spelling, dtype] : known) {
    const auto header = parse(object(entry("a", spelling, "[8]", 0, dtype_bits(dtype))), dtype_bits(dtype));
    ASSERT_TRUE(header) << spelling;
    EXPECT_EQ(header->entries[0].dtype, dtype) << spelling;
    EXPECT_EQ(safetensors_dtype(dtype), spelling);
  }
}

TEST(Safetensors, LacksTheOtherDtypes) {
  std::size_t with_spelling = 0;
  for (const auto& row : dtype_table) with_spelling += safetensors_dtype(row.dtype).empty() ? 0 : 1;
  EXPECT_EQ(with_spelling, std::size(known));
  EXPECT_EQ(safetensors_dtype(DType::complex128), "");
  EXPECT_EQ(safetensors_dtype(DType::uint4), "");
}

TEST(Safetensors, ListsUnknownDtypes) {
  const auto refused = parse(
      object(entry("a", "XYZ", "[8]", 0, 8) + "," + u8("b", 8, 9) + "," + entry("c", "bf16", "[8]", 9, 25)),
      25);
  EXPECT_TRUE(
      refuses(refused, unsupported_input, "a", R"(tensor "a" has dtype "XYZ", tensor "c" has dtype "bf16")"));
  std::string many;
  for (int i = 0; i < 20; ++i) many += (i == 0 ? "" : ",") + entry(std::to_string(i), "Q", "[]", 0, 0);
  EXPECT_TRUE(refuses(parse(object(many), 0), unsupported_input, "0", "for 4 more"));
}

// F4 and F6 shapes count elements, as in the reference implementation, which calls the rest misaligned.
TEST(Safetensors, SubByteElementsMustFillBytes) {
  EXPECT_TRUE(parse(object(entry("a", "F4", "[2,8]", 0, 8)), 8));
  EXPECT_TRUE(parse(object(entry("a", "F4", "[2,7]", 0, 7)), 7));
  EXPECT_TRUE(parse(object(entry("a", "F4", "[0]", 0, 0)), 0));
  EXPECT_TRUE(parse(object(entry("a", "F6_E3M2", "[4]", 0, 3)), 3));
  EXPECT_TRUE(
      refuses(parse(object(entry("a", "F4", "[3]", 0, 2)), 2), foreign_input, "a", "F4 [3], 12 bits"));
  EXPECT_TRUE(refuses(parse(object(entry("a", "F4", "[]", 0, 1)), 1), foreign_input, "a", "whole bytes"));
  EXPECT_TRUE(refuses(parse(object(entry("a", "F6_E2M3", "[3]", 0, 3)), 3), foreign_input, "a", "18 bits"));
}

// --- JSON ----------------------------------------------------------------------------------------------

TEST(Safetensors, PaddingIsSpace) {
  EXPECT_TRUE(parse("{}      ", 0));
  EXPECT_TRUE(
      refuses(parse("{}\0\0\0\0\0\0"s, 0), foreign_input, "", "only spaces (0x20) are legal padding"));
  EXPECT_EQ(parse("{}\0\0\0\0\0\0"s, 0).error().offset, 10U);
  EXPECT_TRUE(refuses(parse("{}\0{\"a\":1}"s, 0), foreign_input, "", "holds a NUL byte"));
}

// The format's text demands it; the reference reader alone takes spaces first.
TEST(Safetensors, BeginsWithABrace) {
  EXPECT_TRUE(refuses(parse(" {}", 0), foreign_input, "", "must begin with"));
  EXPECT_TRUE(refuses(parse("\xEF\xBB\xBF{}", 0), foreign_input, "", "must begin with"));
  EXPECT_TRUE(refuses(parse("[]", 0), foreign_input, "", "must begin with"));
}

TEST(Safetensors, RefusesWhatIsNotJson) {
  EXPECT_TRUE(refuses(parse("{} x", 0), foreign_input, "", "not valid JSON"));
  EXPECT_EQ(parse("{} x", 0).error().offset, 11U);
  EXPECT_TRUE(refuses(parse("{\"a\":", 0), foreign_input, "", "ends in the middle"));
  EXPECT_FALSE(parse("{,}", 0));
  EXPECT_FALSE(parse(object(u8("a", 0, 1) + ","), 1));
  EXPECT_FALSE(parse(object(u8("a\x01", 0, 1)), 1));
  EXPECT_FALSE(parse(object(u8(R"(a\ud800)", 0, 1)), 1));
  EXPECT_FALSE(parse("{} //", 0));
}

TEST(Safetensors, RefusesInvalidUtf8) {
  const auto refused = parse(object(u8("a\xff", 0, 1)), 1);
  EXPECT_TRUE(refuses(refused, foreign_input, "", "not valid UTF-8"));
  EXPECT_EQ(refused.error().offset, 11U);
}

TEST(Safetensors, NestingIsBounded) {
  const auto nested = [](std::size_t levels) {
    return R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"x":)" + std::string(levels, '[') +
           std::string(levels, ']') + "}}";
  };
  EXPECT_TRUE(parse(nested(125), 1));
  EXPECT_TRUE(refuses(parse(nested(126), 1), foreign_input, "", "deeper than 127"));
  EXPECT_FALSE(parse(nested(1'000'000), 1));
  EXPECT_FALSE(parse("{\"a\":" + std::string(1'000'000, '['), 0));
}

TEST(Safetensors, ErrorMessagesStayShort) {
  EXPECT_LT(parse("{\"" + std::string(1'000'000, 'a'), 0).error().message.size(), 1000U);
  EXPECT_LT(parse(object(u8(std::string(1'000'000, 'a'), 0, 1)), 0).error().message.size(), 1000U);
  EXPECT_LT(parse(object(entry("a", "U8", "[" + std::string(1'000'000, '9') + ".5]", 0, 1)), 1)
                .error()
                .message.size(),
            1000U);
}

// --- duplicates ----------------------------------------------------------------------------------------

TEST(Safetensors, DuplicateTensorNamesAreCalledThat) {
  const auto refused = parse(object(u8("a", 0, 1) + "," + u8("a", 1, 2)), 2);
  EXPECT_TRUE(refuses(refused, duplicate, "a", R"(duplicate tensor name "a")"));
  EXPECT_EQ(refused.error().message.find("offset"), std::string::npos);
  EXPECT_EQ(parse(object(u8("a", 0, 1) + "," + u8(R"(\u0061)", 0, 1)), 1).error().code, duplicate);
}

TEST(Safetensors, FindsADuplicateAmongMany) {
  std::string members = u8("7", 0, 1);
  for (int i = 1; i < 1000; ++i)
    members += "," + u8(std::to_string(i), static_cast<unsigned>(i), static_cast<unsigned>(i) + 1);
  EXPECT_TRUE(refuses(parse(object(members), 1000), duplicate, "7", "\"7\""));
}

// The reference reader keeps the last of equal metadata keys; its documentation forbids them.
TEST(Safetensors, DuplicateKeysAreRefusedEverywhere) {
  EXPECT_TRUE(
      refuses(parse(R"({"__metadata__":{"k":"1","k":"2"}})", 0), duplicate, "k", "metadata key \"k\""));
  EXPECT_TRUE(
      refuses(parse(R"({"__metadata__":{},"__metadata__":{}})", 0), duplicate, "__metadata__", "twice"));
  EXPECT_TRUE(refuses(parse(R"({"a":{"dtype":"U8","dtype":"U8","shape":[1],"data_offsets":[0,1]}})", 1),
                      duplicate, "a", R"(tensor "a" has the key "dtype" twice)"));
  EXPECT_TRUE(refuses(parse(R"({"a":{"x":{"y":1,"y":2},"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", 1),
                      duplicate, "a", "\"y\" twice"));
}

// --- entries -------------------------------------------------------------------------------------------

TEST(Safetensors, NumbersAreWholeAndBelow2To63) {
  for (const auto* const number : {"-1", "1.5", "1e3", "1.0", "-0", "9223372036854775808",
                                   "18446744073709551615", "18446744073709551616"}) {
    const auto shape = parse(object(entry("a", "U8", "["s + number + "]", 0, 1)), 1);
    EXPECT_TRUE(refuses(shape, foreign_input, "a", "has "s + number + " in its shape")) << number;
    const auto offset = parse(R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,)"s + number + "]}}", 0);
    EXPECT_TRUE(refuses(offset, foreign_input, "a", "in its data_offsets")) << number;
  }
  EXPECT_FALSE(parse(object(entry("a", "U8", "[01]", 0, 1)), 1));
  EXPECT_FALSE(parse(object(entry("a", "U8", "[1e400]", 0, 1)), 1));
}

TEST(Safetensors, ProductsDoNotWrap) {
  EXPECT_TRUE(refuses(parse(object(entry("a", "U8", "[9223372036854775807,2]", 0, 0)), 0), foreign_input, "a",
                      "more than any file can hold"));
  EXPECT_FALSE(parse(object(entry("a", "I64", "[4294967296,4294967296]", 0, 0)), 0));
  EXPECT_FALSE(parse(object(entry("a", "F64", "[2305843009213693952]", 0, 0)), 0));
  EXPECT_FALSE(parse(object(entry("a", "F4", "[9223372036854775807,4]", 0, 0)), 0));
}

TEST(Safetensors, TypesOfMembers) {
  const auto with = [](std::string_view members) { return parse(object("\"a\":" + object(members)), 1); };
  EXPECT_TRUE(refuses(with(R"("dtype":1,"shape":[1],"data_offsets":[0,1])"), foreign_input, "a",
                      "a number as its dtype"));
  EXPECT_TRUE(
      refuses(with(R"("dtype":"U8","shape":1,"data_offsets":[0,1])"), foreign_input, "a", "as its shape"));
  EXPECT_TRUE(refuses(with(R"("dtype":"U8","shape":null,"data_offsets":[0,1])"), foreign_input, "a",
                      "null as its shape"));
  EXPECT_TRUE(refuses(with(R"("dtype":"U8","shape":["1"],"data_offsets":[0,1])"), foreign_input, "a",
                      "a string in its"));
  EXPECT_TRUE(refuses(with(R"("dtype":"U8","shape":[[1]],"data_offsets":[0,1])"), foreign_input, "a",
                      "an array in its"));
  EXPECT_TRUE(refuses(with(R"("dtype":"U8","shape":[1],"data_offsets":{"a":0})"), foreign_input, "a",
                      "an object as its"));
  EXPECT_TRUE(refuses(with(R"("dtype":["U8"],"shape":[1],"data_offsets":[0,1])"), foreign_input, "a",
                      "an array as its dtype"));
  EXPECT_TRUE(refuses(parse(R"({"a":["U8",[1],[0,1]]})", 1), foreign_input, "a", "tensor \"a\" is an array"));
  EXPECT_TRUE(refuses(parse(R"({"a":null})", 1), foreign_input, "a", "is null"));
}

TEST(Safetensors, MembersMustBeThere) {
  const auto with = [](std::string_view members) { return parse(object("\"a\":" + object(members)), 1); };
  EXPECT_TRUE(refuses(with(R"("shape":[1],"data_offsets":[0,1])"), foreign_input, "a", "has no dtype"));
  EXPECT_TRUE(refuses(with(R"("dtype":"U8","data_offsets":[0,1])"), foreign_input, "a", "has no shape"));
  EXPECT_TRUE(refuses(with(R"("dtype":"U8","shape":[1])"), foreign_input, "a", "has no data_offsets"));
  EXPECT_TRUE(refuses(with(R"("dtype":"U8","shape":[1],"data_offsets":[0])"), foreign_input, "a",
                      "has 1 data_offsets"));
  EXPECT_TRUE(refuses(with(R"("dtype":"U8","shape":[1],"data_offsets":[])"), foreign_input, "a",
                      "has 0 data_offsets"));
  EXPECT_TRUE(
      refuses(with(R"("dtype":"U8","shape":[1],"data_offsets":[0,1,1])"), foreign_input, "a", "more than 2"));
}

// Members of one entry must not serve the next.
TEST(Safetensors, EntriesDoNotLeakIntoEachOther) {
  EXPECT_TRUE(refuses(parse(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{}})", 1),
                      foreign_input, "b", "has no dtype"));
}

TEST(Safetensors, RankIsBounded) {
  const auto ones = [](int rank) {
    std::string shape = "[1";
    for (int i = 1; i < rank; ++i) shape += ",1";
    return object(entry("a", "U8", shape + "]", 0, 1));
  };
  EXPECT_TRUE(parse(ones(64), 1));
  EXPECT_TRUE(refuses(parse(ones(65), 1), unsupported_input, "a", "more dimensions than the 64"));
}

TEST(Safetensors, NulInANameIsRefused) {
  EXPECT_TRUE(refuses(parse(object(u8(R"(a\u0000b)", 0, 1)), 1), unsupported_input, "a\0b"s,
                      R"("a\x00b" holds a NUL)"));
}

TEST(Safetensors, SizesMustFitTheBytes) {
  EXPECT_TRUE(refuses(parse(object(entry("a", "F32", "[4]", 0, 8)), 8), foreign_input, "a",
                      "F32 [4], 16 bytes, but its data_offsets [0, 8] hold 8"));
  EXPECT_FALSE(parse(object(entry("a", "F32", "[4]", 0, 32)), 32));
  EXPECT_FALSE(parse(object(entry("a", "F32", "[]", 0, 0)), 0));
  EXPECT_TRUE(
      refuses(parse(object(entry("a", "U8", "[0]", 1, 0)), 1), foreign_input, "a", "end before they begin"));
}

// --- ranges --------------------------------------------------------------------------------------------

TEST(Safetensors, NoHoles) {
  EXPECT_TRUE(refuses(parse(object(u8("a", 1, 2)), 2), foreign_input, "a", "bytes [0, 1)"));
  EXPECT_TRUE(
      refuses(parse(object(u8("a", 0, 2) + "," + u8("b", 3, 5)), 5), foreign_input, "b", "bytes [2, 3)"));
  EXPECT_TRUE(refuses(parse(object(u8("a", 0, 2)), 7), foreign_input, "", "bytes [2, 7)"));
  EXPECT_TRUE(refuses(parse("{}", 1), foreign_input, "", "bytes [0, 1)"));
}

TEST(Safetensors, CutFilesAreCalledThat) {
  for (const std::uint64_t cut : {1U, 4095U, 4096U, 8192U}) {
    const auto refused = parse(object(u8("a", 0, 4096) + "," + u8("b", 4096, 8192)), 8192 - cut);
    EXPECT_TRUE(refuses(refused, foreign_input, "b", "cut short by " + std::to_string(cut) + " bytes"));
  }
}

TEST(Safetensors, TiedTensorsNeedTheFlag) {
  const auto tied = object(u8("embed", 0, 8) + "," + u8("rest", 8, 9) + "," + u8("head", 0, 8));
  const auto refused = parse(tied, 9);
  EXPECT_TRUE(refuses(refused, foreign_input, "head", "\"embed\"") ||
              refuses(refused, foreign_input, "embed", "\"head\""));
  EXPECT_NE(refused.error().message.find("--allow-shared"), std::string::npos);
  const auto header = parse(tied, 9, {.allow_shared = true}).value();
  ASSERT_EQ(header.entries.size(), 3U);
  EXPECT_EQ(header.entries[0].name, "embed");
  EXPECT_EQ(header.entries[1].name, "head");
  EXPECT_EQ(header.entries[0].end, header.entries[1].end);
}

TEST(Safetensors, PartialOverlapIsNeverAllowed) {
  for (const bool allow : {false, true}) {
    const SafetensorsOptions options{.allow_shared = allow};
    EXPECT_TRUE(refuses(parse(object(u8("a", 0, 8) + "," + u8("b", 4, 12)), 12, options), foreign_input, "b",
                        "overlap"));
    EXPECT_TRUE(refuses(parse(object(u8("a", 0, 8) + "," + u8("b", 0, 4)), 8, options), foreign_input, "b",
                        "overlap"));
    EXPECT_TRUE(refuses(parse(object(u8("a", 0, 8) + "," + u8("b", 2, 4)), 8, options), foreign_input, "b",
                        "overlap"));
  }
  EXPECT_FALSE(
      parse(object(u8("a", 0, 8) + "," + u8("b", 0, 8) + "," + u8("c", 0, 9)), 9, {.allow_shared = true}));
}

TEST(Safetensors, EmptyTensorsNeitherShareNorOverlap) {
  const auto empty = [](std::string_view name, std::string_view shape, std::uint64_t at) {
    return entry(name, "F32", shape, at, at);
  };
  EXPECT_TRUE(
      parse(object(empty("a", "[0]", 0) + "," + empty("b", "[2,0]", 0) + "," + empty("c", "[0,5]", 0)), 0));
  EXPECT_TRUE(parse(object(u8("a", 0, 2) + "," + empty("e", "[0]", 0) + "," + empty("f", "[0]", 2)), 2));
  // The reference reader refuses this one; an empty tensor has no bytes that could overlap.
  EXPECT_TRUE(parse(object(u8("a", 0, 2) + "," + empty("e", "[0]", 1)), 2));
  EXPECT_TRUE(
      refuses(parse(object(u8("a", 0, 2) + "," + empty("e", "[0]", 3)), 2), foreign_input, "e", "cut short"));
}

// The reference reader refuses a zero that comes after the product has overflowed.
TEST(Safetensors, AZeroMakesATensorEmptyWhereverItStands) {
  for (const auto* const shape : {"[0,9223372036854775807,9]", "[9223372036854775807,9,0]",
                                  "[0,4611686018427387904]", "[4611686018427387904,0]", "[0,0]"})
    EXPECT_TRUE(parse(object(entry("a", "F64", shape, 0, 0)), 0)) << shape;
}

// --- metadata ------------------------------------------------------------------------------------------

TEST(SafetensorsMetadata, NamesTheKeyAndTheTypeFound) {
  const auto with = [](std::string_view value) {
    return parse(R"({"__metadata__":{"ok":"s","n":)" + std::string(value) + "}}", 0);
  };
  EXPECT_TRUE(refuses(with("0"), foreign_input, "n", "metadata value \"n\" is a number"));
  EXPECT_TRUE(refuses(with("-1.5"), foreign_input, "n", "is a number"));
  EXPECT_TRUE(refuses(with("null"), foreign_input, "n", "is null"));
  EXPECT_TRUE(refuses(with("true"), foreign_input, "n", "is a boolean"));
  EXPECT_TRUE(refuses(with(R"({"x":1})"), foreign_input, "n", "is an object"));
  EXPECT_TRUE(refuses(with("[]"), foreign_input, "n", "is an array"));
  EXPECT_TRUE(refuses(parse(R"({"__metadata__":"s"})", 0), foreign_input, "__metadata__", "is a string"));
  EXPECT_TRUE(refuses(parse(R"({"__metadata__":[]})", 0), foreign_input, "__metadata__", "is an array"));
}

TEST(SafetensorsMetadata, MayKeepOtherValuesAsJson) {
  const auto json = R"({"__metadata__":{"s":"x","n":0,"z":null,"t":true,"f":1.50,"i":-3,)"
                    R"("o":{"x":[1,{"a":"\"\u0001"},[]],"y":{}},"a":[ ]}})";
  const auto header = parse(json, 0, {.metadata_as_json = true}).value();
  const std::vector<std::pair<std::string, std::string>> expected{
      {"a", "[]"}, {"f", "1.50"}, {"i", "-3"},  {"n", "0"}, {"o", R"({"x":[1,{"a":"\"\u0001"},[]],"y":{}})"},
      {"s", "x"},  {"t", "true"}, {"z", "null"}};
  EXPECT_EQ(header.metadata, expected);
  EXPECT_TRUE(refuses(parse(R"({"__metadata__":{"o":{"x":1,"x":2}}})", 0, {.metadata_as_json = true}),
                      duplicate, "o", "\"x\" twice"));
}

TEST(SafetensorsMetadata, PairsAreBounded) {
  std::string pairs = "\"0\":\"\"";
  for (std::uint64_t i = 1; i < limits::max_pairs; ++i) pairs += ",\"" + std::to_string(i) + "\":\"\"";
  EXPECT_EQ(parse(R"({"__metadata__":{)" + pairs + "}}", 0).value().metadata.size(), limits::max_pairs);
  EXPECT_TRUE(
      refuses(parse(R"({"__metadata__":{)" + pairs + R"(,"x":""}})", 0), unsupported_input, "", "1048576"));
}

TEST(SafetensorsMetadata, ATensorOfThatNameIsRefused) {
  for (const bool as_json : {false, true})
    EXPECT_TRUE(refuses(parse(object(u8("__metadata__", 0, 1)), 1, {.metadata_as_json = as_json}),
                        foreign_input, "__metadata__", "safetensors reserves"));
  EXPECT_TRUE(parse(R"({"__metadata__":{"dtype":"U8","shape":"[1]","data_offsets":"no"}})", 0));
}

}  // namespace
}  // namespace ptd::foreign
