// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// FlatTensor files: bytes to entries, entries to bytes, and what must be refused.
#include "foreign/flat_tensor.hpp"

#include <random>

#include "foreign/scalar_type.hpp"
#include "tests/executorch_samples.hpp"

namespace ptd::foreign {
namespace {

using enum ErrorCode;
using namespace std::string_literals;

Result<FlatTensorFile> read(std::string_view file) { return parse_flat_tensor(bytes_of(file), file.size()); }

std::string sample() {
  return flat_tensor({{"a", std::string(24, 'a'), ordinary(6, {2, 3})},
                      {"b", std::string(6, 'b'), FlatTensorLayoutInfo{0, {1, 2, 3}, {0, 2, 1}}},
                      {"tied", "", ordinary(6, {3, 2}), "a"},
                      {"blob", "opaque", std::nullopt},
                      {"empty", "", ordinary(5, {0, 7})}});
}

template <class Integer>
std::string with(std::string file, std::size_t offset, Integer value) {
  return file.replace(offset, sizeof value, le(value));
}

TEST(FlatTensor, GivesBackWhatWasPlanned) {
  const auto text = sample();
  const auto file = must(read(text));
  ASSERT_EQ(file.entries.size(), 5U);
  ASSERT_EQ(file.segments.size(), 4U);
  EXPECT_EQ(file.entries[0].key, "a");
  EXPECT_EQ(file.entries[0].layout->sizes, (std::vector<std::uint64_t>{2, 3}));
  EXPECT_EQ(file.entries[1].layout->dim_order, (std::vector<std::uint8_t>{0, 2, 1}));
  EXPECT_EQ(file.entries[2].segment, file.entries[0].segment);
  EXPECT_FALSE(file.entries[3].layout);
  EXPECT_EQ(file.segments[file.entries[4].segment].size, 0U);
  const auto& range = file.segments[file.entries[3].segment];
  EXPECT_EQ(text.substr(range.offset, range.size), "opaque");
  for (const auto& segment : file.segments) EXPECT_EQ(segment.offset % 128, 0U);
}

TEST(FlatTensor, BytesAfterTheLastSegmentAreAccepted) { EXPECT_TRUE(read(sample() + "anything")); }

TEST(FlatTensor, NoEntriesAtAll) {
  const auto file = must(read(flat_tensor({})));
  EXPECT_TRUE(file.entries.empty());
  EXPECT_TRUE(file.segments.empty());
}

TEST(FlatTensor, EveryCutIsRefused) {
  const auto whole = sample();
  const auto end = must(read(whole)).segments[must(read(whole)).entries[3].segment];
  for (std::size_t size = 0; size < end.offset + end.size; ++size) {
    const auto cut = whole.substr(0, size);
    const auto refused = flat_tensor_message_bytes(bytes_of(cut), cut.size());
    ASSERT_FALSE(refused) << size;
    ASSERT_EQ(refused.error().code, foreign_input) << size;
  }
}

// Whatever byte is wrong: an error or some file, never a crash, and never more than the file has.
TEST(FlatTensor, AnyWrongByteIsSafe) {
  const auto whole = sample();
  for (std::size_t at = 0; at < whole.size(); ++at)
    for (const char flip : {'\x01', '\x80', '\xFF'}) {
      auto damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ flip);
      const auto file = read(damaged);
      if (!file) continue;
      for (const auto& segment : file->segments) ASSERT_LE(segment.offset + segment.size, damaged.size());
      for (const auto& entry : file->entries) ASSERT_LT(entry.segment, file->segments.size());
    }
}

TEST(FlatTensor, RandomMessagesAreSafe) {
  std::mt19937 random(1);
  auto whole = sample();
  for (int i = 0; i < 20'000; ++i) {
    auto damaged = whole;
    for (int flips = 0; flips < 4; ++flips) damaged[48 + random() % 400] = static_cast<char>(random());
    const auto file = read(damaged);
    for (const auto& segment : file ? file->segments : std::vector<FileRange>())
      ASSERT_LE(segment.offset + segment.size, damaged.size());
  }
}

TEST(FlatTensor, TheHeaderIsChecked) {
  const auto good = sample();
  EXPECT_TRUE(refuses(read(with(good, 0, std::uint32_t{0xFFFFFFF0})), foreign_input, "", "point outside"));
  EXPECT_TRUE(refuses(read(with(good, 12, std::uint32_t{39})), foreign_input, "", "no FH01 header"));
  EXPECT_TRUE(refuses(read("\x30\0\0\0FT01FH00"s + good.substr(12)), foreign_input, "", "no FH01 header"));
  EXPECT_TRUE(refuses(read(with(good, 24, ~std::uint64_t{0})), foreign_input, "", "behind the file's end"));
  EXPECT_TRUE(refuses(read(with(good, 32, std::uint64_t{good.size() + 1})), foreign_input, "", "cut short"));
  EXPECT_TRUE(refuses(read(with(good, 40, ~std::uint64_t{0})), foreign_input, "", "cut short"));
  EXPECT_TRUE(refuses(read(good.substr(0, 7) + "2" + good.substr(8)), unsupported_input, "", "\"FT02\""));
}

// Before room is made for it: a sparse file can have any size.
TEST(FlatTensor, AMessageOfTwoGibibytesIsRefusedByItsHeader) {
  const std::uint64_t large = std::uint64_t{1} << 31;
  const auto header = with(sample(), 24, large);
  EXPECT_TRUE(
      refuses(flat_tensor_message_bytes(bytes_of(header), 2 * large), foreign_input, "", "less than 2 GiB"));
}

/// A file made field by field, for what plan_flat_tensor would never write.
std::string by_hand(std::uint32_t version, std::vector<std::pair<std::uint64_t, std::uint64_t>> segments,
                    const FlatTensorEntry& entry, std::vector<std::int32_t> sizes, int copies = 1) {
  flatbuffers::FlatBufferBuilder builder;
  std::vector<flatbuffers::Offset<fb::FlatTensorSegment>> places;
  for (const auto& [offset, size] : segments)
    places.push_back(fb::CreateFlatTensorSegment(builder, offset, size));
  std::vector<flatbuffers::Offset<fb::FlatTensorName>> names;
  for (int i = 0; i < copies; ++i) {
    const auto layout = fb::CreateFlatTensorLayoutDirect(builder, 6, &sizes, &entry.layout->dim_order);
    names.push_back(fb::CreateFlatTensorNameDirect(builder, entry.key.c_str(), entry.segment, layout));
  }
  fb::FinishFlatTensorRootBuffer(builder, fb::CreateFlatTensorRootDirect(builder, version, &places, &names));
  std::string message(reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize());
  const std::uint64_t base = (message.size() + 48 + 127) / 128 * 128;
  std::uint32_t root = 0;
  std::memcpy(&root, message.data(), sizeof root);
  std::string file = le(root + 48) + "FT01FH01" + le(std::uint32_t{40}) + le(std::uint64_t{48}) +
                     le(std::uint64_t{message.size()}) + le(base) + le(std::uint64_t{256}) +
                     std::string(8, '\0') + message.substr(8);
  file.resize(base + 256);
  return file;
}

FlatTensorEntry named(std::vector<std::uint8_t> dim_order, std::uint32_t segment = 0, std::string key = "w") {
  return {std::move(key), segment, FlatTensorLayoutInfo{6, {}, std::move(dim_order)}};
}

TEST(FlatTensor, LaterVersionsAreRefusedByNumber) {
  EXPECT_TRUE(read(by_hand(0, {{0, 16}}, named({0}), {4})));
  for (const std::uint32_t version : {1U, 0xFFFFU})
    EXPECT_TRUE(refuses(read(by_hand(version, {{0, 16}}, named({0}), {4})), unsupported_input, "",
                        "version " + std::to_string(version)));
}

TEST(FlatTensor, SegmentsMustLieInTheFile) {
  for (const auto& [offset, size] : std::vector<std::pair<std::uint64_t, std::uint64_t>>{
           {0, 257}, {256, 1}, {~std::uint64_t{7}, 16}, {std::uint64_t{1} << 50, 16}, {0, ~std::uint64_t{0}}})
    EXPECT_TRUE(refuses(read(by_hand(0, {{offset, size}}, named({0}), {4})), foreign_input, "", "segment 0"));
  EXPECT_TRUE(read(by_hand(0, {{256, 0}}, named({0}), {4})));
}

TEST(FlatTensor, SegmentsInAnyOrderButNotOverlapping) {
  EXPECT_TRUE(read(by_hand(0, {{128, 128}, {0, 128}}, named({0}), {4})));
  EXPECT_TRUE(
      refuses(read(by_hand(0, {{100, 128}, {0, 128}}, named({0}), {4})), foreign_input, "", "overlap"));
  EXPECT_TRUE(read(by_hand(0, {{100, 0}, {0, 128}}, named({0}), {4})));
}

TEST(FlatTensor, EntriesAreChecked) {
  const std::vector<std::pair<std::uint64_t, std::uint64_t>> one{{0, 16}};
  EXPECT_TRUE(refuses(read(by_hand(0, one, named({0}, 1), {4})), foreign_input, "w", "segment 1 of 1"));
  EXPECT_TRUE(refuses(read(by_hand(0, one, named({0}), {-1})), foreign_input, "w", "negative"));
  EXPECT_TRUE(refuses(read(by_hand(0, one, named({0, 1}), {4})), foreign_input, "w", "2 entries for 1"));
  EXPECT_TRUE(refuses(read(by_hand(0, one, named({0, 0}), {2, 2})), foreign_input, "w", "permutation"));
  EXPECT_TRUE(refuses(read(by_hand(0, one, named({0, 2}), {2, 2})), foreign_input, "w", "permutation"));
  EXPECT_TRUE(refuses(read(by_hand(0, one, named({0}), {4}, 2)), foreign_input, "w", "twice"));
  EXPECT_TRUE(refuses(read(by_hand(0, one, named({0}, 0, ""), {4})), foreign_input, "", "0 bytes"));
  EXPECT_TRUE(
      refuses(read(by_hand(0, one, named({0}, 0, std::string(1025, 'k')), {4})), foreign_input, "", "1025"));
  EXPECT_TRUE(read(by_hand(0, one, named({0}, 0, std::string(1024, 'k')), {4})));
  const std::vector<std::int32_t> deep(65, 1);
  EXPECT_TRUE(refuses(read(by_hand(0, one, named({0}), deep)), foreign_input, "w", "65 dimensions"));
}

TEST(FlatTensor, StridesFollowTheDimOrder) {
  EXPECT_EQ(strides_in_order({2, 3, 4, 5}, {0, 2, 3, 1}), (std::vector<std::uint64_t>{60, 1, 15, 3}));
  EXPECT_EQ(strides_in_order({}, {}), std::vector<std::uint64_t>{});
  EXPECT_EQ(strides_in_order({3, 0, 2}, {0, 1, 2}), (std::vector<std::uint64_t>{2, 2, 1}));
  const std::uint64_t big = std::uint64_t{1} << 31;
  EXPECT_EQ(strides_in_order({big, big, big, big}, {0, 1, 2, 3}), std::nullopt);
}

TEST(FlatTensor, DimOrderFollowsTheStrides) {
  const std::vector<std::uint64_t> channels_last{60, 1, 15, 3};
  EXPECT_EQ(order_of_strides(channels_last), (std::vector<std::uint8_t>{0, 2, 3, 1}));
  const std::vector<std::uint64_t> equal{1, 1, 1};
  EXPECT_EQ(order_of_strides(equal), (std::vector<std::uint8_t>{0, 1, 2}));
}

TEST(ScalarTypes, EveryNumberThereAndBack) {
  for (int number = 0; number < 30; ++number) {
    const auto* const type = find_scalar_type(number);
    ASSERT_NE(type, nullptr) << number;
    if (type->dtype) {
      EXPECT_EQ(scalar_type_of(*type->dtype), type);
      EXPECT_EQ(scalar_type_of_scheme(scheme_of(*type)), nullptr);
    } else {
      EXPECT_EQ(scalar_type_of_scheme(scheme_of(*type)), type);
    }
  }
  EXPECT_EQ(find_scalar_type(30), nullptr);
  EXPECT_EQ(find_scalar_type(-1), nullptr);
  EXPECT_EQ(scalar_type_of(DType::uint4), nullptr);
  EXPECT_EQ(scalar_type_of_scheme("ggml.q4_k"), nullptr);
}

}  // namespace
}  // namespace ptd::foreign
