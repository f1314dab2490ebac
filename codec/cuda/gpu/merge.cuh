// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Raw bytes out of planes, 16 at a time (SPEC.md 13).
#pragma once

#include "cuda/gpu/block.hpp"
#include "cuda/gpu/jobs.hpp"

namespace ptd::cuda::gpu {

/// `words` words at an address of any alignment. Of memory outside, only bytes are read that share an aligned
/// word with one inside.
template <unsigned words>
__device__ void load_words(const std::uint8_t* at, std::uint32_t (&to)[words]) {
  if constexpr (words == 4)
    if (is_aligned(at, 16)) {
      const uint4 all = *reinterpret_cast<const uint4*>(at);
      to[0] = all.x, to[1] = all.y, to[2] = all.z, to[3] = all.w;
      return;
    }
  const unsigned shift = reinterpret_cast<std::uintptr_t>(at) % 4 * 8;
  const auto* const from = reinterpret_cast<const std::uint32_t*>(at - shift / 8);
  std::uint32_t low = from[0];
  for (unsigned i = 0; i < words; ++i) {
    const std::uint32_t high = shift != 0 || i + 1 < words ? from[i + 1] : 0;
    to[i] = __funnelshift_r(low, high, shift);
    low = high;
  }
}

/// A chunk's planes, wherever their blocks lie.
template <unsigned width>
struct Planes {
  static constexpr unsigned part_bytes = 16 / width;  ///< of a plane, for 16 raw bytes

  const Piece* pieces;
  Cut cut;

  __device__ explicit Planes(const ChunkJob& job)
      : pieces(reinterpret_cast<const Piece*>(job.pieces)), cut(job.raw_bytes, width) {}

  [[nodiscard]] __device__ const Piece& piece(unsigned plane, std::uint32_t element) const {
    return pieces[plane * cut.blocks_per_plane + element / block_bytes];
  }
  [[nodiscard]] __device__ std::uint32_t byte(unsigned plane, std::uint32_t element) const {
    const Piece& from = piece(plane, element);
    return from.bytes == nullptr ? static_cast<std::uint32_t>(from.value) : from.bytes[element % block_bytes];
  }
  /// The bytes of 16 / width elements. A block has a multiple of 16 bytes, but for the last of a plane.
  __device__ void part(unsigned plane, std::uint32_t element, std::uint32_t (&to)[(part_bytes + 3) / 4]) const {
    const Piece& from = piece(plane, element);
    const std::uint8_t* const at = from.bytes + element % block_bytes;
    if (from.bytes == nullptr)
      for (auto& word : to) word = static_cast<std::uint32_t>(from.value) * 0x01010101;
    else if constexpr (part_bytes >= 4)
      load_words(at, to);
    else
      to[0] = at[0] | static_cast<std::uint32_t>(at[1]) << 8;
  }
};

/// Interleaves bytes: the low and the high halves of a and b.
__device__ inline std::uint32_t zip_low(std::uint32_t a, std::uint32_t b) { return __byte_perm(a, b, 0x5140); }
__device__ inline std::uint32_t zip_high(std::uint32_t a, std::uint32_t b) { return __byte_perm(a, b, 0x7362); }

__device__ inline Line merged_line(const Planes<1>& planes, std::uint32_t element) {
  Line line;
  planes.part(0, element, line.words);
  return line;
}

__device__ inline Line merged_line(const Planes<2>& planes, std::uint32_t element) {
  std::uint32_t a[2], b[2];
  planes.part(0, element, a);
  planes.part(1, element, b);
  return {{zip_low(a[0], b[0]), zip_high(a[0], b[0]), zip_low(a[1], b[1]), zip_high(a[1], b[1])}};
}

__device__ inline Line merged_line(const Planes<4>& planes, std::uint32_t element) {
  std::uint32_t p[4][1];
  for (unsigned k = 0; k < 4; ++k) planes.part(k, element, p[k]);
  const std::uint32_t low = zip_low(p[0][0], p[1][0]), high = zip_high(p[0][0], p[1][0]);
  const std::uint32_t low2 = zip_low(p[2][0], p[3][0]), high2 = zip_high(p[2][0], p[3][0]);
  return {{__byte_perm(low, low2, 0x5410), __byte_perm(low, low2, 0x7632), __byte_perm(high, high2, 0x5410),
           __byte_perm(high, high2, 0x7632)}};
}

__device__ inline Line merged_line(const Planes<8>& planes, std::uint32_t element) {
  std::uint32_t p[8][1];
  for (unsigned k = 0; k < 8; ++k) planes.part(k, element, p[k]);
  std::uint32_t quarter[4];  // bytes 2k and 2k + 1 of both elements
  for (unsigned k = 0; k < 4; ++k) quarter[k] = zip_low(p[2 * k][0], p[2 * k + 1][0]);
  return {{__byte_perm(quarter[0], quarter[1], 0x5410), __byte_perm(quarter[2], quarter[3], 0x5410),
           __byte_perm(quarter[0], quarter[1], 0x7632), __byte_perm(quarter[2], quarter[3], 0x7632)}};
}

/// The elements of a line, each rotated right by a bit.
template <unsigned width>
__device__ void rotate_back(Line& line) {
  if constexpr (width == 2)
    for (auto& word : line.words) word = (word >> 1 & 0x7FFF7FFF) | (word & 0x00010001) << 15;
  if constexpr (width == 4)
    for (auto& word : line.words) word = __funnelshift_r(word, word, 1);
  if constexpr (width == 8)
    for (unsigned i = 0; i < 4; i += 2) {
      const std::uint32_t low = line.words[i], high = line.words[i + 1];
      line.words[i] = __funnelshift_r(low, high, 1);
      line.words[i + 1] = __funnelshift_r(high, low, 1);
    }
}

template <unsigned width>
__device__ Line raw_line(const Planes<width>& planes, const ChunkJob& job, std::uint32_t offset) {
  Line line = merged_line(planes, offset / width);
  if (width > 1 && job.rotated != 0) rotate_back<width>(line);
  return line;
}

/// Writes one element, for what is left behind the last whole line.
template <unsigned width>
__device__ void write_element(const Planes<width>& planes, const ChunkJob& job, std::uint32_t element) {
  std::uint64_t bits = 0;
  for (unsigned k = 0; k < width; ++k) bits |= static_cast<std::uint64_t>(planes.byte(k, element)) << (8 * k);
  if (width > 1 && job.rotated != 0) bits = bits >> 1 | (bits & 1) << (8 * width - 1);
  auto* const to = reinterpret_cast<std::uint8_t*>(job.raw) + std::uint64_t{element} * width;
  for (unsigned k = 0; k < width; ++k) to[k] = static_cast<std::uint8_t>(bits >> (8 * k));
}

__device__ inline void write_line(std::uint8_t* to, const Line& line) {
  if (is_aligned(to, 16)) {
    *reinterpret_cast<uint4*>(to) = {line.words[0], line.words[1], line.words[2], line.words[3]};
    return;
  }
  for (unsigned i = 0; i < 16; ++i) to[i] = static_cast<std::uint8_t>(line.words[i / 4] >> (8 * (i % 4)));
}

}  // namespace ptd::cuda::gpu
