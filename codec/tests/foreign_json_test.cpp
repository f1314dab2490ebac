// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Keys of open JSON objects, JSON text, and exceptions at the border.
#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>

#include "foreign/guard.hpp"
#include "foreign/json_text.hpp"
#include "foreign/key_stack.hpp"

namespace ptd::foreign {
namespace {

using namespace std::string_view_literals;

TEST(KeyStack, FindsTheFirstRepeatedKey) {
  KeyStack keys;
  keys.open();
  for (const auto* const key : {"a", "b", "c", "b", "a"}) keys.add(key);
  EXPECT_EQ(keys.close(), "b");
}

TEST(KeyStack, FindsTheFirstRepeatedKeyAmongMany) {
  KeyStack keys;
  keys.open();
  for (int i = 0; i < 10'000; ++i) keys.add(std::to_string(i));
  keys.add("9000");
  keys.add("3");
  EXPECT_EQ(keys.close(), "9000");
}

TEST(KeyStack, LevelsAreApart) {
  KeyStack keys;
  keys.open();
  keys.add("a");
  keys.open();
  EXPECT_EQ(keys.depth(), 2U);
  keys.add("a");
  EXPECT_EQ(keys.close(), std::nullopt);
  keys.open();
  keys.add("a");
  EXPECT_EQ(keys.close(), std::nullopt);
  keys.add("b");
  EXPECT_EQ(keys.close(), std::nullopt);
  EXPECT_EQ(keys.depth(), 0U);
}

TEST(KeyStack, EmptyKeysAndPrefixesDiffer) {
  KeyStack keys;
  keys.open();
  for (const auto* const key : {"", "a", "aa", "aaa"}) keys.add(key);
  keys.add("a\0"sv);
  EXPECT_EQ(keys.close(), std::nullopt);
}

TEST(JsonText, StringsAreEscapedShortly) {
  std::string out;
  append_json_string(out, "\"\\/\b\f\n\r\t\0\x1f\x7f\xc3\xa9"sv);
  EXPECT_EQ(out, R"("\"\\/\b\f\n\r\t\u0000\u001f)"
                 "\x7f\xc3\xa9\"");
}

TEST(JsonText, CommasStandBetweenElements) {
  JsonText text;
  text.value({JsonKind::array, "["});
  text.value({JsonKind::string, ":"});
  text.value({JsonKind::string, "["});
  text.value({JsonKind::object, "{"});
  text.key("{");
  text.value({JsonKind::null, "null"});
  text.key("k");
  text.value({JsonKind::array, "["});
  text.value({JsonKind::end_array, "]"});
  text.value({JsonKind::end_object, "}"});
  text.value({JsonKind::whole, {}, 1});
  text.value({JsonKind::end_array, "]"});
  EXPECT_EQ(text.take(), R"([":","[",{"{":null,"k":[]},1])");
  EXPECT_EQ(text.take(), "");
}

TEST(Guarded, ExceptionsBecomeErrors) {
  const auto thrower = [](auto error) { return guarded([&]() -> Result<int> { throw std::move(error); }); };
  EXPECT_EQ(thrower(std::bad_alloc()).error().code, ErrorCode::no_memory);
  EXPECT_EQ(thrower(std::runtime_error("x")).error().code, ErrorCode::internal);
  EXPECT_EQ(guarded([] { return Result<int>(7); }).value(), 7);
}

TEST(Quote, EscapesAndCuts) {
  EXPECT_EQ(quote("a\x1b[2J"), "\"a\\x1b[2J\"");
  const std::string name(300, 'a');
  EXPECT_EQ(quote(name), "\"" + std::string(256, 'a') + "...\" (300 bytes)");
  std::string accents(255, 'a');
  for (int i = 0; i < 20; ++i) accents += "\xc3\xa9";
  EXPECT_EQ(quote(accents), "\"" + std::string(255, 'a') + "...\" (295 bytes)");
}

}  // namespace
}  // namespace ptd::foreign
