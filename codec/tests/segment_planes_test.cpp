// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "segment/planes.hpp"

#include <gtest/gtest.h>

#include "tests/segment_samples.hpp"

namespace ptd::segment {
namespace {

using Buffer = std::vector<std::byte>;

Buffer of(std::initializer_list<unsigned> values) {
  Buffer bytes;
  for (const unsigned value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

Buffer split(const Buffer& raw, unsigned width, bool rotate) {
  Buffer planes(raw.size());
  split_planes(raw, planes, width, rotate);
  return planes;
}

Buffer merge(const Buffer& planes, unsigned width, bool rotate) {
  Buffer raw(planes.size());
  merge_planes(planes, raw, width, rotate);
  return raw;
}

// The definition in SPEC.md, a byte at a time.
Buffer defined_split(const Buffer& raw, unsigned width, bool rotate) {
  const std::size_t elements = raw.size() / width;
  Buffer planes(raw.size());
  for (std::size_t i = 0; i < elements; ++i) {
    std::uint64_t x = 0;
    for (unsigned k = 0; k < width; ++k) x |= std::to_integer<std::uint64_t>(raw[i * width + k]) << (8 * k);
    if (rotate) x = x << 1 | x >> (8 * width - 1);
    for (unsigned k = 0; k < width; ++k)
      planes[k * elements + i] = static_cast<std::byte>(x >> (8 * k) & 0xFF);
  }
  return planes;
}

TEST(SegmentPlanes, KnownBytesOfEachWidth) {
  EXPECT_EQ(split(of({1, 2, 3}), 1, false), of({1, 2, 3}));
  EXPECT_EQ(split(of({1, 2, 3, 4, 5, 6}), 2, false), of({1, 3, 5, 2, 4, 6}));
  EXPECT_EQ(split(of({1, 2, 3, 4, 5, 6, 7, 8}), 4, false), of({1, 5, 2, 6, 3, 7, 4, 8}));
  EXPECT_EQ(split(of({1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 14, 15, 16, 17, 18}), 8, false),
            of({1, 11, 2, 12, 3, 13, 4, 14, 5, 15, 6, 16, 7, 17, 8, 18}));
}

TEST(SegmentPlanes, RotationMovesTheSignToTheLowEnd) {
  // 0x8001 -> 0x0003, 0x7F02 -> 0xFE04
  EXPECT_EQ(split(of({0x01, 0x80, 0x02, 0x7F}), 2, true), of({0x03, 0x04, 0x00, 0xFE}));
  // 0x80000001 -> 0x00000003
  EXPECT_EQ(split(of({0x01, 0x00, 0x00, 0x80}), 4, true), of({0x03, 0x00, 0x00, 0x00}));
  // 0xC000000000000080 -> 0x8000000000000101
  EXPECT_EQ(split(of({0x80, 0, 0, 0, 0, 0, 0, 0xC0}), 8, true), of({0x01, 0x01, 0, 0, 0, 0, 0, 0x80}));
  EXPECT_EQ(merge(of({0x03, 0x04, 0x00, 0xFE}), 2, true), of({0x01, 0x80, 0x02, 0x7F}));
}

class SegmentPlanesOf : public testing::TestWithParam<std::tuple<unsigned, bool>> {};

// Vectors take 16 elements, so these counts end in every length of tail.
TEST_P(SegmentPlanesOf, EveryTailIsAsDefinedAndRoundTrips) {
  const auto [width, rotate] = GetParam();
  for (std::size_t elements = 0; elements <= 67; ++elements) {
    const Buffer raw = samples::uniform(elements * width, elements + 1);
    const Buffer planes = split(raw, width, rotate);
    ASSERT_EQ(planes, defined_split(raw, width, rotate)) << elements;
    ASSERT_EQ(merge(planes, width, rotate), raw) << elements;
  }
}

TEST_P(SegmentPlanesOf, LargeAndUnalignedBuffersRoundTrip) {
  const auto [width, rotate] = GetParam();
  constexpr std::size_t elements = 100'003;
  const Buffer shifted = samples::uniform(elements * width + 1);
  const Bytes raw = Bytes(shifted).subspan(1);
  Buffer planes(raw.size() + 3), back(raw.size() + 5);
  split_planes(raw, MutableBytes(planes).subspan(3), width, rotate);
  merge_planes(Bytes(planes).subspan(3), MutableBytes(back).subspan(5), width, rotate);
  EXPECT_TRUE(std::equal(raw.begin(), raw.end(), back.begin() + 5));
  EXPECT_TRUE(std::equal(planes.begin() + 3, planes.end(),
                         defined_split(Buffer(raw.begin(), raw.end()), width, rotate).begin()));
}

INSTANTIATE_TEST_SUITE_P(EveryWidth, SegmentPlanesOf,
                         testing::Combine(testing::Values(1U, 2U, 4U, 8U), testing::Bool()));

}  // namespace
}  // namespace ptd::segment
