// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// The GPU's decoder and hashes, run on the host and compared with the libraries.
#include <gtest/gtest.h>

#include "cuda/gpu/on_host.hpp"
#include "cuda/gpu/sha256.hpp"
#include "segment/digest.hpp"
#include "segment/planes.hpp"
#include "tests/cuda_gpu_samples.hpp"

namespace ptd::cuda::gpu {
namespace {

using namespace samples;

// Exact copies let the address sanitizer see any access outside.
Verdict decode(const Chunk& chunk, Buffer& raw) {
  const Buffer stored = chunk.stored;
  const unsigned width = plane_width(chunk.encoding);
  Buffer planes(chunk.raw_size, std::byte{0xA5});
  const Verdict verdict = decode_on_host(stored, width, planes);
  raw.resize(chunk.raw_size);
  if (verdict == Verdict::ok) segment::merge_planes(planes, raw, width, sign_rotated(chunk.encoding));
  return verdict;
}

// --- valid frames --------------------------------------------------------------------------------------

TEST(CudaGpuDecoderHost, DecodesWhatTheLibraryWrites) {
  std::size_t frames = 0;
  for (const auto& chunk : valid_chunks()) {
    if (!is_frame(chunk)) continue;
    ++frames;
    Buffer raw;
    ASSERT_EQ(decode(chunk, raw), Verdict::ok) << chunk.name;
    ASSERT_EQ(raw, decode_by_library(chunk).value()) << chunk.name;
  }
  EXPECT_GT(frames, 200U);
}

TEST(CudaGpuDecoderHost, TheCutOfLongPlanesIsTheProfiles) {
  const auto cut = Cut(2 * (block_bytes + 1000), 2);
  EXPECT_EQ(cut.blocks, 4U);
  EXPECT_EQ(cut.begin_of(1), block_bytes);
  EXPECT_EQ(cut.size_of(1), 1000U);
  EXPECT_EQ(cut.begin_of(2), block_bytes + 1000);
  EXPECT_EQ(cut.size_of(2), block_bytes);
  EXPECT_EQ(Cut(2 * block_bytes, 2).blocks, 2U);
}

// --- frames put together -------------------------------------------------------------------------------

void append(Buffer& to, std::uint64_t number, unsigned count) {
  for (unsigned i = 0; i < count; ++i) to.push_back(static_cast<std::byte>(number >> (8 * i) & 0xFF));
}
void append(Buffer& to, const Buffer& bytes) { to.insert(to.end(), bytes.begin(), bytes.end()); }

Buffer bytes_of(std::initializer_list<unsigned> values) {
  Buffer bytes;
  for (const auto value : values) append(bytes, value, 1);
  return bytes;
}

// One plane of 300 bytes: 236 literals of any kind, or what stands for them, would not do; so one block of
// all.
constexpr std::uint32_t small_raw = 300;

Chunk of_blocks(std::string name, const std::vector<std::pair<std::uint32_t, Buffer>>& blocks,
                std::size_t raw_size = small_raw) {
  Chunk chunk{std::move(name), Encoding::zstd, {}, raw_size};
  const segment::FrameHeader header(raw_size);
  chunk.stored.assign(header.bytes().begin(), header.bytes().end());
  for (const auto& [head, content] : blocks) {
    append(chunk.stored, head, 3);
    append(chunk.stored, content);
  }
  return chunk;
}

enum : std::uint32_t { raw_type = 0, rle_type = 1, compressed_type = 2, reserved_type = 3 };

std::uint32_t head(std::uint32_t type, std::size_t size, bool last = true) {
  return static_cast<std::uint32_t>(size) << 3 | type << 1 | (last ? 1 : 0);
}

Chunk of_compressed(std::string name, const Buffer& content) {
  return of_blocks(std::move(name), {{head(compressed_type, content.size()), content}});
}

// A literals section of 300 bytes with the longest form of header.
Buffer coded_literals(const Buffer& coded, std::uint64_t type = 2, std::uint64_t size = small_raw,
                      unsigned sequences = 0) {
  Buffer content;
  append(content, type | 3 << 2 | size << 4 | static_cast<std::uint64_t>(coded.size()) << 22, 5);
  append(content, coded);
  append(content, sequences, 1);
  return content;
}

// Two symbols of a bit each, 0 and 1, by direct weights: 1 and, implied, 1.
const Buffer two_symbols = bytes_of({128, 0x10});

// So many zero bits: symbols 0.
Buffer zero_bits(unsigned bits) {
  Buffer stream(bits / 8 + 1);
  stream.back() = static_cast<std::byte>(1U << bits % 8);
  return stream;
}

Buffer four_streams(const Buffer& tree, const std::vector<Buffer>& streams) {
  Buffer coded = tree;
  for (unsigned i = 0; i < 3; ++i) append(coded, streams[i].size(), 2);
  for (const auto& stream : streams) append(coded, stream);
  return coded;
}

Buffer good_streams(const Buffer& tree = two_symbols) {
  return four_streams(tree, {zero_bits(75), zero_bits(75), zero_bits(75), zero_bits(75)});
}

testing::AssertionResult says(Verdict expected, const Chunk& chunk) {
  Buffer raw;
  const Verdict verdict = decode(chunk, raw);
  const auto library = decode_by_library(chunk);
  if (verdict != expected)
    return testing::AssertionFailure() << chunk.name << ": verdict " << static_cast<unsigned>(verdict);
  if (verdict == Verdict::ok && (!library || *library != raw))
    return testing::AssertionFailure() << chunk.name << ": the library disagrees";
  return testing::AssertionSuccess();
}

TEST(CudaGpuDecoderHost, TakesEveryKindOfBlockAndLiterals) {
  EXPECT_TRUE(says(Verdict::ok, of_blocks("rle", {{head(rle_type, 300), Buffer(1)}})));
  EXPECT_TRUE(says(Verdict::ok, of_blocks("raw", {{head(raw_type, 300), Buffer(300, std::byte{9})}})));
  Buffer rle_literals = bytes_of({1 | 1 << 2 | (300 & 15) << 4, 300 >> 4, 0x55, 0});
  EXPECT_TRUE(says(Verdict::ok, of_compressed("rle literals", rle_literals)));
  EXPECT_TRUE(says(Verdict::ok, of_compressed("four streams", coded_literals(good_streams()))));
  Buffer single;
  Buffer coded = two_symbols;
  append(coded, zero_bits(300));
  append(single, 2 | 300 << 4 | coded.size() << 14, 3);
  append(single, coded);
  append(single, 0, 1);
  EXPECT_TRUE(says(Verdict::ok, of_compressed("one stream", single)));
}

TEST(CudaGpuDecoderHost, TakesRawLiteralsBesideABlockThatPaysForThem) {
  // A frame is smaller than its raw bytes, though the grammar does not ask for it here.
  Buffer raw_literals = bytes_of({1 << 2 | (100 & 15) << 4, 100 >> 4});
  append(raw_literals, Buffer(100, std::byte{3}));
  append(raw_literals, 0, 1);
  Chunk chunk = of_blocks(
      "raw literals",
      {{head(compressed_type, raw_literals.size(), false), raw_literals}, {head(rle_type, 100), Buffer(1)}},
      200);
  chunk.encoding = Encoding::zstd_planes2;
  EXPECT_TRUE(says(Verdict::ok, chunk));
}

TEST(CudaGpuDecoderHost, RefusesBrokenFrameHeaders) {
  const Chunk good = of_blocks("", {{head(rle_type, 300), Buffer(1)}});
  for (std::size_t bit = 0; bit < 8 * 7; ++bit) {
    Chunk chunk = good;
    chunk.name = "bit " + std::to_string(bit);
    chunk.stored[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
    ASSERT_TRUE(says(Verdict::damaged, chunk));
  }
  for (std::size_t size = 0; size < good.stored.size(); ++size) {
    Chunk chunk = good;
    chunk.name = "cut to " + std::to_string(size);
    chunk.stored.resize(size);
    ASSERT_TRUE(says(Verdict::damaged, chunk));
  }
}

TEST(CudaGpuDecoderHost, RefusesBrokenBlocks) {
  const Buffer one(1), all(300);
  EXPECT_TRUE(says(Verdict::damaged, of_blocks("reserved type", {{head(reserved_type, 300), all}})));
  EXPECT_TRUE(says(Verdict::damaged, of_blocks("size 0", {{head(raw_type, 0), {}}})));
  EXPECT_TRUE(says(Verdict::damaged, of_blocks("over the raw size", {{head(rle_type, 301), one}})));
  EXPECT_TRUE(says(Verdict::damaged, of_blocks("over 128 KiB", {{head(rle_type, 131'073), one}}, 200'000)));
  EXPECT_TRUE(says(Verdict::damaged, of_blocks("past the end", {{head(raw_type, 300), Buffer(299)}})));
  EXPECT_TRUE(says(Verdict::damaged, of_blocks("bytes behind", {{head(rle_type, 300), Buffer(2)}})));
  EXPECT_TRUE(says(Verdict::outside_profile, of_blocks("not last", {{head(rle_type, 300, false), one}})));
  EXPECT_TRUE(says(Verdict::outside_profile, of_blocks("too short", {{head(rle_type, 299), one}})));
  EXPECT_TRUE(says(Verdict::outside_profile,
                   of_blocks("two blocks", {{head(rle_type, 100, false), one}, {head(rle_type, 200), one}})));
}

TEST(CudaGpuDecoderHost, RefusesBrokenLiteralsSections) {
  EXPECT_TRUE(says(Verdict::damaged, of_compressed("empty", bytes_of({0}))));
  EXPECT_TRUE(says(Verdict::damaged, of_compressed("cut header", bytes_of({2 | 3 << 2, 0, 0}))));
  Buffer beyond = coded_literals(good_streams());
  beyond.resize(beyond.size() - 2);
  EXPECT_TRUE(says(Verdict::damaged, of_compressed("past the block", beyond)));
  Buffer no_count = coded_literals(good_streams());
  no_count.pop_back();
  EXPECT_TRUE(says(Verdict::damaged, of_compressed("no sequences section", no_count)));
  Buffer behind = coded_literals(good_streams());
  append(behind, 0, 1);
  EXPECT_TRUE(says(Verdict::damaged, of_compressed("bytes behind it", behind)));
  EXPECT_TRUE(says(Verdict::damaged, of_compressed("no literals", coded_literals(good_streams(), 2, 0))));
  EXPECT_TRUE(
      says(Verdict::damaged, of_compressed("over 128 KiB", coded_literals(good_streams(), 2, 131'073))));
  EXPECT_TRUE(
      says(Verdict::outside_profile, of_compressed("other size", coded_literals(good_streams(), 2, 299))));
  EXPECT_TRUE(says(Verdict::outside_profile, of_compressed("treeless", coded_literals(good_streams(), 3))));
  EXPECT_TRUE(
      says(Verdict::outside_profile, of_compressed("sequences", coded_literals(good_streams(), 2, 300, 1))));
}

Chunk of_tree(std::string name, const Buffer& tree) {
  return of_compressed(std::move(name), coded_literals(good_streams(tree)));
}

TEST(CudaGpuDecoderHost, RefusesBrokenDirectWeights) {
  EXPECT_TRUE(says(Verdict::ok, of_tree("two symbols", two_symbols)));
  EXPECT_TRUE(says(Verdict::ok, of_tree("an unused half byte", bytes_of({128, 0x1F}))));
  EXPECT_TRUE(says(Verdict::damaged, of_tree("all weights 0", bytes_of({129, 0x00}))));
  EXPECT_TRUE(says(Verdict::damaged, of_tree("sum no power of two", bytes_of({130, 0x33, 0x10}))));
  EXPECT_TRUE(says(Verdict::damaged, of_tree("no two longest codes", bytes_of({129, 0x22}))));
  EXPECT_TRUE(says(Verdict::damaged, of_tree("weight 13", bytes_of({129, 0xD1}))));
  EXPECT_TRUE(says(Verdict::doubtful, of_tree("weight 12", bytes_of({129, 0xC1}))));
  EXPECT_TRUE(says(Verdict::damaged, of_compressed("no tree", coded_literals({}))));
  EXPECT_TRUE(says(Verdict::damaged, of_compressed("cut tree", coded_literals(bytes_of({255, 0x11})))));
}

// Weights 1 1 2 3 ..., and the last one implied: codes of 11 bits for 11 weights, of 12 for 12.
TEST(CudaGpuDecoderHost, RefusesCodesOfTwelveBits) {
  const Buffer twelve = bytes_of({127 + 12, 0x11, 0x23, 0x45, 0x67, 0x89, 0xAB});
  EXPECT_TRUE(says(Verdict::doubtful, of_tree("12 bits", twelve)));
  const Buffer eleven = bytes_of({127 + 11, 0x11, 0x23, 0x45, 0x67, 0x89, 0xA0});
  EXPECT_TRUE(says(Verdict::doubtful, of_tree("11 bits", eleven))) << "each symbol needs 11, and has one";
}

TEST(CudaGpuDecoderHost, RefusesBrokenCodedWeights) {
  EXPECT_TRUE(says(Verdict::damaged, of_tree("no bytes", bytes_of({0}))));
  EXPECT_TRUE(says(Verdict::damaged, of_tree("accuracy 7", bytes_of({4, 0x02, 0, 0, 1}))));
  EXPECT_TRUE(says(Verdict::damaged, of_tree("cut probabilities", bytes_of({1, 0xF0}))));
  EXPECT_TRUE(says(Verdict::damaged, of_tree("no end of stream", bytes_of({4, 0x10, 0x30, 0x6F, 0}))));
}

TEST(CudaGpuDecoderHost, RefusesStreamsThatDoNotEndWithTheirSymbols) {
  const auto with = [](std::size_t index, const Buffer& stream) {
    std::vector<Buffer> streams(4, zero_bits(75));
    streams[index] = stream;
    return of_compressed("stream " + std::to_string(index),
                         coded_literals(four_streams(two_symbols, streams)));
  };
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_TRUE(says(Verdict::doubtful, with(i, zero_bits(74)))) << "a bit too few";
    EXPECT_TRUE(says(Verdict::doubtful, with(i, zero_bits(76)))) << "a bit too many";
    EXPECT_TRUE(says(Verdict::doubtful, with(i, zero_bits(7)))) << "far too few";
    EXPECT_TRUE(says(Verdict::doubtful, with(i, zero_bits(200)))) << "far too many";
    EXPECT_TRUE(says(Verdict::doubtful, with(i, Buffer(10)))) << "no mark";
    EXPECT_TRUE(says(Verdict::damaged, with(i, {}))) << "nothing";
  }
  Buffer jump = two_symbols;
  append(jump, 0xFFFF, 2);
  append(jump, Buffer(60, std::byte{1}));
  EXPECT_TRUE(says(Verdict::damaged, of_compressed("sizes past the end", coded_literals(jump))));
  EXPECT_TRUE(says(Verdict::damaged, of_compressed("no sizes", coded_literals(two_symbols))));
}

// --- differences from the library ----------------------------------------------------------------------

struct Counts {
  std::size_t taken = 0, refused = 0, doubtful = 0, outside = 0;
};

// A verdict is a promise about the library's.
void compare(const Chunk& chunk, Counts& counts) {
  Buffer raw;
  const Verdict verdict = decode(chunk, raw);
  const auto library = decode_by_library(chunk);
  switch (verdict) {
    case Verdict::ok:
      ASSERT_TRUE(library) << chunk.name << ": accepted what the library refuses";
      ASSERT_EQ(raw, *library) << chunk.name;
      ++counts.taken;
      break;
    case Verdict::outside_profile:
      ASSERT_FALSE(library && is_of_profile(chunk)) << chunk.name << ": of the profile, and refused";
      ++counts.outside;
      break;
    case Verdict::doubtful:
      ++counts.doubtful;
      break;
    case Verdict::damaged:
      ASSERT_FALSE(library) << chunk.name << ": refused what the library takes";
      ++counts.refused;
  }
}

std::vector<Chunk> small_frames() {
  std::vector<Chunk> frames;
  for (auto& chunk : valid_chunks())
    if (is_frame(chunk) && chunk.stored.size() < 6000) frames.push_back(std::move(chunk));
  return frames;
}

TEST(CudaGpuDecoderHost, VerdictsAboutMutatedFramesHold) {
  const auto frames = small_frames();
  Mutator mutator(20261130);
  Counts counts;
  for (int i = 0; i < 60'000; ++i) {
    Chunk chunk = frames[mutator.below(frames.size())];
    mutator.change(chunk.stored);
    if (!is_frame(chunk) || chunk.stored.empty()) continue;
    ASSERT_NO_FATAL_FAILURE(compare(chunk, counts));
  }
  EXPECT_GT(counts.taken, 1000U);
  EXPECT_GT(counts.refused, 1000U);
  EXPECT_GT(counts.outside, 10U);
  EXPECT_LT(counts.doubtful, counts.taken) << "doubt is not the rule";
}

TEST(CudaGpuDecoderHost, VerdictsAboutEveryChangedBitHold) {
  const Chunk good =
      encoded("", Encoding::zstd_planes2, segment::samples::normal(segment::samples::bf16, 300, 0.02));
  ASSERT_TRUE(is_frame(good));
  Counts counts;
  for (std::size_t bit = 0; bit < 8 * good.stored.size(); ++bit) {
    Chunk chunk = good;
    chunk.name = "bit " + std::to_string(bit);
    chunk.stored[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
    ASSERT_NO_FATAL_FAILURE(compare(chunk, counts));
  }
}

// --- hashes --------------------------------------------------------------------------------------------

TEST(CudaGpuDecoderHost, HashesChunksAsTheLibraryDoes) {
  const Buffer bytes = segment::samples::uniform(70'000);
  const auto same = [&](std::size_t begin, std::size_t size) {
    const Bytes part = Bytes(bytes).subspan(begin, size);
    return xxh3_on_host(part) == segment::xxh3(part);
  };
  for (std::size_t size = 0; size <= 2200; ++size) ASSERT_TRUE(same(size % 13, size)) << size;
  for (const std::size_t size : {8192, 16'384, 65'535, 65'536, 65'537}) ASSERT_TRUE(same(3, size)) << size;
}

TEST(CudaGpuDecoderHost, HashesLeavesAsTheLibraryDoes) {
  const Buffer bytes = segment::samples::uniform(8192);
  for (std::size_t size = 1; size <= bytes.size(); size += size < 200 ? 1 : 333) {
    Buffer mine(32), librarys(32);
    sha256::hash(reinterpret_cast<const std::uint8_t*>(bytes.data()), static_cast<std::uint32_t>(size),
                 reinterpret_cast<std::uint8_t*>(mine.data()));
    segment::hash_leaves(Bytes(bytes).first(size), librarys);
    ASSERT_EQ(mine, librarys) << size;
  }
}

}  // namespace
}  // namespace ptd::cuda::gpu
