// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <functional>
#include <ptd/layout.hpp>

#include "model/check.hpp"
#include "tests/model_samples.hpp"

namespace ptd::model {
namespace {

constexpr std::uint64_t pow2(unsigned exponent) { return std::uint64_t{1} << exponent; }

/// Only the sizes of contents matter to a layout.
Model model_of(const std::vector<std::uint64_t>& sizes) {
  Model model;
  for (const auto size : sizes) model.contents.push_back({size, {}});
  return model;
}

Segment segment_of(std::uint32_t content, Encoding encoding, std::uint64_t stored_size,
                   unsigned alignment_log2 = 6, unsigned chunk_log2 = 16) {
  Segment segment;
  segment.content = content;
  segment.encoding = encoding;
  segment.alignment_log2 = static_cast<std::uint8_t>(alignment_log2);
  segment.chunk_log2 = static_cast<std::uint8_t>(chunk_log2);
  segment.stored_size = stored_size;
  return segment;
}

Layout layout_of(std::vector<Segment> segments) {
  Layout layout;
  layout.segments = std::move(segments);
  return layout;
}

std::string outcome(const Result<void>& result) {
  if (result) return "";
  return std::string(error_name(result.error().code)) + " " + std::string(result.error().rule);
}

std::string place(Layout& layout, const Model& model, std::uint64_t layout_offset) {
  return outcome(place_layout(layout, model, {}, layout_offset));
}

/// What is said of one segment over a content of `raw` bytes; a layout that is fine but for its offset gives
/// "".
std::string judge(std::uint64_t raw, const Segment& segment) {
  Layout layout = layout_of({segment});
  const std::string said = place(layout, model_of({raw}), 0);
  return said == "tiling TIL-3" ? "" : said;
}

// --- Places -----------------------------------------------------------------------------------

TEST(PlaceLayout, NoSegments) {
  Layout layout;
  EXPECT_EQ(place(layout, Model{}, 80), "");
  for (const std::uint64_t wrong : {0, 72, 81, 88})
    EXPECT_EQ(place(layout, Model{}, wrong), "tiling TIL-3") << wrong;
}

// SPEC.md, "Places".
TEST(PlaceLayout, Til1AndTil2ExampleOfTheSpecification) {
  const Model model = model_of({100'000, 262'144});
  Layout layout = layout_of(
      {segment_of(0, Encoding::raw, 100'000, 8), segment_of(1, Encoding::zstd_planes2, 180'001, 12)});
  ASSERT_EQ(place(layout, model, 282'520), "");
  EXPECT_EQ(layout.segments[0].offset, 256);
  EXPECT_EQ(layout.segments[0].chunks, 2);
  EXPECT_EQ(layout.segments[0].table_offset, 282'408);
  EXPECT_EQ(layout.segments[1].offset, 102'400);
  EXPECT_EQ(layout.segments[1].chunks, 4);
  EXPECT_EQ(layout.segments[1].table_offset, 282'424);
}

// By hand: 80 -> 128 + 1 = 129 -> 192 + 64 = 256 -> 256 + 7 = 263 -> tables at 264, 272, 296; 24 bytes each
// if coded.
TEST(PlaceLayout, Til1AndTil2SmallSegmentsInAnotherOrder) {
  const Model model = model_of({64, 7, 1});
  Layout layout = layout_of(
      {segment_of(2, Encoding::raw, 1), segment_of(0, Encoding::zstd, 64), segment_of(1, Encoding::zstd, 7)});
  ASSERT_EQ(place(layout, model, 264 + 8 + 24 + 24), "");
  const std::uint64_t offsets[] = {128, 192, 256};
  const std::uint64_t tables[] = {264, 272, 296};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(layout.segments[i].offset, offsets[i]) << i;
    EXPECT_EQ(layout.segments[i].table_offset, tables[i]) << i;
    EXPECT_EQ(layout.segments[i].chunks, 1) << i;
  }
}

TEST(PlaceLayout, ChunksAreRoundedUp) {
  for (const unsigned log2 : {14U, 16U, 24U})
    for (const auto& [raw, chunks] : {std::pair{pow2(log2) - 1, 1U},
                                      {pow2(log2), 1U},
                                      {pow2(log2) + 1, 2U},
                                      {3 * pow2(log2), 3U},
                                      {std::uint64_t{1}, 1U}}) {
      Layout layout = layout_of({segment_of(0, Encoding::raw, raw, 6, log2)});
      const std::uint64_t tables = (128 + raw + 7) / 8 * 8;
      EXPECT_EQ(place(layout, model_of({raw}), tables + 8 * chunks), "") << raw;
      EXPECT_EQ(layout.segments[0].chunks, chunks) << raw;
      EXPECT_EQ(layout.segments[0].table_offset, tables) << raw;
    }
}

// Without rounding by masks, and without looking for what does not fit.
TEST(PlaceLayout, Til1AndTil2RandomLayouts) {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    const auto sample = samples::random_model(seed);
    Layout layout = samples::random_layout(sample.model, seed);
    std::vector<std::uint64_t> offsets, tables;
    std::uint64_t end = 80;
    for (const auto& segment : layout.segments) {
      const std::uint64_t alignment = pow2(segment.alignment_log2);
      if (end % alignment != 0) end += alignment - end % alignment;
      offsets.push_back(end);
      end += segment.stored_size;
    }
    if (end % 8 != 0) end += 8 - end % 8;
    for (const auto& segment : layout.segments) {
      const std::uint64_t raw = sample.model.contents[segment.content].size;
      const std::uint64_t chunk = pow2(segment.chunk_log2);
      tables.push_back(end);
      end += (raw / chunk + (raw % chunk == 0 ? 0 : 1)) * (segment.encoding == Encoding::raw ? 8 : 24);
    }
    ASSERT_EQ(place(layout, sample.model, end), "") << seed;
    for (std::size_t i = 0; i < layout.segments.size(); ++i) {
      ASSERT_EQ(layout.segments[i].offset, offsets[i]) << seed;
      ASSERT_EQ(layout.segments[i].table_offset, tables[i]) << seed;
    }
    for (const std::uint64_t step : {std::uint64_t{8}, std::uint64_t{1}}) {
      ASSERT_EQ(place(layout, sample.model, end + step), "tiling TIL-3") << seed;
      ASSERT_EQ(place(layout, sample.model, end - step), "tiling TIL-3") << seed;
    }
  }
}

TEST(PlaceLayout, Til3SaysWhereTheTablesEnd) {
  Layout layout = layout_of({segment_of(0, Encoding::raw, 8)});
  const auto result = place_layout(layout, model_of({8}), {}, 152);
  ASSERT_EQ(outcome(result), "tiling TIL-3");
  EXPECT_NE(result.error().message.find("end at byte 144,"), std::string::npos) << result.error().message;
  EXPECT_EQ(result.error().offset, 152);
}

// --- Sums near 2^63 ---------------------------------------------------------------------------

// 7 segments of 2^60 bytes from 128; the last one ends at 128 + 7 x 2^60 + its size.
TEST(PlaceLayout, Til1TheLastSegmentEndsBelow2To63) {
  const auto ending_at = [](std::uint64_t end) {
    std::vector<std::uint64_t> sizes(8, pow2(60));
    sizes[7] = end - 128 - 7 * pow2(60);
    std::vector<Segment> segments;
    for (std::uint32_t i = 0; i < 8; ++i) segments.push_back(segment_of(i, Encoding::raw, sizes[i], 6, 24));
    Layout layout = layout_of(segments);
    return place(layout, model_of(sizes), 80);
  };
  EXPECT_EQ(ending_at(pow2(63) - 1), "tiling TIL-3") << "fits, but tables and layout do not follow";
  EXPECT_EQ(ending_at(pow2(63)), "tiling TIL-1");
  EXPECT_EQ(ending_at(pow2(63) + 128), "tiling TIL-1");
}

TEST(PlaceLayout, Til1ManyLargeSegments) {
  for (const std::uint32_t count : {9U, 16U, 17U, 32U, 1000U}) {  // 16 x 2^60 wraps to 0
    std::vector<Segment> segments;
    for (std::uint32_t i = 0; i < count; ++i)
      segments.push_back(segment_of(i, Encoding::raw, pow2(60), 6, 24));
    Layout layout = layout_of(segments);
    EXPECT_EQ(place(layout, model_of(std::vector<std::uint64_t>(count, pow2(60))), 80), "tiling TIL-1")
        << count;
  }
}

// A segment of 2^46 bytes with 2^46 chunks has a table of 24 x 2^46: n of both fill 25 n x 2^46 bytes.
TEST(PlaceLayout, Til3TablesThatDoNotFit64Bits) {
  const auto of = [](std::uint32_t count) {
    std::vector<Segment> segments;
    for (std::uint32_t i = 0; i < count; ++i)
      segments.push_back(segment_of(i, Encoding::zstd, pow2(46), 6, 14));
    Layout layout = layout_of(segments);
    return place(layout, model_of(std::vector<std::uint64_t>(count, pow2(60))), 80);
  };
  EXPECT_EQ(of(10'485), "tiling TIL-3");
  EXPECT_EQ(of(10'486), "tiling TIL-3");
  EXPECT_EQ(of(20'000), "tiling TIL-3");
}

// --- The rules --------------------------------------------------------------------------------

TEST(PlaceLayout, Lay1Version) {
  const auto with = [](std::uint16_t major, std::uint16_t minor, const Version& version) {
    Layout layout;
    layout.major = major;
    layout.minor = minor;
    return outcome(place_layout(layout, Model{}, version, 80));
  };
  EXPECT_EQ(with(1, 7, {1, 7, 0}), "");
  EXPECT_EQ(with(1, 7, {1, 7, 5}), "") << "a layout has no feature bits";
  EXPECT_EQ(with(1, 0, {1, 7, 0}), "version-mismatch LAY-1");
  EXPECT_EQ(with(1, 8, {1, 7, 0}), "version-mismatch LAY-1");
  EXPECT_EQ(with(2, 7, {1, 7, 0}), "version-mismatch LAY-1");
}

TEST(PlaceLayout, Lay2EachContentOnce) {
  const auto with = [](std::size_t contents, const std::vector<std::uint32_t>& map) {
    std::vector<Segment> segments;
    for (const auto content : map) segments.push_back(segment_of(content, Encoding::raw, 64));
    Layout layout = layout_of(segments);
    return place(layout, model_of(std::vector<std::uint64_t>(contents, 64)), 80);
  };
  EXPECT_EQ(with(3, {2, 0, 1}), "tiling TIL-3") << "any order";
  EXPECT_EQ(with(2, {0}), "segment-map LAY-2") << "one missing";
  EXPECT_EQ(with(2, {}), "segment-map LAY-2") << "all missing";
  EXPECT_EQ(with(2, {0, 0}), "segment-map LAY-2") << "one twice, one missing";
  EXPECT_EQ(with(2, {0, 1, 0}), "segment-map LAY-2") << "one twice";
  EXPECT_EQ(with(2, {0, 2}), "segment-map LAY-2") << "out of range";
  EXPECT_EQ(with(2, {0, 1, 2}), "segment-map LAY-2") << "one too many";
  EXPECT_EQ(with(2, {0xFFFFFFFF, 1}), "segment-map LAY-2");
  EXPECT_EQ(with(0, {0}), "segment-map LAY-2") << "no contents";
}

TEST(PlaceLayout, Lay3Encodings) {
  for (const unsigned number : {0, 9, 255})
    EXPECT_EQ(judge(64, segment_of(0, static_cast<Encoding>(number), 64)), "unlisted-number LAY-3") << number;
  for (unsigned number = 1; number <= 8; ++number)
    EXPECT_EQ(judge(64, segment_of(0, static_cast<Encoding>(number), 64)), "") << number;
}

TEST(PlaceLayout, Lay4Alignments) {
  for (unsigned log2 = 0; log2 < 256; ++log2)
    EXPECT_EQ(judge(64, segment_of(0, Encoding::raw, 64, log2)),
              log2 >= 6 && log2 <= 16 ? "" : "alignment LAY-4");
}

TEST(PlaceLayout, Lay5ChunkSizes) {
  for (unsigned log2 = 0; log2 < 256; ++log2)
    EXPECT_EQ(judge(64, segment_of(0, Encoding::raw, 64, 6, log2)),
              log2 >= 14 && log2 <= 24 ? "" : "chunk-size LAY-5");
}

TEST(PlaceLayout, Lay6PlaneWidths) {
  constexpr unsigned widths[] = {1, 1, 2, 4, 8, 2, 4, 8};
  for (unsigned number = 1; number <= 8; ++number)
    for (std::uint64_t raw = 1; raw <= 33; ++raw)
      EXPECT_EQ(judge(raw, segment_of(0, static_cast<Encoding>(number), raw)),
                raw % widths[number - 1] == 0 ? "" : "plane-width LAY-6")
          << number << " " << raw;
}

TEST(PlaceLayout, Lay7StoredSizes) {
  constexpr std::uint64_t raw = 3 * 65'536 - 8;  // 3 chunks
  const char* refused = "stored-size LAY-7";
  EXPECT_EQ(judge(raw, segment_of(0, Encoding::raw, raw)), "");
  for (const std::uint64_t stored : {std::uint64_t{0}, raw - 1, raw + 1, ~std::uint64_t{0}})
    EXPECT_EQ(judge(raw, segment_of(0, Encoding::raw, stored)), refused) << stored;
  for (unsigned number = 2; number <= 8; ++number) {
    const auto coded = [&](std::uint64_t stored) {
      return judge(raw, segment_of(0, static_cast<Encoding>(number), stored));
    };
    EXPECT_EQ(coded(0), refused);
    EXPECT_EQ(coded(2), refused) << "less than a byte a chunk";
    EXPECT_EQ(coded(3), "");
    EXPECT_EQ(coded(raw), "");
    EXPECT_EQ(coded(raw + 1), refused);
    EXPECT_EQ(coded(~std::uint64_t{0}), refused);
  }
  EXPECT_EQ(judge(1, segment_of(0, Encoding::zstd, 1)), "");
  EXPECT_EQ(judge(1, segment_of(0, Encoding::zstd, 0)), refused);
}

TEST(PlaceLayout, ErrorsNameTheSegment) {
  Layout layout = layout_of({segment_of(1, Encoding::raw, 64), segment_of(0, Encoding::raw, 63)});
  EXPECT_EQ(place_layout(layout, model_of({64, 64}), {}, 80).error().subject, "segment 1");
  layout.segments[1].content = 1;
  EXPECT_EQ(place_layout(layout, model_of({64, 64}), {}, 80).error().subject, "segment 1");
}

// --- The order of checks ----------------------------------------------------------------------

struct OrderedFault {
  const char* expected;
  std::function<void(Layout&)> make;
};

TEST(PlaceLayout, TheEarlierOfTwoFaultsWins) {
  const Model model = model_of({100, 101, 102});
  const OrderedFault faults[] = {
      {"version-mismatch LAY-1", [](Layout& l) { l.minor = 1; }},
      {"segment-map LAY-2", [](Layout& l) { l.segments[0].content = 9; }},
      {"segment-map LAY-2", [](Layout& l) { l.segments[2].content = 1; }},
      {"unlisted-number LAY-3", [](Layout& l) { l.segments[0].encoding = static_cast<Encoding>(9); }},
      {"alignment LAY-4", [](Layout& l) { l.segments[0].alignment_log2 = 5; }},
      {"chunk-size LAY-5", [](Layout& l) { l.segments[0].chunk_log2 = 25; }},
      {"plane-width LAY-6", [](Layout& l) { l.segments[0].encoding = Encoding::zstd_planes8; }},
      {"stored-size LAY-7", [](Layout& l) { l.segments[0].stored_size = 0; }},
      {"unlisted-number LAY-3", [](Layout& l) { l.segments[1].encoding = static_cast<Encoding>(0); }},
      {"chunk-size LAY-5", [](Layout& l) { l.segments[1].chunk_log2 = 13; }},
      {"tiling TIL-3", [](Layout& l) { l.segments[1].stored_size = 37; }},
  };
  const auto good = layout_of({segment_of(0, Encoding::raw, 100), segment_of(1, Encoding::zstd, 101),
                               segment_of(2, Encoding::zstd_planes2, 102)});
  const std::uint64_t layout_offset = 128 + 128 + 128 + 104 + 8 + 24 + 24;
  Layout layout = good;
  ASSERT_EQ(place(layout, model, layout_offset), "");
  for (std::size_t i = 0; i < std::size(faults); ++i)
    for (std::size_t j = i; j < std::size(faults); ++j) {
      layout = good;
      faults[j].make(layout);
      faults[i].make(layout);  // last, so that it is there where both change one field
      EXPECT_EQ(place(layout, model, layout_offset), faults[i].expected) << i << ", " << j;
    }
}

TEST(PlaceLayout, Lay2TheNumberOfSegmentsIsCheckedBeforeTheirFields) {
  Layout layout = layout_of({segment_of(0, static_cast<Encoding>(9), 64)});
  EXPECT_EQ(place(layout, model_of({64, 64}), 80), "segment-map LAY-2");
}

TEST(PlaceLayout, TableEntries) {
  EXPECT_EQ(table_entry_bytes(Encoding::raw), 8);
  for (unsigned number = 2; number <= 8; ++number)
    EXPECT_EQ(table_entry_bytes(static_cast<Encoding>(number)), 24);
}

}  // namespace
}  // namespace ptd::model
