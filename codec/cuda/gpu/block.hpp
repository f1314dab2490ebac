// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// One block of a frame, from its stored bytes to a piece of a plane.
#pragma once

#include "cuda/gpu/streams.hpp"

namespace ptd::cuda::gpu {

/// The bytes of a block where they lie: in the frame, if it has them as they are, or where they were decoded
/// to; or one byte that stands for all.
struct Piece {
  const std::uint8_t* bytes;  ///< null: all are `value`
  std::uint64_t value;
};

struct FrameView {
  Cursor bytes;
  std::uint32_t raw_bytes;  ///< 1 .. max_raw_bytes, a multiple of the width
  std::uint32_t width;      ///< of elements: 1, 2, 4 or 8
};

/// Literals of a compressed block that are not coded.
PTD_HD Piece stored_piece(LiteralsType type, const Cursor& coded) {
  return type == LiteralsType::rle ? Piece{nullptr, *coded.at} : Piece{coded.at, 0};
}

/// Decodes block `index` of the frame's cut. `planes` has room for the plane bytes of the whole chunk; what
/// is Huffman coded goes there, to the block's own place. Members of the team all get the same.
template <class Team>
PTD_HD Verdict decode_block(const Team& team, const FrameView& frame, std::uint32_t index, Room& room,
                            std::uint8_t* planes, Piece& piece) {
  const Cut cut(frame.raw_bytes, frame.width);
  const std::uint32_t expected = cut.size_of(index);
  Block block{};
  Verdict verdict = find_block(frame.bytes, frame.raw_bytes, cut, index, block);
  if (verdict != Verdict::ok) return verdict;
  if (block.type != BlockType::compressed) {
    piece = stored_piece(block.type == BlockType::rle ? LiteralsType::rle : LiteralsType::raw, block.content);
    return block.size == expected ? Verdict::ok : Verdict::outside_profile;
  }
  Literals literals{};
  verdict = find_literals(block.content, expected, literals);
  if (verdict != Verdict::ok) return verdict;
  if (literals.type != LiteralsType::compressed) {
    piece = stored_piece(literals.type, literals.coded);
    return Verdict::ok;
  }
  std::uint8_t* const to = planes + cut.begin_of(index);
  piece = {to, 0};
  return decode_literals(team, literals, frame.bytes, room, to);
}

}  // namespace ptd::cuda::gpu
