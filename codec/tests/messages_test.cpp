// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "wire/messages.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <ptd/limits.hpp>

#include "tests/model_samples.hpp"

namespace ptd::wire {
namespace {

using samples::describe;
using Message = std::vector<std::uint64_t>;

Message encoded(const Model& model) {
  auto words = encode_model(model);
  EXPECT_TRUE(words) << words.error().to_string();
  return words.value_or(Message{});
}

void expect_round_trip(const Model& model) {
  const Message words = encoded(model);
  const auto checked = check_message(words, model_shape, Unknown::refused, 0);
  ASSERT_TRUE(checked) << checked.error().to_string();
  const auto again = decode_model(words);
  ASSERT_TRUE(again) << again.error().to_string();
  ASSERT_EQ(describe(*again), describe(model));
}

// --- Bytes that never change ------------------------------------------------------------------

TEST(Messages, EmptyModelHasTheseBytes) {
  EXPECT_EQ(encoded(Model{}), (Message{0x0000000100000000, 0x0000000000000001}));
}

TEST(Messages, EmptyLayoutHasTheseBytes) {
  EXPECT_EQ(encode_layout(Layout{}).value(), (Message{0x0000000100000000, 0x0000000000000001}));
}

// SPEC.md, appendix B.
TEST(Messages, WorkedModelHasTheseBytes) {
  samples::Sample sample;
  auto& model = sample.model;
  Content content{16, {}};
  constexpr std::uint64_t digest[] = {0x9F379FAF759C75A1, 0x251EDB2C58C3687C, 0xF5B6BFD0E7D1AAFE,
                                      0x8AEA0D739E971F6F};
  std::memcpy(content.digest.data(), digest, sizeof digest);
  model.contents = {content};
  model.storages = {{16, 0, Access::immutable, Origin::stored, Placement::any}};
  model.methods = {{"run", sample.indices({0}), {}, {}, {}}};
  model.tensors = {samples::tensor_of(sample, {}, "w", DType::float32, 0, {2, 2})};
  const Message golden = {
      0x0005000100000000, 0x0000000000000001, 0x0000002F00000011, 0x0000001700000025, 0x0000000000000000,
      0x0000001700000029, 0x0000002700000039, 0x0000000500000004, 0x0000000000000010, 0x9F379FAF759C75A1,
      0x251EDB2C58C3687C, 0xF5B6BFD0E7D1AAFE, 0x8AEA0D739E971F6F, 0x0000000200000004, 0x0000000000000010,
      0x0001010100000001, 0x0002000000000004, 0x0000002200000005, 0x0000000C00000005, 0x00000000006E7572,
      0x0000000000000000, 0x0003000100000004, 0x0001000C00000000, 0x0000001200000009, 0x0000001500000009,
      0x000000150000000D, 0x0000000000000077, 0x0000000000000002, 0x0000000000000002, 0x0000000000000002,
      0x0000000000000001,
  };
  EXPECT_EQ(encoded(model), golden);
  EXPECT_EQ(describe(decode_model(golden).value()), describe(model));
}

// --- There and back ---------------------------------------------------------------------------

TEST(Messages, RichModel) { expect_round_trip(samples::rich_model().model); }

TEST(Messages, RandomModels) {
  for (std::uint64_t seed = 0; seed < 1000 && !HasFatalFailure(); ++seed) {
    SCOPED_TRACE(seed);
    expect_round_trip(samples::random_model(seed).model);
  }
}

TEST(Messages, RandomLayouts) {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    const auto sample = samples::random_model(seed);
    auto layout = samples::random_layout(sample.model, seed);
    layout.minor = static_cast<std::uint16_t>(seed);
    const auto words = encode_layout(layout).value();
    ASSERT_TRUE(check_message(words, layout_shape, Unknown::refused, 0));
    ASSERT_EQ(describe(decode_layout(words).value()), describe(layout)) << seed;
  }
}

// A wrong place for one field would show as a wrong value of another.
TEST(Messages, EveryFieldAtItsGreatestAlone) {
  constexpr auto u16 = std::uint16_t{0xFFFF};
  constexpr auto u32 = std::uint32_t{0xFFFFFFFF};
  constexpr auto u64 = ~std::uint64_t{0};
  const std::function<void(Model&)> changes[] = {
      [](Model& m) { m.major = u16; },
      [](Model& m) { m.minor = u16; },
      [](Model& m) { m.required_features = u64; },
      [](Model& m) { m.contents[0].size = u64; },
      [](Model& m) { m.contents[0].digest.fill(std::byte{0xFF}); },
      [](Model& m) { m.storages[0].size = u64; },
      [](Model& m) { m.storages[0].content = u32 - 1; },
      [](Model& m) { m.storages[0].content = no_index; },
      [](Model& m) { m.storages[0].access = static_cast<Access>(255); },
      [](Model& m) { m.storages[0].origin = static_cast<Origin>(255); },
      [](Model& m) { m.storages[0].placement = static_cast<Placement>(255); },
      [](Model& m) { m.libraries[0].variants[0].blob = u32 - 1; },
      [](Model& m) { m.libraries[0].variants[0].kind = static_cast<VariantKind>(255); },
      [](Model& m) { m.libraries[0].variants[0].sm = u32; },
      [](Model& m) { m.libraries[0].variants[0].ptx = u32; },
      [](Model& m) { m.tensors[0].storage = u32; },
      [](Model& m) { m.tensors[0].dtype = static_cast<DType>(u16); },
      [](Model& m) { m.tensors[0].owner.kind = static_cast<OwnerKind>(255); },
      [](Model& m) { m.tensors[0].owner.index = u32; },
      [](Model& m) { m.tensors[0].storage_offset = u64; },
      [](Model& m) { m.blobs[0].size = u64; },
      [](Model& m) { m.blobs[0].content = u32 - 1; },
      [](Model& m) { m.blobs[0].content = no_index; },
      [](Model& m) { m.metadata[0].kind = static_cast<ValueKind>(255); },
  };
  for (std::size_t i = 0; i < std::size(changes); ++i) {
    SCOPED_TRACE(i);
    auto sample = samples::rich_model();
    changes[i](sample.model);
    expect_round_trip(sample.model);
  }
}

TEST(Messages, EveryFieldOfASegmentAtItsGreatestAlone) {
  const std::function<void(Layout&)> changes[] = {
      [](Layout& l) { l.major = 0xFFFF; },
      [](Layout& l) { l.minor = 0xFFFF; },
      [](Layout& l) { l.segments[0].content = 0xFFFFFFFF; },
      [](Layout& l) { l.segments[0].encoding = static_cast<Encoding>(255); },
      [](Layout& l) { l.segments[0].alignment_log2 = 255; },
      [](Layout& l) { l.segments[0].chunk_log2 = 255; },
      [](Layout& l) { l.segments[0].stored_size = ~std::uint64_t{0}; },
      [](Layout& l) { l.segments[0].table_hash = ~std::uint64_t{0}; },
  };
  for (const auto& change : changes) {
    auto layout = samples::rich_layout();
    change(layout);
    EXPECT_EQ(describe(decode_layout(encode_layout(layout).value()).value()), describe(layout));
  }
}

TEST(Messages, ComputedFieldsAreNotWritten) {
  auto layout = samples::rich_layout();
  const auto words = encode_layout(layout).value();
  for (auto& segment : layout.segments) segment.offset = segment.table_offset = segment.chunks = 77;
  EXPECT_EQ(encode_layout(layout).value(), words);
}

TEST(Messages, GreatestValueAndName) {
  const std::string value(limits::max_value_bytes, 'v');
  const std::string name(limits::max_name_bytes, 'n');
  Model model;
  model.metadata = {{name, value, ValueKind::bytes}};
  expect_round_trip(model);
}

TEST(Messages, ManySmallObjects) {
  samples::Sample sample;
  for (int i = 0; i < 20'000; ++i)
    sample.model.tensors.push_back(
        samples::tensor_of(sample, {}, std::to_string(100'000 + i), DType::uint8, 0, {1, 2, 3}));
  expect_round_trip(sample.model);
}

TEST(Messages, ViewsLookIntoTheWords) {
  const auto words = encoded(samples::rich_model().model);
  const auto model = decode_model(words).value();
  const auto inside = [&](const void* at) {
    return at >= static_cast<const void*>(words.data()) &&
           at < static_cast<const void*>(words.data() + words.size());
  };
  EXPECT_TRUE(inside(model.tensors[samples::rich::weight].name.data()));
  EXPECT_TRUE(inside(model.tensors[samples::rich::weight].sizes.data()));
  EXPECT_TRUE(inside(model.methods[0].tensors.data()));
  EXPECT_TRUE(inside(model.metadata[0].value.data()));
}

// --- What has no encoding ---------------------------------------------------------------------

TEST(Messages, Enc11NamesWithNulCannotBeWritten) {
  Model model;
  model.methods = {{std::string_view("a\0b", 3), {}, {}, {}, {}}};
  const auto words = encode_model(model);
  ASSERT_FALSE(words);
  EXPECT_EQ(words.error().code, ErrorCode::internal);
  EXPECT_EQ(words.error().rule, "ENC-11");
}

TEST(Messages, Enc7ListOfNothingButZerosCannotBeWritten) {
  Model model;
  model.libraries.resize(3);
  const auto words = encode_model(model);
  ASSERT_FALSE(words);
  EXPECT_EQ(words.error().code, ErrorCode::internal);
}

TEST(Messages, Enc2AllZeroRootCannotBeWritten) {
  Model model;
  model.major = 0;
  EXPECT_FALSE(encode_model(model));
}

}  // namespace
}  // namespace ptd::wire
