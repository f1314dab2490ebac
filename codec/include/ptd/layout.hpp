// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Where a file's contents lie and how they are coded (SPEC.md, "Layout").
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace ptd {

/// How a segment's chunks are coded. The numbers are the file's [LAY-3].
enum class Encoding : std::uint8_t {
  raw = 1,           ///< the bytes as they are
  zstd = 2,          ///< one zstd frame a chunk
  zstd_planes2 = 3,  ///< byte planes of 2-byte elements, then zstd
  zstd_planes4 = 4,
  zstd_planes8 = 5,
  zstd_rotated2 = 6,  ///< sign bit rotated to the low end, byte planes of 2-byte elements, then zstd
  zstd_rotated4 = 7,
  zstd_rotated8 = 8,
};

/// True if the number is in the table above.
constexpr bool is_encoding(std::uint64_t number) noexcept { return number >= 1 && number <= 8; }

/// True for every encoding but raw: chunks have stored sizes and stored hashes of their own.
constexpr bool is_coded(Encoding encoding) noexcept { return encoding != Encoding::raw; }

/// Bytes of an element for the byte-plane split; 1 where there is no split.
constexpr unsigned plane_width(Encoding encoding) noexcept {
  constexpr unsigned widths[] = {1, 1, 1, 2, 4, 8, 2, 4, 8};
  return widths[static_cast<unsigned>(encoding)];
}

/// True if the sign bit was rotated to the low end before the split.
constexpr bool sign_rotated(Encoding encoding) noexcept { return encoding >= Encoding::zstd_rotated2; }

/// The stable spelling, for example "zstd-planes2".
std::string_view encoding_name(Encoding encoding) noexcept;

/// The stored form of one content. Offsets are computed from the tiling rules [TIL-*], not stored.
struct Segment {
  std::uint32_t content = 0;  ///< index into Model::contents
  Encoding encoding = Encoding::raw;
  std::uint8_t alignment_log2 = 12;
  std::uint8_t chunk_log2 = 16;
  std::uint64_t stored_size = 0;  ///< bytes in the file, padding excluded
  std::uint64_t table_hash = 0;   ///< XXH3-64 of the chunk table's bytes
  // Computed:
  std::uint64_t offset = 0;        ///< of the first stored byte
  std::uint64_t table_offset = 0;  ///< of the chunk table
  std::uint64_t chunks = 0;        ///< ceil(raw size / chunk size)

  [[nodiscard]] constexpr std::uint64_t alignment() const noexcept {
    return std::uint64_t{1} << alignment_log2;
  }
  [[nodiscard]] constexpr std::uint64_t chunk_bytes() const noexcept {
    return std::uint64_t{1} << chunk_log2;
  }
};

/// The segments of a file, in file order.
struct Layout {
  std::uint16_t major = 1;  ///< version of the format that it was written for
  std::uint16_t minor = 0;
  std::vector<Segment> segments;
};

}  // namespace ptd
