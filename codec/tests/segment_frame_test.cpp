// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#define ZSTD_STATIC_LINKING_ONLY
#include "segment/frame.hpp"

#include <gtest/gtest.h>
#include <zstd.h>

#include <numeric>

#include "segment/chunk.hpp"
#include "tests/segment_samples.hpp"

namespace ptd::segment {
namespace {

using Buffer = std::vector<std::byte>;
enum BlockKind : unsigned { raw_block = 0, rle_block = 1, compressed_block = 2, reserved_block = 3 };

void append(Buffer& to, std::uint64_t number, unsigned count) {
  for (unsigned i = 0; i < count; ++i) to.push_back(static_cast<std::byte>(number >> (8 * i) & 0xFF));
}
void append(Buffer& to, const Buffer& bytes) { to.insert(to.end(), bytes.begin(), bytes.end()); }
Buffer joined(Buffer first, const Buffer& second) {
  append(first, second);
  return first;
}

Buffer block(BlockKind kind, std::uint32_t size, const Buffer& content, bool last) {
  Buffer bytes;
  append(bytes, size << 3 | kind << 1 | (last ? 1U : 0U), 3);
  return joined(bytes, content);
}

Buffer header_of_small(unsigned raw_size) {  // under 256 bytes
  Buffer bytes;
  append(bytes, 0xFD2FB528, 4);
  append(bytes, 0x20, 1);
  append(bytes, raw_size, 1);
  return bytes;
}

// 200 raw bytes, 20 in a raw block of 0xEE, 50 in an RLE block, 130 in a raw block of 0xEE.
Buffer three_blocks() {
  Buffer frame = header_of_small(200);
  append(frame, block(raw_block, 20, Buffer(20, std::byte{0xEE}), false));
  append(frame, block(rle_block, 50, Buffer(1, std::byte{0xEE}), false));
  append(frame, block(raw_block, 130, Buffer(130, std::byte{0xEE}), true));
  return frame;
}
constexpr std::size_t first_block_at = 6, second_block_at = 6 + 23, third_block_at = 6 + 23 + 4;

// A copy of exactly the frame's size lets the address sanitizer see any read outside.
Result<void> check(Bytes frame, std::uint64_t raw_size) {
  const Buffer exact(frame.begin(), frame.end());
  return check_frame(exact, raw_size);
}

testing::AssertionResult breaks(std::string_view rule, Bytes frame, std::uint64_t raw_size) {
  const auto result = check(frame, raw_size);
  if (result) return testing::AssertionFailure() << "accepted";
  if (result.error().code != ErrorCode::frame || result.error().rule != rule)
    return testing::AssertionFailure() << result.error().to_string();
  return testing::AssertionSuccess();
}

std::size_t decoded_size(const Buffer& frame) {
  Buffer raw(1 << 20);
  return ZSTD_decompress(raw.data(), raw.size(), frame.data(), frame.size());
}

TEST(SegmentFrame, TakesRawRleAndCompressedBlocks) {
  EXPECT_TRUE(check(three_blocks(), 200));
  EXPECT_EQ(decoded_size(three_blocks()), 200U);
  Buffer raw(3000);
  std::iota(reinterpret_cast<unsigned char*>(raw.data()), reinterpret_cast<unsigned char*>(raw.data() + 64),
            0);
  ChunkEncoder encoder;
  EXPECT_TRUE(check(encoder.encode(Encoding::zstd, raw).value(), 3000));
}

// One RLE block is a whole frame for any size up to 128 KiB; larger ones take several.
Buffer rle_frame(const Buffer& header, std::uint32_t raw_size) {
  Buffer frame = header;
  for (std::uint32_t rest = raw_size; rest != 0;) {
    const std::uint32_t size = std::min<std::uint32_t>(rest, 128 << 10);
    rest -= size;
    append(frame, block(rle_block, size, Buffer(1), rest == 0));
  }
  return frame;
}

Buffer header_bytes(unsigned descriptor, std::uint64_t number, unsigned count) {
  Buffer bytes;
  append(bytes, 0xFD2FB528, 4);
  append(bytes, descriptor, 1);
  append(bytes, number, count);
  return bytes;
}

TEST(SegmentFrame, HeaderIsWhatTheRawSizeDetermines) {
  for (const std::uint32_t size : {1U, 2U, 254U, 255U}) {
    EXPECT_TRUE(check(rle_frame(header_bytes(0x20, size, 1), size), size)) << size;
    EXPECT_TRUE(breaks("ZST-1", rle_frame(header_bytes(0xA0, size, 4), size), size)) << size;
  }
  for (const std::uint32_t size : {256U, 257U, 65'535U, 65'536U, 65'791U}) {
    EXPECT_TRUE(check(rle_frame(header_bytes(0x60, size - 256, 2), size), size)) << size;
    EXPECT_TRUE(breaks("ZST-1", rle_frame(header_bytes(0xA0, size, 4), size), size)) << size;
  }
  for (const std::uint32_t size : {65'792U, 65'793U, 131'073U, 1U << 24}) {
    EXPECT_TRUE(check(rle_frame(header_bytes(0xA0, size, 4), size), size)) << size;
    EXPECT_TRUE(breaks("ZST-1", rle_frame(header_bytes(0xE0, size, 8), size), size)) << size;
  }
}

TEST(SegmentFrame, OtherRawSizeThanTheHeadersIsRefused) {
  EXPECT_TRUE(breaks("ZST-1", three_blocks(), 199));
  EXPECT_TRUE(breaks("ZST-1", three_blocks(), 201));
  EXPECT_TRUE(breaks("ZST-1", three_blocks(), 0));
  EXPECT_TRUE(breaks("ZST-1", rle_frame(header_bytes(0xA0, (1 << 24) + 1, 4), (1 << 24) + 1), (1 << 24) + 1));
}

TEST(SegmentFrame, LegalZstdHeadersThatPtdDoesNotAllowAreRefused) {
  const Buffer blocks = block(rle_block, 200, Buffer(1), true);
  // Each but the checksum's is a whole frame to libzstd, so that the checks here are needed.
  const Buffer with_window = joined(header_bytes(0x00, 0x00, 1), blocks);
  const Buffer window_and_size = joined(header_bytes(0x40, 0x00, 1), blocks);
  const Buffer with_dictionary_id = joined(header_bytes(0x21, 200 << 8, 2), blocks);
  EXPECT_EQ(decoded_size(with_window), 200U);
  EXPECT_EQ(decoded_size(with_dictionary_id), 200U);
  EXPECT_TRUE(breaks("ZST-1", with_window, 200));
  EXPECT_TRUE(breaks("ZST-1", window_and_size, 200));
  EXPECT_TRUE(breaks("ZST-1", with_dictionary_id, 200));
  EXPECT_TRUE(breaks("ZST-1", joined(joined(header_bytes(0x24, 200, 1), blocks), Buffer(4)), 200));
  EXPECT_TRUE(breaks("ZST-1", joined(header_bytes(0x28, 200, 1), blocks), 200));  // reserved bit
  EXPECT_TRUE(breaks("ZST-1", joined(header_bytes(0x30, 200, 1), blocks), 200));  // unused bit
}

TEST(SegmentFrame, WhatFollowsOrPrecedesTheFrameIsRefused) {
  Buffer skippable;
  append(skippable, 0x184D2A50, 4);
  append(skippable, 0, 4);
  EXPECT_TRUE(breaks("ZST-3", joined(three_blocks(), Buffer(1)), 200));
  EXPECT_TRUE(breaks("ZST-3", joined(three_blocks(), three_blocks()), 200));
  EXPECT_TRUE(breaks("ZST-3", joined(three_blocks(), skippable), 200));
  EXPECT_TRUE(breaks("ZST-1", joined(skippable, three_blocks()), 200));
  EXPECT_TRUE(breaks("ZST-1", skippable, 200));
  EXPECT_TRUE(breaks("ZST-1", {}, 200));
}

TEST(SegmentFrame, BlockSizesAreBounded) {
  const auto with = [](const Buffer& blocks) { return joined(header_of_small(10), blocks); };
  const Buffer ten(10), eleven(11);
  EXPECT_TRUE(check(with(block(raw_block, 10, ten, true)), 10));
  EXPECT_TRUE(breaks("ZST-2", with(block(raw_block, 11, eleven, true)), 10));
  EXPECT_TRUE(breaks("ZST-2", with(block(compressed_block, 11, eleven, true)), 10));
  EXPECT_TRUE(breaks("ZST-2", with(block(rle_block, 11, Buffer(1), true)), 10));
  EXPECT_TRUE(breaks("ZST-2", with(block(raw_block, 0, {}, true)), 10));
  EXPECT_TRUE(breaks("ZST-2", with(block(rle_block, 0, Buffer(1), true)), 10));
  EXPECT_TRUE(breaks("ZST-2", with(block(compressed_block, 0, {}, true)), 10));
  EXPECT_TRUE(
      breaks("ZST-2", with(joined(block(raw_block, 0, {}, false), block(raw_block, 10, ten, true))), 10));
  const Buffer large = header_bytes(0xA0, 1 << 20, 4);
  constexpr std::uint32_t most = 128 << 10;
  EXPECT_TRUE(check(joined(large, block(raw_block, most, Buffer(most), true)), 1 << 20));
  EXPECT_TRUE(breaks("ZST-2", joined(large, block(raw_block, most + 1, Buffer(most + 1), true)), 1 << 20));
}

TEST(SegmentFrame, ReservedBlockTypeIsRefused) {
  EXPECT_TRUE(breaks("ZST-2", joined(header_of_small(10), block(reserved_block, 10, Buffer(10), true)), 10));
}

TEST(SegmentFrame, EveryCutIsRefused) {
  const Buffer frame = three_blocks();
  for (std::size_t size = 0; size < frame.size(); ++size)
    ASSERT_TRUE(breaks(size < first_block_at ? "ZST-1" : "ZST-3", Bytes(frame).first(size), 200)) << size;
}

TEST(SegmentFrame, EveryFlippedHeaderBitIsRefused) {
  for (std::size_t bit = 0; bit < 8 * first_block_at; ++bit) {
    Buffer frame = three_blocks();
    frame[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
    ASSERT_TRUE(breaks("ZST-1", frame, 200)) << bit;
  }
}

// One kind of flip leaves a frame of the grammar, and the digests find it: another size for an RLE block's
// byte. (A raw block that becomes a compressed one would have to parse as such; the zeros of this sample do
// not.)
bool stays_in_the_grammar(std::size_t block_at, std::size_t bit) {
  return block_at == second_block_at && bit >= 3 && (50U ^ 1U << (bit - 3)) - 1 < 200;
}

TEST(SegmentFrame, EveryFlippedBlockHeaderBitIsRefusedButOneKind) {
  for (const std::size_t block_at : {first_block_at, second_block_at, third_block_at})
    for (std::size_t bit = 0; bit < 24; ++bit) {
      Buffer frame = three_blocks();
      frame[block_at + bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
      const auto result = check(frame, 200);
      ASSERT_EQ(result.has_value(), stays_in_the_grammar(block_at, bit)) << block_at << " bit " << bit;
      ASSERT_TRUE(result || result.error().code == ErrorCode::frame);
    }
}

// Profile

Buffer zstd_frame(const Buffer& raw, int level) {
  Buffer frame(ZSTD_compressBound(raw.size()));
  frame.resize(ZSTD_compress(frame.data(), frame.size(), raw.data(), raw.size(), level));
  return frame;
}

// libzstd's own frame of literals, cut into blocks as asked: later blocks reuse the first one's table.
Buffer sequence_api_frame(const Buffer& raw, unsigned block_bytes) {
  std::vector<ZSTD_Sequence> delimiters(raw.size() / block_bytes, ZSTD_Sequence{0, block_bytes, 0, 0});
  const std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context(ZSTD_createCCtx(), ZSTD_freeCCtx);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_blockDelimiters, ZSTD_sf_explicitBlockDelimiters);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_literalCompressionMode, ZSTD_ps_enable);
  Buffer frame(ZSTD_compressBound(raw.size()) + 4 * delimiters.size());
  frame.resize(ZSTD_compressSequences(context.get(), frame.data(), frame.size(), delimiters.data(),
                                      delimiters.size(), raw.data(), raw.size()));
  return frame;
}

Buffer small_alphabet(std::size_t size) {
  Buffer bytes = samples::uniform(size);
  for (auto& byte : bytes) byte &= std::byte{3};
  return bytes;
}

TEST(SegmentLiteralsProfile, TakesOneBlockAPlane) {
  EXPECT_FALSE(is_literals_profile(three_blocks(), 200, 1));  // a plane is not cut where it need not be
  EXPECT_FALSE(is_literals_profile(three_blocks(), 200, 2));
  Buffer aligned = header_of_small(200);
  append(aligned, block(rle_block, 100, Buffer(1), false));
  append(aligned, block(raw_block, 100, Buffer(100), true));
  EXPECT_FALSE(is_literals_profile(aligned, 200, 1));
  EXPECT_TRUE(is_literals_profile(aligned, 200, 2));
  EXPECT_FALSE(is_literals_profile(aligned, 200, 4));
}

TEST(SegmentLiteralsProfile, LongPlanesAreCutAtTheLargestBlock) {
  constexpr std::uint32_t most = 128 << 10, size = most + 1000;
  const auto frame = [](std::uint32_t first) {
    Buffer bytes = header_bytes(0xA0, size, 4);
    append(bytes, block(rle_block, first, Buffer(1), false));
    append(bytes, block(rle_block, size - first, Buffer(1), true));
    return bytes;
  };
  EXPECT_TRUE(is_literals_profile(frame(most), size, 1));
  EXPECT_FALSE(is_literals_profile(frame(most - 1), size, 1));
  EXPECT_FALSE(is_literals_profile(frame(1000), size, 1));
}

TEST(SegmentLiteralsProfile, PlanesAreEquallyLong) {
  const Buffer three_bytes = joined(header_of_small(3), block(raw_block, 3, Buffer(3), true));
  EXPECT_TRUE(is_literals_profile(three_bytes, 3, 1));
  EXPECT_FALSE(is_literals_profile(three_bytes, 3, 2));
}

TEST(SegmentLiteralsProfile, BlocksMustAddUpToTheRawSize) {
  EXPECT_FALSE(
      is_literals_profile(joined(header_of_small(200), block(rle_block, 199, Buffer(1), true)), 200, 1));
  Buffer too_long = header_of_small(200);
  append(too_long, block(rle_block, 200, Buffer(1), false));
  append(too_long, block(rle_block, 1, Buffer(1), true));
  EXPECT_FALSE(is_literals_profile(too_long, 200, 1));
}

TEST(SegmentLiteralsProfile, FramesWithMatchesAreNotOfIt) {
  Buffer raw = samples::uniform(1000);
  raw.resize(3000);
  std::copy(raw.begin(), raw.begin() + 1000, raw.begin() + 1500);
  const Buffer frame = zstd_frame(raw, 3);
  ASSERT_TRUE(check(frame, raw.size()));
  EXPECT_FALSE(is_literals_profile(frame, raw.size(), 1));
}

TEST(SegmentLiteralsProfile, FramesWithTreelessBlocksAreNotOfIt) {
  const Buffer raw = small_alphabet(64 << 10);
  const Buffer one_block = sequence_api_frame(raw, 64 << 10);
  const Buffer four_blocks = sequence_api_frame(raw, 16 << 10);
  ASSERT_TRUE(check(one_block, raw.size()));
  ASSERT_TRUE(check(four_blocks, raw.size()));
  ASSERT_EQ(decoded_size(four_blocks), raw.size());
  const std::uint32_t first_size = std::to_integer<std::uint32_t>(four_blocks[7]) >> 3 |
                                   std::to_integer<std::uint32_t>(four_blocks[8]) << 5 |
                                   std::to_integer<std::uint32_t>(four_blocks[9]) << 13;
  ASSERT_EQ(four_blocks.at(7 + 3 + first_size + 3) & std::byte{3}, std::byte{3})
      << "second block is not treeless";
  EXPECT_TRUE(is_literals_profile(one_block, raw.size(), 1));
  EXPECT_FALSE(is_literals_profile(four_blocks, raw.size(), 1));
}

enum LiteralsKind : std::uint64_t {
  raw_literals = 0,
  rle_literals = 1,
  huffman_literals = 2,
  treeless_literals = 3
};

// Hand-made compressed blocks: a literals section, then the number of sequences. Whether a decoder would take
// them is not asked here.
Buffer literals(std::uint64_t header, unsigned header_size, std::size_t coded) {
  Buffer content;
  append(content, header, header_size);
  append(content, Buffer(coded, std::byte{0x55}));
  append(content, 0, 1);
  return content;
}

// A frame of two planes: this block for the first, RLE for the second.
Buffer frame_of(const Buffer& content, std::uint32_t regenerated) {
  Buffer frame = header_of_small(2 * regenerated);
  if (2 * regenerated >= 256) frame = header_bytes(0x60, 2 * regenerated - 256, 2);
  append(frame, block(compressed_block, static_cast<std::uint32_t>(content.size()), content, false));
  append(frame, block(rle_block, regenerated, Buffer(1), true));
  return {frame.begin(), frame.end()};
}

bool profile_takes(const Buffer& content, std::uint32_t regenerated) {
  return is_literals_profile(frame_of(content, regenerated), 2 * regenerated, 2);
}

bool grammar_takes(const Buffer& content, std::uint32_t regenerated) {
  return check(frame_of(content, regenerated), 2 * regenerated).has_value();
}

TEST(SegmentLiteralsProfile, ReadsEveryFormOfLiterals) {
  for (const std::uint32_t size : {3U, 20U, 21U, 31U}) {
    EXPECT_TRUE(profile_takes(literals(size << 3 | raw_literals, 1, size), size)) << size;
    EXPECT_TRUE(profile_takes(literals(size << 3 | rle_literals, 1, 1), size)) << size;
  }
  EXPECT_TRUE(profile_takes(literals(150 << 4 | 1 << 2 | raw_literals, 2, 150), 150));
  EXPECT_TRUE(profile_takes(literals(150 << 4 | 3 << 2 | raw_literals, 3, 150), 150));
  EXPECT_TRUE(profile_takes(literals(200 << 4 | 1 << 2 | rle_literals, 2, 1), 200));
  EXPECT_TRUE(profile_takes(literals(200 << 4 | 3 << 2 | rle_literals, 3, 1), 200));
  for (const std::uint64_t format : {0U, 1U})
    EXPECT_TRUE(profile_takes(literals(70ULL << 14 | 150 << 4 | format << 2 | huffman_literals, 3, 70), 150));
  EXPECT_TRUE(profile_takes(literals(70ULL << 18 | 150 << 4 | 2 << 2 | huffman_literals, 4, 70), 150));
  EXPECT_TRUE(profile_takes(literals(70ULL << 22 | 150 << 4 | 3 << 2 | huffman_literals, 5, 70), 150));
}

TEST(SegmentLiteralsProfile, RefusesEveryTreelessForm) {
  for (const std::uint64_t format : {0U, 1U})
    EXPECT_FALSE(
        profile_takes(literals(70ULL << 14 | 150 << 4 | format << 2 | treeless_literals, 3, 70), 150));
  EXPECT_FALSE(profile_takes(literals(70ULL << 18 | 150 << 4 | 2 << 2 | treeless_literals, 4, 70), 150));
  EXPECT_FALSE(profile_takes(literals(70ULL << 22 | 150 << 4 | 3 << 2 | treeless_literals, 5, 70), 150));
}

// What decoders disagree about is refused by the grammar, of the profile or not [ZST-2].
TEST(SegmentFrame, AmbiguousCompressedBlocksAreRefused) {
  constexpr std::uint64_t header = 70ULL << 14 | 150 << 4 | huffman_literals;
  const auto sequences = [&](std::initializer_list<unsigned> bytes) {
    Buffer content = literals(header, 3, 70);
    content.pop_back();
    for (const auto byte : bytes) content.push_back(static_cast<std::byte>(byte));
    return content;
  };
  EXPECT_TRUE(grammar_takes(sequences({0}), 150));
  EXPECT_FALSE(grammar_takes(sequences({}), 150));
  EXPECT_FALSE(grammar_takes(sequences({0, 0}), 150));     // bytes behind the announcement of no sequences
  EXPECT_FALSE(grammar_takes(sequences({0x80, 0}), 150));  // zero in its form of two bytes
  EXPECT_FALSE(grammar_takes(sequences({0x80}), 150));
  EXPECT_FALSE(grammar_takes(sequences({0xFF, 1}), 150));
  EXPECT_FALSE(grammar_takes(sequences({1}), 150));  // no byte of compression modes
  EXPECT_TRUE(grammar_takes(sequences({1, 0x54, 1}), 150));
  EXPECT_TRUE(grammar_takes(sequences({0x80, 1, 0xFC}), 150));
  EXPECT_TRUE(grammar_takes(sequences({0xFF, 0, 0, 0}), 150));
  for (const unsigned modes : {1U, 2U, 3U})
    EXPECT_FALSE(grammar_takes(sequences({1, modes, 1}), 150)) << modes;
  EXPECT_FALSE(grammar_takes(literals(0, 1, 0), 150));  // decodes to nothing
  EXPECT_TRUE(grammar_takes(literals(70ULL << 14 | 150 << 4 | treeless_literals, 3, 70), 150));
}

TEST(SegmentLiteralsProfile, RefusesLiteralsThatDoNotFillTheirBlock) {
  constexpr std::uint64_t header = 70ULL << 14 | 150 << 4 | huffman_literals;
  EXPECT_FALSE(profile_takes(literals(header, 3, 69), 150));  // no room for the sequence count
  EXPECT_FALSE(profile_takes(literals(header, 3, 60), 150));  // literals cut
  EXPECT_FALSE(profile_takes(literals(header, 2, 0), 150));   // their header cut
  EXPECT_FALSE(profile_takes(joined(literals(header, 3, 70), Buffer(1)), 150));  // one byte too many
  Buffer one_sequence = literals(header, 3, 70);
  one_sequence.back() = std::byte{1};
  EXPECT_FALSE(profile_takes(one_sequence, 150));
}

TEST(SegmentLiteralsProfile, RefusesOversizedBlocks) {
  // 128 KiB + 1 from one block
  constexpr std::uint32_t raw_size = (128 << 10) + 1;
  const Buffer content = literals(std::uint64_t{raw_size} << 4 | 3 << 2 | rle_literals, 3, 1);
  const Buffer large = joined(header_bytes(0xA0, raw_size, 4), block(compressed_block, 5, content, true));
  EXPECT_TRUE(breaks("ZST-2", large, raw_size));
  EXPECT_FALSE(is_literals_profile(large, raw_size, 1));
}

TEST(SegmentLiteralsProfile, RefusesWhatIsNoFrame) {
  const Buffer frame = three_blocks();
  for (std::size_t size = 0; size < frame.size(); ++size) {
    const Buffer cut(frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(size));
    ASSERT_FALSE(is_literals_profile(cut, 200, 1)) << size;
  }
  EXPECT_FALSE(is_literals_profile(frame, 0, 1));
  EXPECT_FALSE(is_literals_profile(frame, 200, 0));
}

}  // namespace
}  // namespace ptd::segment
