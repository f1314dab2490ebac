// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "wire/utf8.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace ptd::wire {
namespace {

using namespace std::literals;

// The definition, from code point to bytes; the code under test goes the other way.
std::string utf8_of(char32_t code) {
  const auto byte = [](char32_t value) { return static_cast<char>(value); };
  const auto tail = [&](unsigned shift) { return byte(0x80 | (code >> shift & 0x3F)); };
  if (code < 0x80) return {byte(code)};
  if (code < 0x800) return {byte(0xC0 | code >> 6), tail(0)};
  if (code < 0x10000) return {byte(0xE0 | code >> 12), tail(6), tail(0)};
  return {byte(0xF0 | code >> 18), tail(12), tail(6), tail(0)};
}

bool is_surrogate(char32_t code) { return code >= 0xD800 && code <= 0xDFFF; }

TEST(Utf8, EveryCodePointDecodesToItself) {
  for (char32_t code = 0; code <= 0x10FFFF; ++code) {
    const std::string bytes = utf8_of(code);
    const auto decoded = decode_utf8(bytes + "x");
    ASSERT_EQ(decoded.length, is_surrogate(code) ? 0 : bytes.size())
        << std::hex << static_cast<unsigned>(code);
    ASSERT_EQ(decoded.code, is_surrogate(code) ? 0 : code) << std::hex << static_cast<unsigned>(code);
    ASSERT_EQ(is_utf8(bytes), !is_surrogate(code)) << std::hex << static_cast<unsigned>(code);
  }
}

TEST(Utf8, CodePointsPastTheLastAreRefused) {
  for (char32_t code = 0x110000; code <= 0x1FFFFF; ++code)
    ASSERT_FALSE(is_utf8(utf8_of(code))) << std::hex << static_cast<unsigned>(code);
}

struct Form {
  const char* what;
  std::string bytes;
  bool valid;
};

// The corners of table 3-7 of the Unicode standard: for each row the first and last sequence, and what stands
// next to them outside.
TEST(Utf8, CornersOfTable37) {
  const Form forms[] = {
      {"nothing", "", true},
      {"NUL", "\x00"s, true},
      {"last of one byte", "\x7F", true},
      {"continuation alone", "\x80", false},
      {"last continuation alone", "\xBF", false},
      {"overlong NUL", "\xC0\x80", false},
      {"overlong DEL", "\xC1\xBF", false},
      {"first of two", "\xC2\x80", true},
      {"last of two", "\xDF\xBF", true},
      {"two, second too small", "\xC2\x7F", false},
      {"two, second too large", "\xDF\xC0", false},
      {"overlong of three", "\xE0\x9F\xBF", false},
      {"first of three", "\xE0\xA0\x80", true},
      {"E0, last", "\xE0\xBF\xBF", true},
      {"E1, first", "\xE1\x80\x80", true},
      {"E1, second too small", "\xE1\x7F\x80", false},
      {"EC, last", "\xEC\xBF\xBF", true},
      {"last before the surrogates", "\xED\x9F\xBF", true},
      {"first surrogate", "\xED\xA0\x80", false},
      {"last surrogate", "\xED\xBF\xBF", false},
      {"a pair of surrogates", "\xED\xA0\xBD\xED\xB8\x80", false},
      {"first behind the surrogates", "\xEE\x80\x80", true},
      {"last of three", "\xEF\xBF\xBF", true},
      {"byte order mark", "\xEF\xBB\xBF", true},
      {"three, third too small", "\xE1\x80\x7F", false},
      {"three, third too large", "\xE1\x80\xC0", false},
      {"overlong of four", "\xF0\x8F\xBF\xBF", false},
      {"first of four", "\xF0\x90\x80\x80", true},
      {"F0, last", "\xF0\xBF\xBF\xBF", true},
      {"F1, first", "\xF1\x80\x80\x80", true},
      {"F3, last", "\xF3\xBF\xBF\xBF", true},
      {"last of all", "\xF4\x8F\xBF\xBF", true},
      {"past the last", "\xF4\x90\x80\x80", false},
      {"four, third too large", "\xF1\x80\xC0\x80", false},
      {"four, fourth too small", "\xF1\x80\x80\x7F", false},
      {"F5", "\xF5\x80\x80\x80", false},
      {"F7", "\xF7\xBF\xBF\xBF", false},
      {"five bytes", "\xF8\x88\x80\x80\x80", false},
      {"six bytes", "\xFC\x84\x80\x80\x80\x80", false},
      {"FE", "\xFE", false},
      {"FF", "\xFF", false},
      {"two without its second", "\xDF", false},
      {"three without its third", "\xEF\xBF", false},
      {"three without its second", "\xEF", false},
      {"four without its fourth", "\xF4\x8F\xBF", false},
      {"four without its third", "\xF4\x8F", false},
      {"four without its second", "\xF4", false},
      {"truncated before ASCII", "\xF4\x8F\xBF"s + "a", false},
      {"one continuation too many", "\xC2\x80\x80", false},
  };
  for (const auto& form : forms) {
    EXPECT_EQ(is_utf8(form.bytes), form.valid) << form.what;
    EXPECT_EQ(is_utf8("before " + form.bytes), form.valid) << form.what;
    EXPECT_EQ(is_utf8(form.bytes + " and behind it"), form.valid) << form.what;
  }
}

TEST(Utf8, EveryTwoBytes) {
  for (unsigned first = 0; first < 256; ++first)
    for (unsigned second = 0; second < 256; ++second) {
      const std::string bytes{static_cast<char>(first), static_cast<char>(second)};
      const bool ascii = first < 0x80 && second < 0x80;
      const bool pair = first >= 0xC2 && first <= 0xDF && second >= 0x80 && second <= 0xBF;
      ASSERT_EQ(is_utf8(bytes), ascii || pair) << std::hex << first << " " << second;
      const std::size_t length = first < 0x80 ? 1 : pair ? 2 : 0;
      ASSERT_EQ(decode_utf8(bytes).length, length) << std::hex << first << " " << second;
    }
}

// Counted, not listed: 3 bytes make the code points from U+0800 to U+FFFF without the surrogates.
TEST(Utf8, NumberOfSequencesOfThreeBytes) {
  int valid = 0;
  std::string bytes(3, '\0');
  for (unsigned first = 0xC0; first < 256; ++first)
    for (unsigned second = 0; second < 256; ++second)
      for (unsigned third = 0; third < 256; ++third) {
        bytes = {static_cast<char>(first), static_cast<char>(second), static_cast<char>(third)};
        valid += decode_utf8(bytes).length == 3 ? 1 : 0;
      }
  EXPECT_EQ(valid, 0x10000 - 0x800 - 0x800);
}

// The second byte takes 16 values a plane of 65,536 code points; 16 planes. The others are sampled at their
// corners.
TEST(Utf8, NumberOfSequencesOfFourBytes) {
  int valid = 0;
  constexpr std::array<unsigned, 6> corners = {0x00, 0x7F, 0x80, 0xBF, 0xC0, 0xFF};
  for (unsigned first = 0xF0; first < 256; ++first)
    for (unsigned second = 0; second < 256; ++second)
      for (const unsigned third : corners)
        for (const unsigned fourth : corners) {
          const std::string bytes{static_cast<char>(first), static_cast<char>(second),
                                  static_cast<char>(third), static_cast<char>(fourth)};
          valid += decode_utf8(bytes).length == 4 ? 1 : 0;
        }
  EXPECT_EQ(valid, 16 * 16 * 2 * 2);
}

// Runs of ASCII are skipped 8 bytes at a time: no place in or around such a run may hide a fault.
TEST(Utf8, BadByteAtEachPlaceOfAnAsciiRun) {
  for (std::size_t length = 1; length <= 40; ++length) {
    const std::string run(length, 'a');
    ASSERT_TRUE(is_utf8(run));
    for (std::size_t at = 0; at < length; ++at)
      for (const char bad : {'\x80', '\xBF', '\xC2', '\xFF'}) {
        std::string damaged = run;
        damaged[at] = bad;
        ASSERT_FALSE(is_utf8(damaged)) << length << " " << at;
      }
  }
}

TEST(Utf8, LongCharacterAtEachPlaceOfAnAsciiRun) {
  for (const std::string character : {"\xC3\xBC", "\xE2\x82\xAC", "\xF0\x9F\x98\x80"})
    for (std::size_t before = 0; before <= 20; ++before)
      for (std::size_t behind = 0; behind <= 20; ++behind) {
        const std::string text = std::string(before, 'a') + character + std::string(behind, 'z');
        ASSERT_TRUE(is_utf8(text)) << before << " " << behind;
        ASSERT_FALSE(is_utf8(std::string_view(text).substr(0, before + character.size() - 1))) << before;
      }
}

// The view ends inside a character that goes on behind it.
TEST(Utf8, NothingBehindTheEndIsRead) {
  const std::string text = "\xF0\x9F\x98\x80";
  for (std::size_t length = 1; length < 4; ++length) {
    EXPECT_EQ(decode_utf8(std::string_view(text).substr(0, length)).length, 0);
    EXPECT_FALSE(is_utf8(std::string_view(text).substr(0, length)));
  }
}

}  // namespace
}  // namespace ptd::wire
