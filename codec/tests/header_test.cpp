// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "wire/header.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <ptd/limits.hpp>
#include <string>

#include "wire/endian.hpp"
#include "wire/hash.hpp"

namespace ptd::wire {
namespace {

constexpr std::uint64_t two63 = std::uint64_t{1} << 63;

Header good_header() {
  Header header;
  header.optional_features = 0x8000000000000001;
  header.layout_offset = 1000;
  header.layout_size = 16;
  header.model_size = 64;
  header.layout_hash = 0x1122334455667788;
  header.model_hash = 0x99AABBCCDDEEFF00;
  return header;
}

/// What a reader is given.
struct Given {
  std::array<std::byte, header_bytes> bytes = encode_header(good_header());
  std::uint64_t file_size = good_header().file_size();
  std::uint64_t limit = limits::max_message_bytes;

  template <class Integer>
  void set(std::size_t at, Integer value) {
    store(MutableBytes(bytes), at, value);
  }
  void repair_hash() { set(72, xxh3(Bytes(bytes).first(72))); }
  [[nodiscard]] Result<Header> parse() const { return parse_header(bytes, file_size, limit); }
};

Error error_of(const Result<Header>& result) {
  return result ? Error{ErrorCode::internal, "accepted", {}, {}, {}} : result.error();
}

TEST(Header, RoundTrip) {
  Given given;
  const auto header = given.parse();
  ASSERT_TRUE(header) << header.error().to_string();
  EXPECT_EQ(header->major, 1);
  EXPECT_EQ(header->minor, 0);
  EXPECT_EQ(header->required_features, 0);
  EXPECT_EQ(header->optional_features, 0x8000000000000001);
  EXPECT_EQ(header->layout_offset, 1000);
  EXPECT_EQ(header->layout_size, 16);
  EXPECT_EQ(header->model_size, 64);
  EXPECT_EQ(header->layout_hash, 0x1122334455667788);
  EXPECT_EQ(header->model_hash, 0x99AABBCCDDEEFF00);
  EXPECT_EQ(header->model_offset(), 1016);
  EXPECT_EQ(header->file_size(), 1080);
  EXPECT_EQ(encode_header(*header), given.bytes);
}

// Against the table of SPEC.md, not against the reader.
TEST(Header, EachFieldHasItsPlace) {
  Header header = good_header();
  header.minor = 0x0203;
  const auto bytes = encode_header(header);
  const auto at = [&](std::size_t i) { return std::to_integer<unsigned>(bytes[i]); };
  const std::string magic_bytes(reinterpret_cast<const char*>(bytes.data()), 8);
  EXPECT_EQ(magic_bytes, "\x89PTD\r\n\x1A\n");
  EXPECT_EQ(at(8), 1);
  EXPECT_EQ(at(9), 0);
  EXPECT_EQ(at(10), 3);
  EXPECT_EQ(at(11), 2);
  EXPECT_EQ(load<std::uint32_t>(bytes, 12), 80);
  EXPECT_EQ(load<std::uint64_t>(bytes, 16), 0);
  EXPECT_EQ(load<std::uint64_t>(bytes, 24), 0x8000000000000001);
  EXPECT_EQ(load<std::uint64_t>(bytes, 32), 1000);
  EXPECT_EQ(load<std::uint64_t>(bytes, 40), 16);
  EXPECT_EQ(load<std::uint64_t>(bytes, 48), 64);
  EXPECT_EQ(load<std::uint64_t>(bytes, 56), 0x1122334455667788);
  EXPECT_EQ(load<std::uint64_t>(bytes, 64), 0x99AABBCCDDEEFF00);
  EXPECT_EQ(load<std::uint64_t>(bytes, 72), xxh3(Bytes(bytes).first(72)));
}

TEST(Header, LaterMinorAndUnknownOptionalBitsAreAccepted) {
  Given given;
  given.set<std::uint16_t>(10, 0xFFFF);
  given.set<std::uint64_t>(24, ~std::uint64_t{0});
  given.repair_hash();
  const auto header = given.parse();
  ASSERT_TRUE(header) << header.error().to_string();
  EXPECT_EQ(header->minor, 0xFFFF);
  EXPECT_EQ(header->optional_features, ~std::uint64_t{0});
}

TEST(Header, Hdr2EveryShorterLengthIsTooShort) {
  const Given given;
  for (std::size_t length = 0; length < header_bytes; ++length) {
    const auto error = error_of(parse_header(Bytes(given.bytes).first(length), length, given.limit));
    EXPECT_EQ(error.code, ErrorCode::too_short) << length;
    EXPECT_EQ(error.rule, "HDR-2") << length;
    EXPECT_EQ(error.offset, length);
    EXPECT_NE(error.message.find("after " + std::to_string(length) + " bytes"), std::string::npos);
  }
}

TEST(Header, Hdr2NoBytesWithoutAnAddress) {
  EXPECT_EQ(error_of(parse_header({}, 0, 8)).code, ErrorCode::too_short);
}

TEST(Header, Hdr1OneWrongByteOfTheMagicAtEveryLength) {
  for (std::size_t length = 1; length <= header_bytes; ++length)
    for (std::size_t wrong = 0; wrong < std::min<std::size_t>(length, 8); ++wrong) {
      Given given;
      given.bytes[wrong] ^= std::byte{0x20};
      given.repair_hash();
      const auto error = error_of(parse_header(Bytes(given.bytes).first(length), length, given.limit));
      EXPECT_EQ(error.code, ErrorCode::not_ptd) << length << " " << wrong;
      EXPECT_EQ(error.rule, "HDR-1");
      EXPECT_EQ(error.offset, 0);
    }
}

TEST(Header, Hdr4EverySingleBitFlip) {
  for (std::size_t bit = 0; bit < header_bytes * 8; ++bit) {
    Given given;
    given.bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    const auto error = error_of(given.parse());
    EXPECT_EQ(error.code, bit < 64 ? ErrorCode::not_ptd : ErrorCode::header_hash) << bit;
    EXPECT_EQ(error.rule, bit < 64 ? "HDR-1" : "HDR-4") << bit;
  }
}

TEST(Header, Hdr3BigEndianWriter) {
  Given given;
  for (const auto& [at, size] : {std::pair{8, 2},
                                 {10, 2},
                                 {12, 4},
                                 {16, 8},
                                 {24, 8},
                                 {32, 8},
                                 {40, 8},
                                 {48, 8},
                                 {56, 8},
                                 {64, 8},
                                 {72, 8}})
    std::reverse(given.bytes.begin() + at, given.bytes.begin() + at + size);
  const auto error = error_of(given.parse());
  EXPECT_EQ(error.code, ErrorCode::byte_order);
  EXPECT_EQ(error.rule, "HDR-3");
  EXPECT_EQ(error.offset, 12);
}

// Only the size tells: with a hash that matches it is a wrong size and nothing else.
TEST(Header, Hdr3IsAskedOnlyWhereTheHashIsWrong) {
  Given given;
  given.set<std::uint32_t>(12, 0x50000000);
  EXPECT_EQ(error_of(given.parse()).code, ErrorCode::byte_order);
  given.repair_hash();
  EXPECT_EQ(error_of(given.parse()).code, ErrorCode::header_size);
}

/// A fault in a header whose hash is right.
struct Fault {
  const char* what;
  ErrorCode code;
  std::string_view rule;
  std::optional<std::uint64_t> offset;
  std::function<void(Given&)> make;
};

template <class Integer>
std::function<void(Given&)> setting(std::size_t at, Integer value) {
  return [=](Given& given) { given.set(at, value); };
}

std::vector<Fault> faults_behind_the_hash() {
  using u16 = std::uint16_t;
  using u32 = std::uint32_t;
  using u64 = std::uint64_t;
  const auto range = ErrorCode::header_range;
  std::vector<Fault> faults = {
      {"major 0", ErrorCode::major_version, "HDR-5", 8, setting(8, u16{0})},
      {"major 2", ErrorCode::major_version, "HDR-5", 8, setting(8, u16{2})},
      {"major 256", ErrorCode::major_version, "HDR-5", 8, setting(8, u16{256})},
      {"size 0", ErrorCode::header_size, "HDR-6", 12, setting(12, u32{0})},
      {"size 72", ErrorCode::header_size, "HDR-6", 12, setting(12, u32{72})},
      {"size 88", ErrorCode::header_size, "HDR-6", 12, setting(12, u32{88})},
      {"layout inside the header", range, "HDR-8", 32, setting(32, u64{72})},
      {"layout at 0", range, "HDR-8", 32, setting(32, u64{0})},
      {"layout not aligned", range, "HDR-8", 32, setting(32, u64{1004})},
      {"layout off by one", range, "HDR-8", 32, setting(32, u64{1001})},
      {"layout at the end of numbers", range, "HDR-8", 32, setting(32, ~u64{7})},
      {"layout at 2^63", range, "HDR-8", 32, setting(32, two63)},
      {"layout size wraps", range, "HDR-8", 32, setting(40, ~u64{7})},
      {"model size wraps", range, "HDR-8", 32, setting(48, ~u64{7})},
      {"both sizes wrap", range, "HDR-8", 32,
       [](Given& given) {
         given.set(40, two63);
         given.set(48, two63);
       }},
      {"layout of 0 bytes", range, "HDR-9", 40, setting(40, u64{0})},
      {"layout of 12 bytes", range, "HDR-9", 40, setting(40, u64{12})},
      {"layout over 2^30", range, "HDR-9", 40, setting(40, (u64{1} << 30) + 8)},
      {"layout of 2^62", range, "HDR-9", 40, setting(40, u64{1} << 62)},
      {"model of 0 bytes", range, "HDR-9", 48, setting(48, u64{0})},
      {"model of 9 bytes", range, "HDR-9", 48, setting(48, u64{9})},
      {"model over 2^30", range, "HDR-9", 48, setting(48, (u64{1} << 30) + 8)},
      {"one byte missing", ErrorCode::truncated, "HDR-10", 1079,
       [](Given& given) { given.file_size = 1079; }},
      {"nothing but a header", ErrorCode::truncated, "HDR-10", 80,
       [](Given& given) { given.file_size = 80; }},
      {"one byte too many", ErrorCode::trailing_bytes, "HDR-11", 1080,
       [](Given& given) { given.file_size = 1081; }},
      {"a huge tail", ErrorCode::trailing_bytes, "HDR-11", 1080,
       [](Given& given) { given.file_size = two63; }},
      {"layout over the reader's limit", ErrorCode::reader_limit, "LIM-2", std::nullopt,
       [](Given& given) {
         given.set(40, u64{64});
         given.set(48, u64{16});
         given.limit = 63;
       }},
      {"model over the reader's limit", ErrorCode::reader_limit, "LIM-2", std::nullopt,
       [](Given& given) { given.limit = 63; }},
      {"no limit at all", ErrorCode::reader_limit, "LIM-2", std::nullopt,
       [](Given& given) { given.limit = 0; }},
  };
  for (unsigned bit = 0; bit < 64; ++bit)
    faults.push_back({"required bit", ErrorCode::required_feature, "HDR-7", 16, setting(16, u64{1} << bit)});
  return faults;
}

TEST(Header, Hdr5ToLim2EachFaultGivesItsCode) {
  for (const auto& fault : faults_behind_the_hash()) {
    Given given;
    fault.make(given);
    given.repair_hash();
    const auto error = error_of(given.parse());
    EXPECT_EQ(error.code, fault.code) << fault.what;
    EXPECT_EQ(error.rule, fault.rule) << fault.what;
    EXPECT_EQ(error.offset, fault.offset) << fault.what;
  }
}

int rule_number(std::string_view rule) {
  return rule == "LIM-2" ? 99 : std::stoi(std::string(rule.substr(rule.find('-') + 1)));
}

TEST(Header, TheEarlierOfTwoFaultsWins) {
  const auto faults = faults_behind_the_hash();
  for (const auto& a : faults)
    for (const auto& b : faults) {
      if (rule_number(a.rule) >= rule_number(b.rule)) continue;
      Given given;
      b.make(given);
      a.make(given);  // where both set one number, the earlier rule's fault is there
      given.repair_hash();
      const auto error = error_of(given.parse());
      EXPECT_EQ(error.rule, a.rule) << a.what << ", " << b.what;
    }
}

TEST(Header, NoFaultIsSeenBehindAWrongHash) {
  for (const auto& fault : faults_behind_the_hash()) {
    Given given;
    fault.make(given);
    given.repair_hash();
    given.bytes[79] ^= std::byte{1};
    EXPECT_EQ(error_of(given.parse()).code, ErrorCode::header_hash) << fault.what;
    given.bytes[0] = std::byte{0};
    EXPECT_EQ(error_of(given.parse()).code, ErrorCode::not_ptd) << fault.what;
  }
}

TEST(Header, Hdr8Corners) {
  Header header = good_header();
  header.layout_offset = 80;
  EXPECT_TRUE(parse_header(encode_header(header), 160, 64));
  header.layout_offset = two63 - 88;  // the file ends at 2^63 - 8
  EXPECT_TRUE(parse_header(encode_header(header), two63 - 8, 64));
  header.model_size = 71;  // at 2^63 - 1, which only the size of the model rules out
  EXPECT_EQ(error_of(parse_header(encode_header(header), two63 - 1, 64)).rule, "HDR-9");
  header.model_size = 72;
  EXPECT_EQ(error_of(parse_header(encode_header(header), two63, 64)).rule, "HDR-8");
}

TEST(Header, Hdr9CornersThatAreAccepted) {
  for (const std::uint64_t size : {std::uint64_t{8}, limits::max_message_bytes}) {
    Header header = good_header();
    header.layout_size = header.model_size = size;
    const auto parsed = parse_header(encode_header(header), header.file_size(), size);
    ASSERT_TRUE(parsed) << parsed.error().to_string();
    EXPECT_EQ(parsed->file_size(), 1000 + 2 * size);
  }
}

TEST(Header, Hdr10AndHdr11SayHowManyBytes) {
  Given given;
  given.file_size = 1077;
  EXPECT_NE(error_of(given.parse()).message.find("3 of 1080 bytes are missing"), std::string::npos);
  given.file_size = 1085;
  EXPECT_TRUE(error_of(given.parse()).message.starts_with("5 bytes follow"));
}

TEST(Header, Hdr5NamesTheVersion) {
  Given given;
  given.set<std::uint16_t>(8, 3);
  given.set<std::uint16_t>(10, 7);
  given.repair_hash();
  EXPECT_NE(error_of(given.parse()).message.find("version 3.7"), std::string::npos);
}

TEST(Header, Hdr7NamesTheLowestUnknownBit) {
  Given given;
  given.set(16, std::uint64_t{5} << 32);
  given.repair_hash();
  EXPECT_NE(error_of(given.parse()).message.find("feature bit 32,"), std::string::npos);
}

TEST(Header, Lim2IsAboutEachMessage) {
  Given given;
  given.limit = 64;  // layout 16 and model 64: together more
  EXPECT_TRUE(given.parse());
}

}  // namespace
}  // namespace ptd::wire
