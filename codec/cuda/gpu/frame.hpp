// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Frames of the literals profile, down to the parts of a block: SPEC.md 14, RFC 8878. Each length is checked
// against what is there before it is used.
#pragma once

#include "cuda/gpu/seam.hpp"

namespace ptd::cuda::gpu {

/// What the decoder says to a frame. The greatest of several counts.
enum class Verdict : std::uint32_t {
  ok,               ///< libzstd takes it, too, and makes the same bytes of it
  outside_profile,  ///< not for this decoder [ZST-4, ZST-5]; libzstd may take it
  doubtful,  ///< breaks RFC 8878 where libzstd may pass over it: a stream has too few bits or too many, or
             ///< codes have 12
  damaged,   ///< breaks RFC 8878 or the frame grammar [ZST-1..3]; nobody takes it
};

inline constexpr std::uint32_t block_bytes = 131'072;
inline constexpr std::uint32_t max_raw_bytes = std::uint32_t{1} << 24;

/// The only way to touch a frame's bytes while it is parsed: gives what was asked for, or nothing.
struct Cursor {
  const std::uint8_t* at;
  const std::uint8_t* end;

  [[nodiscard]] PTD_HD std::uint32_t left() const { return static_cast<std::uint32_t>(end - at); }
  /// The next bytes as a little-endian number; at most 5.
  [[nodiscard]] PTD_HD bool take_number(std::uint32_t count, std::uint64_t& number) {
    if (count > left()) return false;
    number = 0;
    for (std::uint32_t i = 0; i < count; ++i) number |= static_cast<std::uint64_t>(*at++) << (8 * i);
    return true;
  }
  /// The next bytes, as a cursor of their own.
  [[nodiscard]] PTD_HD bool take(std::uint32_t count, Cursor& part) {
    if (count > left()) return false;
    part = {at, at + count};
    at += count;
    return true;
  }
};

/// How a chunk's plane bytes are cut into blocks [ZST-4]: the same number for each plane.
struct Cut {
  std::uint32_t plane_bytes;
  std::uint32_t blocks_per_plane;
  std::uint32_t blocks;

  /// `raw_bytes` is 1 .. max_raw_bytes and a multiple of `width`.
  PTD_HD Cut(std::uint32_t raw_bytes, std::uint32_t width)
      : plane_bytes(raw_bytes / width),
        blocks_per_plane((plane_bytes + block_bytes - 1) / block_bytes),
        blocks(blocks_per_plane * width) {}

  /// Where in the plane bytes a block begins.
  [[nodiscard]] PTD_HD std::uint32_t begin_of(std::uint32_t block) const {
    return block / blocks_per_plane * plane_bytes + block % blocks_per_plane * block_bytes;
  }
  [[nodiscard]] PTD_HD std::uint32_t size_of(std::uint32_t block) const {
    return smaller(block_bytes, plane_bytes - block % blocks_per_plane * block_bytes);
  }
};

enum class BlockType : std::uint32_t { raw, rle, compressed, reserved };

struct Block {
  bool last;
  BlockType type;
  std::uint32_t size;
  Cursor content;
};

/// Takes the header that the raw size determines [ZST-1].
PTD_HD bool take_frame_header(Cursor& frame, std::uint32_t raw_bytes) {
  constexpr std::uint64_t magic = 0xFD2FB528;
  constexpr std::uint32_t two_byte_from = 256, four_byte_from = 65'792;
  std::uint64_t found = 0, descriptor = 0, size = 0;
  const bool one = raw_bytes < two_byte_from, two = !one && raw_bytes < four_byte_from;
  if (!frame.take_number(4, found) || !frame.take_number(1, descriptor)) return false;
  if (!frame.take_number(one ? 1 : two ? 2 : 4, size)) return false;
  return found == magic &&
         descriptor == (one   ? 0x20U
                        : two ? 0x60U
                              : 0xA0U) &&
         size == (two ? raw_bytes - two_byte_from : raw_bytes);
}

/// Takes a block's header and content [ZST-2, ZST-3].
PTD_HD bool take_block(Cursor& frame, std::uint32_t raw_bytes, Block& block) {
  std::uint64_t header = 0;
  if (!frame.take_number(3, header)) return false;
  block.last = (header & 1) != 0;
  block.type = static_cast<BlockType>(header >> 1 & 3);
  block.size = static_cast<std::uint32_t>(header >> 3);
  if (block.type == BlockType::reserved || block.size == 0) return false;
  if (block.size > smaller(raw_bytes, block_bytes)) return false;
  return frame.take(block.type == BlockType::rle ? 1 : block.size, block.content);
}

/// Finds a block of a frame that has as many blocks as the profile wants.
PTD_HD Verdict find_block(Cursor frame, std::uint32_t raw_bytes, const Cut& cut, std::uint32_t index,
                          Block& block) {
  if (!take_frame_header(frame, raw_bytes)) return Verdict::damaged;
  for (std::uint32_t i = 0; i <= index; ++i) {
    if (!take_block(frame, raw_bytes, block)) return Verdict::damaged;
    if (block.last && frame.left() != 0) return Verdict::damaged;
    if (block.last != (i + 1 == cut.blocks)) return Verdict::outside_profile;
  }
  return Verdict::ok;
}

enum class LiteralsType : std::uint32_t { raw, rle, compressed, treeless };

struct Literals {
  LiteralsType type;
  std::uint32_t streams;  ///< 1 or 4
  std::uint32_t size;     ///< what they decode to
  Cursor coded;
};

/// The sizes of a literals section, RFC 8878, 3.1.1.3.1.1.
struct LiteralsSizes {
  std::uint32_t header;  ///< bytes
  std::uint32_t bits;    ///< of a size
};

PTD_HD LiteralsSizes literals_sizes(LiteralsType type, std::uint32_t format) {
  if (type == LiteralsType::compressed || type == LiteralsType::treeless)
    return format < 2 ? LiteralsSizes{3, 10} : format == 2 ? LiteralsSizes{4, 14} : LiteralsSizes{5, 18};
  return (format & 1) == 0 ? LiteralsSizes{1, 5} : format == 1 ? LiteralsSizes{2, 12} : LiteralsSizes{3, 20};
}

/// Takes a literals section's header and its coded bytes.
PTD_HD bool take_literals(Cursor& content, Literals& literals) {
  if (content.left() == 0) return false;
  const std::uint32_t first = *content.at;
  const std::uint32_t format = first >> 2 & 3;
  literals.type = static_cast<LiteralsType>(first & 3);
  const bool is_stored = literals.type == LiteralsType::raw || literals.type == LiteralsType::rle;
  const LiteralsSizes sizes = literals_sizes(literals.type, format);
  std::uint64_t header = 0;
  if (!content.take_number(sizes.header, header)) return false;
  header >>= is_stored && sizes.bits == 5 ? 3 : 4;
  const auto size = static_cast<std::uint32_t>(header & ((1U << sizes.bits) - 1));
  const auto coded = static_cast<std::uint32_t>(header >> sizes.bits);
  literals.streams = format == 0 ? 1 : 4;
  literals.size = size;
  if (size > block_bytes) return false;
  return content.take(literals.type == LiteralsType::rle ? 1 : is_stored ? size : coded, literals.coded);
}

/// The literals of a compressed block that has no sequences and decodes to `expected` bytes [ZST-5].
PTD_HD Verdict find_literals(Cursor content, std::uint32_t expected, Literals& literals) {
  std::uint64_t sequences = 0;
  if (!take_literals(content, literals) || !content.take_number(1, sequences)) return Verdict::damaged;
  if (sequences != 0) return Verdict::outside_profile;
  if (content.left() != 0 || literals.size == 0) return Verdict::damaged;
  if (literals.type == LiteralsType::treeless || literals.size != expected) return Verdict::outside_profile;
  return Verdict::ok;
}

}  // namespace ptd::cuda::gpu
