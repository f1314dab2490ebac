// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Chunks for the tests of the GPU's decoder: what the library writes, frames put together by hand, and what
// the library's own decoder says about them.
#pragma once

#include <algorithm>
#include <optional>
#include <random>

#include "segment/blocks.hpp"
#include "segment/chunk.hpp"
#include "segment/frame.hpp"
#include "tests/segment_samples.hpp"

namespace ptd::cuda::gpu::samples {

using Buffer = std::vector<std::byte>;

struct Chunk {
  std::string name;
  Encoding encoding = Encoding::zstd;
  Buffer stored;
  std::size_t raw_size = 0;
};

/// The raw bytes, if the host's decoder takes the chunk.
inline std::optional<Buffer> decode_by_library(const Chunk& chunk) {
  Buffer raw(chunk.raw_size);
  if (!segment::ChunkDecoder().decode(chunk.encoding, chunk.stored, raw)) return std::nullopt;
  return raw;
}

inline bool is_frame(const Chunk& chunk) { return chunk.stored.size() != chunk.raw_size; }

inline bool is_of_profile(const Chunk& chunk) {
  return segment::is_literals_profile(chunk.stored, chunk.raw_size, plane_width(chunk.encoding));
}

/// Bytes with `symbols` values, the first the most frequent, each next by `ratio` less so.
inline Buffer skewed(std::size_t size, unsigned symbols, double ratio, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<double> shares(symbols);
  for (unsigned i = 0; i < symbols; ++i) shares[i] = std::pow(ratio, i);
  std::discrete_distribution<unsigned> distribution(shares.begin(), shares.end());
  const auto start = static_cast<unsigned>(random());
  Buffer bytes(size);
  for (auto& byte : bytes) byte = static_cast<std::byte>((start + 7 * distribution(random)) & 0xFF);
  return bytes;
}

/// What the library makes of raw bytes.
inline Chunk encoded(std::string name, Encoding encoding, const Buffer& raw) {
  segment::ChunkEncoder encoder;
  const Bytes stored = encoder.encode(encoding, raw).value();
  return {std::move(name), encoding, {stored.begin(), stored.end()}, raw.size()};
}

inline constexpr Encoding coded_encodings[] = {
    Encoding::zstd,          Encoding::zstd_planes2,  Encoding::zstd_planes4, Encoding::zstd_planes8,
    Encoding::zstd_rotated2, Encoding::zstd_rotated4, Encoding::zstd_rotated8};

/// Chunks of all encodings, sizes around every limit, and codes of all shapes.
inline std::vector<Chunk> valid_chunks() {
  std::vector<Chunk> chunks;
  const auto add = [&](const std::string& name, Encoding encoding, const Buffer& raw) {
    chunks.push_back(
        encoded(name + " of " + std::to_string(raw.size()) + " as " + std::string(encoding_name(encoding)),
                encoding, raw));
  };
  std::uint64_t seed = 1;
  for (const auto encoding : coded_encodings) {
    const std::size_t width = plane_width(encoding);
    for (const std::size_t size :
         {8, 64, 240, 248, 256, 1024, 1032, 5000, 16'384, 65'536, 65'792, 131'072, 262'152})
      add("skewed", encoding, skewed(size / width * width, 40, 0.8, ++seed));
    add("one value", encoding, Buffer(40'000, std::byte{7}));
    add("noise", encoding, segment::samples::uniform(32'768));
    add("long", encoding, skewed(std::size_t{1} << 20, 100, 0.95, ++seed));
  }
  for (const unsigned symbols : {2U, 3U, 5U, 17U, 100U, 128U, 129U, 200U, 255U, 256U})
    for (const double ratio : {1.0, 0.99, 0.9, 0.7, 0.4})
      for (const std::size_t size : {300, 3000, 40'001})
        add(std::to_string(symbols) + " symbols by " + std::to_string(ratio), Encoding::zstd,
            skewed(size, symbols, ratio, ++seed));
  for (std::size_t size = 6; size < 80; ++size)
    add("two values", Encoding::zstd, skewed(size + 200, 2, 0.5, ++seed));
  const auto weights = [&](const std::string& name, segment::samples::FloatFormat format, Encoding encoding) {
    add(name, encoding, segment::samples::normal(format, (64 << 10) / format.bytes(), 0.02, ++seed));
  };
  using namespace segment::samples;
  weights("bf16", bf16, Encoding::zstd_planes2);
  weights("bf16", bf16, Encoding::zstd_rotated2);
  weights("fp16", fp16, Encoding::zstd_planes2);
  weights("fp8", fp8_e4m3, Encoding::zstd);
  weights("fp32", fp32, Encoding::zstd_rotated4);
  weights("fp64", fp64, Encoding::zstd_planes8);
  return chunks;
}

/// Frames with a few bits, bytes or lengths changed; the same ones for the same seed.
class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : random_(seed) {}

  void change(Buffer& bytes) {
    const unsigned changes = 1 + below(3);
    for (unsigned i = 0; i < changes && !bytes.empty(); ++i) change_once(bytes);
  }
  std::uint32_t below(std::size_t bound) { return static_cast<std::uint32_t>(random_() % bound); }

 private:
  // Most of what can be wrong stands at the beginning.
  std::size_t place(const Buffer& bytes) {
    const std::size_t most = below(4) == 0 ? bytes.size() : std::min<std::size_t>(bytes.size(), 100);
    return below(most);
  }
  void change_once(Buffer& bytes) {
    const auto at = bytes.begin() + static_cast<std::ptrdiff_t>(place(bytes));
    switch (below(6)) {
      case 0:
        *at = static_cast<std::byte>(below(256));
        return;
      case 1:
        bytes.erase(at);
        return;
      case 2:
        bytes.insert(at, static_cast<std::byte>(below(256)));
        return;
      case 3:
        bytes.resize(bytes.size() - below(std::min<std::size_t>(bytes.size(), 4)));
        return;
      default:
        *at ^= static_cast<std::byte>(1U << below(8));
    }
  }

  std::mt19937_64 random_;
};

}  // namespace ptd::cuda::gpu::samples
