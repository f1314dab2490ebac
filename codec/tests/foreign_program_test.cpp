// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// ExecuTorch programs: what is taken from them, and what must be refused.
#include "foreign/executorch_program.hpp"

#include <random>

#include "tests/executorch_samples.hpp"

namespace ptd::foreign {
namespace {

using enum ErrorCode;

Result<ProgramInfo> read(std::string_view file) { return parse_program(bytes_of(file), file.size()); }

std::string sample() {
  return program(
      {{"prefill", {{"CudaBackend", "first payload"}}, {{"w"}, {"cache", true}, {"inner", false, false}}},
       {"decode", {{"CudaBackend", "second payload"}, {"XnnpackBackend", "third"}}, {{"w"}, {"w", true}}},
       {"get_list", {}, {}, "text"}},
      {{"key", "named bytes"}});
}

TEST(Program, SaysWhatMethodsUse) {
  const auto file = sample();
  const auto info = must(read(file));
  ASSERT_EQ(info.methods.size(), 2U);
  const auto& prefill = info.methods[0];
  const auto& decode = info.methods[1];
  EXPECT_EQ(prefill.name, "prefill");
  ASSERT_EQ(prefill.external.size(), 2U);
  EXPECT_EQ(prefill.external[0].name, "cache");
  EXPECT_TRUE(prefill.external[0].is_mutable);
  EXPECT_FALSE(prefill.external[1].is_mutable);
  EXPECT_EQ(prefill.inner_constants, 1U);
  ASSERT_EQ(decode.external.size(), 1U);
  EXPECT_TRUE(decode.external[0].is_mutable);
  const auto text = [&](FileRange range) { return file.substr(range.offset, range.size); };
  EXPECT_EQ(text(prefill.delegates.at(0).payload), "first payload");
  EXPECT_EQ(text(decode.delegates.at(0).payload), "second payload");
  EXPECT_EQ(decode.delegates.at(1).backend, "XnnpackBackend");
  EXPECT_EQ(text(decode.delegates.at(1).payload), "third");
  ASSERT_EQ(info.named_data.size(), 1U);
  EXPECT_EQ(text(info.named_data[0].second), "named bytes");
  EXPECT_EQ(std::get<std::string>(info.constants.at("get_list").at(0)), "text");
}

TEST(Program, CutsAreRefused) {
  const auto whole = sample();
  for (std::size_t size = 0; size + 16 < whole.size(); ++size) {
    const auto cut = whole.substr(0, size);
    ASSERT_FALSE(read(cut)) << size;
  }
}

TEST(Program, AnyWrongByteIsSafe) {
  const auto whole = sample();
  for (std::size_t at = 0; at < whole.size(); ++at)
    for (const char flip : {'\x01', '\x80', '\xFF'}) {
      auto damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ flip);
      const auto info = read(damaged);
      if (!info) continue;
      for (const auto& method : info->methods)
        for (const auto& delegate : method.delegates)
          ASSERT_LE(delegate.payload.offset + delegate.payload.size, damaged.size());
    }
}

TEST(Program, RandomDamageIsSafe) {
  std::mt19937 random(2);
  const auto whole = sample();
  for (int i = 0; i < 20'000; ++i) {
    auto damaged = whole;
    for (int flips = 0; flips < 4; ++flips)
      damaged[40 + random() % (whole.size() - 40)] = static_cast<char>(random());
    const auto info = read(damaged);
    for (const auto& [key, range] : info ? info->named_data : ProgramInfo().named_data)
      ASSERT_LE(range.offset + range.size, damaged.size());
  }
}

TEST(Program, LaterIdentifiersAreRefusedByName) {
  EXPECT_TRUE(refuses(read(program({}, {}, "ET13")), unsupported_input, "", "\"ET13\""));
}

TEST(Program, TheHeaderIsChecked) {
  auto file = sample();
  file.replace(16, 8, le(std::uint64_t{file.size() + 1}));
  EXPECT_TRUE(refuses(read(file), foreign_input, "", "behind the file's end"));
  file = sample();
  file.replace(24, 8, le(~std::uint64_t{0}));
  EXPECT_TRUE(refuses(read(file), foreign_input, "", "behind the file's end"));
  file = sample();
  file.replace(32, 8, le(~std::uint64_t{0}));
  EXPECT_TRUE(refuses(read(file), foreign_input, "", "cut short"));
}

// Before room is made for it. Without a header, the file is the message.
TEST(Program, AMessageOfTwoGibibytesIsRefusedByItsSize) {
  const std::uint64_t large = std::uint64_t{1} << 31;
  auto file = sample();
  file.replace(16, 8, le(large));
  EXPECT_TRUE(
      refuses(program_message_bytes(bytes_of(file), 2 * large), foreign_input, "", "less than 2 GiB"));
  file[8] = 'x';
  EXPECT_TRUE(refuses(program_message_bytes(bytes_of(file), large), foreign_input, "", "less than 2 GiB"));
}

TEST(Program, TwoMethodsOfOneNameAreRefused) {
  EXPECT_TRUE(refuses(read(program({{"m"}, {"m"}})), foreign_input, "m", "two methods"));
}

}  // namespace
}  // namespace ptd::foreign
