// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "segment/digest.hpp"

#include <gtest/gtest.h>

// Not the code under test: that one uses vectors.
#define XXH_INLINE_ALL
#define XXH_VECTOR XXH_SCALAR
#include <xxhash.h>

#include "tests/segment_samples.hpp"

namespace ptd::segment {
namespace {

using Buffer = std::vector<std::byte>;

Buffer pattern(std::size_t size) {
  Buffer bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>((i * 31 + (i >> 8)) & 255);
  return bytes;
}

std::string hex(const Digest& digest) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (const std::byte byte : digest)
    for (const int shift : {4, 0}) text += digits[std::to_integer<unsigned>(byte) >> shift & 15];
  return text;
}

// python3 -c "import hashlib as h; n=8193; b=bytes((i*31+(i>>8))&255 for i in range(n));
// print(h.sha256(b).hexdigest(),
// h.sha256(b'PTD1SEG\0'+n.to_bytes(8,'little')+b''.join(h.sha256(b[i:i+8192]).digest()
// for i in range(0,n,8192))).hexdigest())"
struct KnownAnswer {
  std::size_t size;
  const char* sha256;
  const char* content_digest;
};
constexpr KnownAnswer known_answers[] = {
    {1, "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
     "ffe2f17ed80a24ad2e2e8660c584a221c79a81f2490a03ebad96f5360ccd260d"},
    {8191, "9c20bca6f53fb9698b7dd49657f328b08bf84586a9eb026df81f799cd561570b",
     "ed60c6cd94d8f732eb3665bca04a6265337318be187378af5fca892d5f903ba7"},
    {8192, "bd7e4dbc9c4a0a1f454f72dea053d5a8870388978ce6e1845b14f21186405c6f",
     "2f193ae001fa516f9e0f950692951dd4773be0ab8be2395df784c7e925cf7808"},
    {8193, "956f23030a7dc84d867b2132730f46a9f9af0f9779c399f1b1d06d84868c0281",
     "bbe297b1e1ddb072ad3aea4f62d1f82006061cff710cdb83ee932bc05d463057"},
    {16384, "83a5ee9c1db0b82ae94961fee75a195f6104c65235c07590569657709c1316e8",
     "daefecdc58cd2861d31490f305a737e432aab7f95518a713e83c8aac48b37213"},
    {524288, "a6eb07274aa3d3a81626b9ce1e510dbf34f44470528bcc5f5efbd53d1b9e18fa",
     "1e57794226e8b2ef5326f5ff97478d05e6c5a94b0ce4b660a0edfa1da6132119"},
    {524289, "3b4c117bc21c15305e020fce5076bcf43301661b413178cb5b2fb8446e56634f",
     "44d91bf2ef29ee8ade56f8afb476c3004e1240ba3eb497462630cea80997d4f4"},
    {1000000, "b96047041d16fe8ee33b276f47c283a470181da2bbf923b84825c7612b086bde",
     "446eff33d36d3ed22a6d3324ba81651b25bbc490b337ced622eb180a325a9998"},
};

TEST(SegmentDigest, Sha256KnownAnswers) {
  EXPECT_EQ(hex(sha256({})), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  for (const auto& known : known_answers)
    EXPECT_EQ(hex(sha256(pattern(known.size))), known.sha256) << known.size;
}

TEST(SegmentDigest, ContentDigestKnownAnswers) {
  for (const auto& known : known_answers)
    EXPECT_EQ(hex(content_digest(pattern(known.size))), known.content_digest) << known.size;
}

TEST(SegmentDigest, LeavesHashedInPartsGiveTheSameRoot) {
  for (const auto& known : known_answers) {
    const Buffer bytes = pattern(known.size);
    RootHasher started(known.size);
    RootHasher root = std::move(started);
    for (std::size_t at = 0; at < bytes.size(); at += 3 * leaf_bytes) {
      const Bytes part = Bytes(bytes).subspan(at, std::min<std::size_t>(3 * leaf_bytes, bytes.size() - at));
      Buffer leaves((part.size() + leaf_bytes - 1) / leaf_bytes * 32);
      hash_leaves(part, leaves);
      root.add(leaves);
    }
    EXPECT_EQ(hex(root.finish()), known.content_digest) << known.size;
  }
}

TEST(SegmentDigest, LeavesFillExactlyTheirRoom) {
  const Buffer bytes = pattern(2 * leaf_bytes + 1);
  Buffer leaves(4 * 32, std::byte{0xAA});
  hash_leaves(bytes, MutableBytes(leaves).first(3 * 32));
  const Digest last = sha256(Bytes(bytes).last(1));
  EXPECT_TRUE(std::equal(last.begin(), last.end(), leaves.begin() + 2 * 32));
  EXPECT_TRUE(
      std::all_of(leaves.begin() + 3 * 32, leaves.end(), [](std::byte b) { return b == std::byte{0xAA}; }));
}

TEST(SegmentDigest, SizeIsPartOfTheContentDigest) {
  RootHasher one(1), two(2);
  EXPECT_NE(one.finish(), two.finish());
}

TEST(SegmentXxh3, PublishedValueOfNothing) { EXPECT_EQ(xxh3({}), 0x2D06800538D394C2U); }

TEST(SegmentXxh3, MatchesTheScalarReferenceForEveryShortSize) {
  const Buffer bytes = samples::uniform(200'000);
  for (std::size_t size = 0; size < 1'200; ++size)
    ASSERT_EQ(xxh3(Bytes(bytes).first(size)), XXH3_64bits(bytes.data(), size)) << size;
  for (const std::size_t size : {16'384UL, 65'537UL, 199'999UL})
    EXPECT_EQ(xxh3(Bytes(bytes).subspan(1, size)), XXH3_64bits(bytes.data() + 1, size)) << size;
}

TEST(SegmentAllZero, SeesEverySingleBit) {
  EXPECT_TRUE(all_zero({}));
  Buffer bytes(300);
  for (std::size_t size = 0; size <= bytes.size(); ++size) ASSERT_TRUE(all_zero(Bytes(bytes).first(size)));
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    bytes[bit / 8] = static_cast<std::byte>(1U << bit % 8);
    ASSERT_FALSE(all_zero(bytes)) << bit;
    bytes[bit / 8] = std::byte{0};
  }
}

TEST(SegmentAllZero, EqualBytesAreNotZeros) {
  EXPECT_FALSE(all_zero(Buffer(1, std::byte{1})));
  EXPECT_FALSE(all_zero(Buffer(100, std::byte{7})));
}

}  // namespace
}  // namespace ptd::segment
