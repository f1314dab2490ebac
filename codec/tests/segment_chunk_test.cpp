// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "segment/chunk.hpp"

#include <gtest/gtest.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "segment/frame.hpp"
#include "segment/planes.hpp"
#include "tests/segment_samples.hpp"

namespace ptd::segment {
namespace {

using Buffer = std::vector<std::byte>;

constexpr Encoding encodings[] = {Encoding::raw,           Encoding::zstd,         Encoding::zstd_planes2,
                                  Encoding::zstd_planes4,  Encoding::zstd_planes8, Encoding::zstd_rotated2,
                                  Encoding::zstd_rotated4, Encoding::zstd_rotated8};
constexpr std::size_t largest = std::size_t{1} << 24;

Buffer encoded(ChunkEncoder& encoder, Encoding encoding, Bytes raw) {
  const auto stored = encoder.encode(encoding, raw);
  if (!stored) ADD_FAILURE() << stored.error().to_string();
  return stored ? Buffer(stored->begin(), stored->end()) : Buffer{};
}

bool equal(Bytes a, Bytes b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size()) == 0;
}

testing::AssertionResult round_trips(ChunkEncoder& encoder, ChunkDecoder& decoder, Encoding encoding,
                                     Bytes raw) {
  const Buffer stored = encoded(encoder, encoding, raw);
  if (stored.size() > raw.size()) return testing::AssertionFailure() << "grew to " << stored.size();
  if (stored.size() < raw.size()) {
    if (const auto checked = check_frame(stored, raw.size()); !checked)
      return testing::AssertionFailure() << checked.error().to_string();
    if (!is_literals_profile(stored, raw.size(), plane_width(encoding)))
      return testing::AssertionFailure() << "not of the profile";
  }
  Buffer back(raw.size(), std::byte{0xA5});
  if (const auto decoded = decoder.decode(encoding, stored, back); !decoded)
    return testing::AssertionFailure() << decoded.error().to_string();
  return equal(back, raw) ? testing::AssertionSuccess() : testing::AssertionFailure() << "other bytes";
}

struct Kind {
  const char* name;
  Buffer bytes;  // a sample of the largest chunk's size
};

// The encoder sees no repeats, so a repeated megabyte of the slow generators is as good as 16.
constexpr std::size_t megabyte = 1 << 20;
Buffer repeated(const Buffer& sample) {
  Buffer bytes;
  bytes.reserve(largest);
  while (bytes.size() < largest) bytes.insert(bytes.end(), sample.begin(), sample.end());
  return bytes;
}

Buffer runs_and_noise() {
  Buffer bytes = samples::uniform(megabyte);
  for (std::ptrdiff_t at = 0; at + 20'000 < std::ssize(bytes); at += 50'000)
    std::fill_n(bytes.begin() + at, 20'000, static_cast<std::byte>(at & 3));
  return bytes;
}

std::vector<Kind> make_kinds() {
  return {{"zero", Buffer(largest)},
          {"constant", Buffer(largest, std::byte{0x3F})},
          {"random", repeated(samples::uniform(megabyte))},
          {"runs and noise", repeated(runs_and_noise())},
          {"bf16", repeated(samples::normal(samples::bf16, megabyte / 2, 0.02))},
          {"fp32", repeated(samples::normal(samples::fp32, megabyte / 4, 0.02))},
          {"fp64", repeated(samples::normal(samples::fp64, megabyte / 8, 1.5))}};
}

class SegmentChunk : public testing::Test {
 protected:
  static void SetUpTestSuite() { kinds() = make_kinds(); }
  static void TearDownTestSuite() { kinds().clear(); }
  static std::vector<Kind>& kinds() {
    static std::vector<Kind> made;
    return made;
  }
  static Bytes part(const Kind& kind, std::size_t size, std::uint64_t seed) {
    return Bytes(kind.bytes).subspan(seed * 8 % (largest - size + 1) / 8 * 8, size);
  }

  ChunkEncoder encoder_;
  ChunkDecoder decoder_;
};

TEST_F(SegmentChunk, EverySmallSizeRoundTrips) {
  for (const auto& kind : kinds())
    for (const Encoding encoding : encodings)
      for (std::size_t size = plane_width(encoding); size <= 600; size += plane_width(encoding))
        ASSERT_TRUE(round_trips(encoder_, decoder_, encoding, part(kind, size, size)))
            << kind.name << ' ' << size << " encoding " << static_cast<int>(encoding);
}

// Sizes at which the frame header changes form and at which blocks and planes begin to be cut.
TEST_F(SegmentChunk, SizesAtEdgesRoundTrip) {
  for (const std::size_t edge : {1UL << 14, 65'792UL, 1UL << 17, 1UL << 18, 1UL << 19, 1UL << 20})
    for (const auto& kind : kinds())
      for (const Encoding encoding : encodings)
        for (const std::size_t size : {edge - 8, edge, edge + 8})
          ASSERT_TRUE(round_trips(encoder_, decoder_, encoding, part(kind, size, size)))
              << kind.name << ' ' << size << " encoding " << static_cast<int>(encoding);
}

TEST_F(SegmentChunk, RandomSizesRoundTrip) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 300; ++i) {
    const double log_size = std::uniform_real_distribution<>(0, 24)(random);
    const Kind& kind = kinds()[random() % kinds().size()];
    const Encoding encoding = encodings[random() % std::size(encodings)];
    const std::size_t width = plane_width(encoding);
    const std::size_t size = std::max(static_cast<std::size_t>(std::exp2(log_size)) / width * width, width);
    ASSERT_TRUE(round_trips(encoder_, decoder_, encoding, part(kind, size, random() >> 8)))
        << kind.name << ' ' << size << " encoding " << static_cast<int>(encoding);
  }
}

TEST_F(SegmentChunk, TheLargestSizeRoundTrips) {
  for (const auto& kind : kinds()) {
    EXPECT_TRUE(round_trips(encoder_, decoder_, Encoding::zstd, kind.bytes)) << kind.name;
    EXPECT_TRUE(round_trips(encoder_, decoder_, Encoding::zstd_planes2, kind.bytes)) << kind.name;
  }
}

TEST_F(SegmentChunk, OutputDoesNotDependOnEarlierChunks) {
  for (const Encoding encoding : encodings)
    for (const auto& kind : kinds())
      for (const std::size_t size : {8UL, 1'000UL, 65'536UL, 300'000UL}) {
        ChunkEncoder fresh;
        ASSERT_EQ(encoded(encoder_, encoding, part(kind, size, 1)),
                  encoded(fresh, encoding, part(kind, size, 1)))
            << kind.name << ' ' << size;
      }
}

TEST_F(SegmentChunk, RawIsItself) {
  const Bytes raw = part(kinds()[0], 1'000, 0);
  const auto stored = encoder_.encode(Encoding::raw, raw);
  ASSERT_TRUE(stored);
  EXPECT_EQ(stored->data(), raw.data());
  EXPECT_EQ(stored->size(), raw.size());
}

TEST_F(SegmentChunk, WhatWouldNotShrinkIsItself) {
  const Buffer noise = samples::uniform(65'536);
  for (const Encoding encoding : encodings) {
    const auto stored = encoder_.encode(encoding, noise);
    ASSERT_TRUE(stored);
    EXPECT_EQ(stored->data(), noise.data());
    EXPECT_EQ(stored->size(), noise.size());
  }
}

// header 6, one RLE block 4: 10 bytes for equal bytes, so 11 raw bytes are the fewest that shrink.
TEST_F(SegmentChunk, OnlyASmallerFrameIsStored) {
  const Buffer ones(11, std::byte{1});
  EXPECT_EQ(encoded(encoder_, Encoding::zstd, Bytes(ones).first(10)).size(), 10U);
  EXPECT_EQ(encoded(encoder_, Encoding::zstd, Bytes(ones).first(10))[0], std::byte{1});
  const Buffer frame = encoded(encoder_, Encoding::zstd, ones);
  EXPECT_EQ(frame.size(), 10U);
  EXPECT_EQ(frame[0], std::byte{0x28});
}

TEST_F(SegmentChunk, ConstantPlanesAreRleAndNoiseIsRaw) {
  // The low byte is noise, the high byte is constant: a raw block, then an RLE block.
  Buffer raw = samples::uniform(2 * 1'000);
  for (std::size_t i = 1; i < raw.size(); i += 2) raw[i] = std::byte{0x3C};
  const Buffer stored = encoded(encoder_, Encoding::zstd_planes2, raw);
  ASSERT_EQ(stored.size(), 7U + 3 + 1'000 + 3 + 1);
  EXPECT_EQ(stored[7] & std::byte{7}, std::byte{0});              // raw, not last
  EXPECT_EQ(stored[7 + 3 + 1'000] & std::byte{7}, std::byte{3});  // RLE, last
  EXPECT_EQ(stored.back(), std::byte{0x3C});
}

TEST_F(SegmentChunk, WeightsReachTheRatioThatTheFormatPromises) {
  const auto ratio = [&](Encoding encoding, samples::FloatFormat format) {
    const Buffer raw = samples::normal(format, (1 << 20) / format.bytes(), 0.02);
    std::size_t stored = 0;
    for (std::size_t at = 0; at < raw.size(); at += 65'536)
      stored += encoder_.encode(encoding, Bytes(raw).subspan(at, 65'536))->size();
    return static_cast<double>(stored) / static_cast<double>(raw.size());
  };
  EXPECT_LT(ratio(Encoding::zstd_planes2, samples::bf16), 0.675);
  EXPECT_LT(ratio(Encoding::zstd_rotated2, samples::bf16), 0.668);
  EXPECT_LT(ratio(Encoding::zstd_planes4, samples::fp32), 0.840);
}

TEST_F(SegmentChunk, SizesThatCannotBeAreArguments) {
  const Buffer bytes(largest + 8);
  for (const auto& [encoding, size] :
       {std::pair{Encoding::raw, std::size_t{0}}, std::pair{Encoding::zstd, std::size_t{0}},
        std::pair{Encoding::zstd, largest + 1}, std::pair{Encoding::zstd_planes2, std::size_t{3}},
        std::pair{Encoding::zstd_rotated8, std::size_t{12}}}) {
    EXPECT_EQ(encoder_.encode(encoding, Bytes(bytes).first(size)).error().code, ErrorCode::argument);
    Buffer raw(size);
    EXPECT_EQ(decoder_.decode(encoding, Bytes(bytes).first(1), raw).error().code, ErrorCode::argument);
  }
  Buffer raw(10);
  EXPECT_EQ(decoder_.decode(Encoding::raw, Bytes(bytes).first(9), raw).error().code, ErrorCode::argument);
}

TEST_F(SegmentChunk, EncoderAndDecoderMove) {
  ChunkEncoder encoder = std::move(encoder_);
  ChunkDecoder decoder = std::move(decoder_);
  EXPECT_TRUE(round_trips(encoder, decoder, Encoding::zstd_planes2, part(kinds()[4], 65'536, 0)));
}

// Decoding what others wrote, and what nobody wrote.

// With matches, and a window as large as the chunk.
Buffer ordinary_zstd(Bytes raw) {
  const std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context(ZSTD_createCCtx(), ZSTD_freeCCtx);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_windowLog, 24);
  Buffer frame(ZSTD_compressBound(raw.size()));
  frame.resize(ZSTD_compress2(context.get(), frame.data(), frame.size(), raw.data(), raw.size()));
  return frame;
}

TEST_F(SegmentChunk, DecodesTheLargestWindow) {
  const Bytes raw = kinds()[2].bytes;
  const Buffer stored = ordinary_zstd(raw);
  ASSERT_LT(stored.size(), raw.size() / 8) << "no matches were found";
  Buffer back(raw.size());
  ASSERT_TRUE(decoder_.decode(Encoding::zstd, stored, back));
  EXPECT_TRUE(equal(back, raw));
}

TEST_F(SegmentChunk, DecodesOrdinaryZstdFrames) {
  const Bytes raw = part(kinds()[3], 100'000, 0);
  Buffer planes(raw.size()), back(raw.size());
  split_planes(raw, planes, 4, true);
  const Buffer stored = ordinary_zstd(planes);
  ASSERT_FALSE(is_literals_profile(stored, raw.size(), 4));
  ASSERT_TRUE(decoder_.decode(Encoding::zstd_rotated4, stored, back));
  EXPECT_TRUE(equal(back, raw));
}

TEST_F(SegmentChunk, StoredInItsOwnSizeIsTheBytesWithoutSplit) {
  const Bytes raw = part(kinds()[2], 1'000, 0);
  Buffer back(raw.size());
  ASSERT_TRUE(decoder_.decode(Encoding::zstd_rotated2, raw, back));
  EXPECT_TRUE(equal(back, raw));
}

ErrorCode decode_error(ChunkDecoder& decoder, Bytes stored, std::size_t raw_size) {
  Buffer back(raw_size);
  const auto result = decoder.decode(Encoding::zstd, stored, back);
  return result ? ErrorCode::internal : result.error().code;
}

TEST_F(SegmentChunk, BrokenGrammarAndBrokenDataHaveTheirCodes) {
  const Bytes raw = part(kinds()[4], 65'536, 0);
  const Buffer frame = encoded(encoder_, Encoding::zstd, raw);
  EXPECT_EQ(decode_error(decoder_, Bytes(frame).first(frame.size() - 1), raw.size()), ErrorCode::frame);
  Buffer bad_tree = frame;
  bad_tree[7 + 3 + 5] = std::byte{0};  // the header of the Huffman tree's description
  EXPECT_EQ(decode_error(decoder_, bad_tree, raw.size()), ErrorCode::chunk_data);
}

// A frame that claims `claimed` bytes, of one RLE block that is `decoded` bytes long.
Buffer rle_frame_of(unsigned claimed, unsigned decoded) {
  Buffer frame;
  for (const unsigned byte :
       {0x28U, 0xB5U, 0x2FU, 0xFDU, 0x20U, claimed, (decoded << 3 & 0xFF) | 3, decoded >> 5, 0U, 0x77U})
    frame.push_back(static_cast<std::byte>(byte));
  return frame;
}

TEST_F(SegmentChunk, ShorterOrLongerThanItsSizeIsChunkData) {
  EXPECT_EQ(decode_error(decoder_, rle_frame_of(200, 200), 200), ErrorCode::internal) << "not a valid frame";
  EXPECT_EQ(decode_error(decoder_, rle_frame_of(200, 199), 200), ErrorCode::chunk_data);
  Buffer longer = rle_frame_of(200, 200);
  longer[6] &= std::byte{0xFE};  // not the last block
  const Buffer once_more = rle_frame_of(200, 200);
  longer.insert(longer.end(), once_more.begin() + 6, once_more.end());
  EXPECT_EQ(decode_error(decoder_, longer, 200), ErrorCode::chunk_data);
}

testing::AssertionResult decoded_or_refused(const Result<void>& result) {
  if (result || result.error().code == ErrorCode::frame || result.error().code == ErrorCode::chunk_data)
    return testing::AssertionSuccess();
  return testing::AssertionFailure() << result.error().to_string();
}

// Every single-bit flip: refused, or bytes of the right number (which a digest then judges), and the
// decoder works on after it.
TEST_F(SegmentChunk, EveryFlippedBitIsAnErrorOrData) {
  const Bytes raw = part(kinds()[4], 2'000, 0);
  const Buffer frame = encoded(encoder_, Encoding::zstd_planes2, raw);
  ASSERT_LT(frame.size(), raw.size());
  Buffer back(raw.size());
  for (std::size_t bit = 0; bit < 8 * frame.size(); ++bit) {
    Buffer flipped = frame;
    flipped[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
    const auto result = decoder_.decode(Encoding::zstd_planes2, flipped, back);
    ASSERT_TRUE(decoded_or_refused(result));
  }
  ASSERT_TRUE(decoder_.decode(Encoding::zstd_planes2, frame, back));
  EXPECT_TRUE(equal(back, raw));
}

TEST_F(SegmentChunk, NoiseAsAFrameIsAnErrorOrData) {
  const Bytes raw = part(kinds()[4], 4'096, 0);
  const Buffer frame = encoded(encoder_, Encoding::zstd_planes2, raw);
  std::mt19937_64 random(11);
  Buffer back(raw.size());
  for (int round = 0; round < 3'000; ++round) {
    Buffer damaged = frame;
    for (auto changes = random() % 8; changes-- > 0;)
      damaged[random() % damaged.size()] = static_cast<std::byte>(random() & 0xFF);
    if (round % 3 == 0) damaged.resize(random() % damaged.size());
    const auto result = decoder_.decode(Encoding::zstd_planes2, damaged, back);
    ASSERT_TRUE(decoded_or_refused(result));
  }
}

}  // namespace
}  // namespace ptd::segment
