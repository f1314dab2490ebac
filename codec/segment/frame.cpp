// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "segment/frame.hpp"

#include "segment/blocks.hpp"

namespace ptd::segment {
namespace {

std::string at_byte(std::size_t position) { return " at byte " + std::to_string(position) + " of the frame"; }

Failure broken_block(std::size_t start, const std::string& what) {
  return fail(ErrorCode::frame, "ZST-2", "the block" + at_byte(start) + " " + what + "; the file is damaged");
}

Failure wrong_end(std::string_view what, std::size_t position) {
  return fail(ErrorCode::frame, "ZST-3", std::string(what) + at_byte(position) + "; the file is damaged");
}

BlockHeader parse_block_header(std::uint64_t number) noexcept {
  return {(number & 1) != 0, static_cast<BlockType>(number >> 1 & 3),
          static_cast<std::uint32_t>(number >> 3)};
}

// Sizes of the literals section, by RFC 8878, 3.1.1.3.1.1.
struct LiteralsHeader {
  std::uint64_t regenerated = 0;
  std::uint64_t coded = 0;
};

std::optional<LiteralsHeader> take_stored_literals(Cursor& cursor, unsigned first, bool rle) noexcept {
  const unsigned format = first >> 2 & 3;
  const bool one_byte = (format & 1) == 0;
  const auto more = cursor.take_number(one_byte ? 0 : format == 1 ? 1 : 2);
  if (!more) return std::nullopt;
  const std::uint64_t size = one_byte ? first >> 3 : (first >> 4 | *more << 4);
  return LiteralsHeader{size, rle ? 1 : size};
}

std::optional<LiteralsHeader> take_huffman_literals(Cursor& cursor, unsigned first) noexcept {
  const unsigned format = first >> 2 & 3;
  const unsigned size_bits = format < 2 ? 10 : format == 2 ? 14 : 18;
  const auto more = cursor.take_number((4 + 2 * size_bits) / 8 - 1);
  if (!more) return std::nullopt;
  const std::uint64_t sizes = first >> 4 | *more << 4;
  return LiteralsHeader{sizes & ((1U << size_bits) - 1), sizes >> size_bits};
}

enum class Treeless : bool { refused, taken };

std::optional<LiteralsHeader> take_literals_header(Cursor& cursor, Treeless treeless_blocks) noexcept {
  enum : unsigned { raw = 0, rle = 1, huffman = 2, treeless = 3 };
  const auto first = cursor.take_number(1);
  if (!first) return std::nullopt;
  const auto byte = static_cast<unsigned>(*first);
  switch (byte & 3) {
    case raw:
      return take_stored_literals(cursor, byte, false);
    case rle:
      return take_stored_literals(cursor, byte, true);
    case huffman:
      return take_huffman_literals(cursor, byte);
    default:  // treeless: it reuses an earlier block's table
      if (treeless_blocks == Treeless::refused) return std::nullopt;
      return take_huffman_literals(cursor, byte);
  }
}

// Number_of_Sequences, by RFC 8878, 3.1.1.3.2.1; but zero has only its form of one byte.
std::optional<std::uint64_t> take_sequence_count(Cursor& cursor) noexcept {
  const auto first = cursor.take_number(1);
  if (!first || *first < 128) return first;
  const auto more = cursor.take_number(*first < 255 ? 1 : 2);
  if (!more) return std::nullopt;
  const std::uint64_t count = *first < 255 ? ((*first - 128) << 8) + *more : *more + 0x7F00;
  return count == 0 ? std::nullopt : std::optional(count);
}

// What decoders of different versions disagree about, in a compressed block: one that decodes to nothing,
// bytes behind the announcement of no sequences, reserved bits [ZST-2].
bool is_unambiguous(Bytes content) noexcept {
  constexpr std::uint64_t reserved_bits = 3;
  Cursor cursor(content);
  const auto literals = take_literals_header(cursor, Treeless::taken);
  if (!literals || literals->regenerated > max_block_bytes || !cursor.take(literals->coded)) return false;
  const auto sequences = take_sequence_count(cursor);
  if (!sequences) return false;
  if (*sequences == 0) return literals->regenerated > 0 && cursor.at_end();
  const auto modes = cursor.take_number(1);
  return modes && (*modes & reserved_bits) == 0;
}

std::optional<std::uint64_t> decoded_size(const Block& block) noexcept {
  if (block.header.type == BlockType::compressed) return literals_only_size(block.content);
  return block.header.size;
}

}  // namespace

FrameHeader::FrameHeader(std::uint64_t raw_size) noexcept {
  constexpr std::uint64_t two_byte_from = 256, four_byte_from = 65'792;
  const auto put = [this](std::uint64_t number, unsigned count) {
    for (unsigned i = 0; i < count; ++i) bytes_[size_++] = static_cast<std::byte>(number >> (8 * i) & 0xFF);
  };
  put(0xFD2FB528, 4);
  if (raw_size < two_byte_from) {
    put(0x20, 1);
    put(raw_size, 1);
  } else if (raw_size < four_byte_from) {
    put(0x60, 1);
    put(raw_size - two_byte_from, 2);
  } else {
    put(0xA0, 1);
    put(raw_size, 4);
  }
}

std::array<std::byte, block_header_bytes> BlockHeader::bytes() const noexcept {
  const std::uint32_t number = size << 3 | static_cast<std::uint32_t>(type) << 1 | (last ? 1U : 0U);
  return {static_cast<std::byte>(number & 0xFF), static_cast<std::byte>(number >> 8 & 0xFF),
          static_cast<std::byte>(number >> 16 & 0xFF)};
}

Result<Block> take_block(Cursor& cursor, std::uint64_t raw_size) {
  const std::size_t start = cursor.position();
  const auto number = cursor.take_number(block_header_bytes);
  if (!number) return wrong_end("a block's header is missing", start);
  const BlockHeader header = parse_block_header(*number);
  if (header.type == BlockType::reserved) return broken_block(start, "has the reserved type 3");
  if (header.size == 0 || header.size > block_limit(raw_size))
    return broken_block(start, "has the size " + std::to_string(header.size) + " where 1 to " +
                                   std::to_string(block_limit(raw_size)) + " is allowed");
  const auto content = cursor.take(header.content_bytes());
  if (!content) return wrong_end("the chunk ends inside the block", start);
  if (header.type == BlockType::compressed && !is_unambiguous(*content))
    return broken_block(start, "is compressed in a way that decoders take differently");
  return Block{header, *content};
}

std::optional<std::uint64_t> literals_only_size(Bytes content) noexcept {
  Cursor cursor(content);
  const auto literals = take_literals_header(cursor, Treeless::refused);
  if (!literals || !cursor.take(literals->coded)) return std::nullopt;
  const auto sequences = cursor.take_number(1);
  if (sequences != 0 || !cursor.at_end()) return std::nullopt;
  return literals->regenerated;
}

Result<void> check_frame(Bytes stored, std::uint64_t raw_size) {
  if (raw_size == 0 || raw_size > max_frame_raw_bytes)
    return fail(ErrorCode::frame, "ZST-1", "no frame can stand for " + std::to_string(raw_size) + " bytes");
  Cursor cursor(stored);
  const FrameHeader expected(raw_size);
  const auto header = cursor.take(expected.bytes().size());
  if (!header || !std::ranges::equal(*header, expected.bytes()))
    return fail(ErrorCode::frame, "ZST-1",
                "the chunk does not start with the frame header of " + std::to_string(raw_size) +
                    " raw bytes; the file is damaged");
  for (bool last = false; !last;) {
    PTD_LET(block, take_block(cursor, raw_size));
    last = block.header.last;
  }
  if (!cursor.at_end()) return wrong_end("bytes follow the last block, which ends", cursor.position());
  return {};
}

// Whether the Huffman tables and streams are sound is the decoder's question.
bool is_literals_profile(Bytes stored, std::uint64_t raw_size, unsigned plane_width) {
  if (raw_size == 0 || plane_width == 0 || raw_size % plane_width != 0) return false;
  const std::uint64_t plane = raw_size / plane_width;
  Cursor cursor(stored);
  if (!cursor.take(FrameHeader(raw_size).bytes().size())) return false;
  std::uint64_t position = 0;
  for (bool last = false; !last;) {
    const auto block = take_block(cursor, raw_size);
    if (!block) return false;
    const auto size = decoded_size(*block);
    if (size != std::min<std::uint64_t>(max_block_bytes, plane - position % plane)) return false;
    position += *size;
    last = block->header.last;
  }
  return position == raw_size && cursor.at_end();
}

}  // namespace ptd::segment
