// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// The parts of a zstd frame (RFC 8878), for those who check frames and those who write them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <ptd/bytes.hpp>
#include <ptd/limits.hpp>

namespace ptd::segment {

inline constexpr std::uint64_t max_frame_raw_bytes = std::uint64_t{1} << limits::max_chunk_log2;
inline constexpr std::size_t max_block_bytes = std::size_t{128} << 10;
inline constexpr std::size_t block_header_bytes = 3;

/// The only way to touch a frame's bytes: gives what was asked for, or nothing.
class Cursor {
 public:
  explicit Cursor(Bytes bytes) noexcept : rest_(bytes), size_(bytes.size()) {}

  std::optional<Bytes> take(std::size_t count) noexcept {
    if (count > rest_.size()) return std::nullopt;
    const Bytes taken = rest_.first(count);
    rest_ = rest_.subspan(count);
    return taken;
  }
  /// The next bytes as a little-endian number; at most 8.
  std::optional<std::uint64_t> take_number(std::size_t count) noexcept {
    const auto bytes = take(count);
    if (!bytes) return std::nullopt;
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < count; ++i) number |= std::to_integer<std::uint64_t>((*bytes)[i]) << (8 * i);
    return number;
  }
  [[nodiscard]] bool at_end() const noexcept { return rest_.empty(); }
  [[nodiscard]] std::size_t position() const noexcept { return size_ - rest_.size(); }

 private:
  Bytes rest_;
  std::size_t size_;
};

/// The frame header that the raw size determines [ZST-1].
class FrameHeader {
 public:
  /// `raw_size` is 1 .. max_frame_raw_bytes.
  explicit FrameHeader(std::uint64_t raw_size) noexcept;
  [[nodiscard]] Bytes bytes() const noexcept { return Bytes(bytes_).first(size_); }

 private:
  std::array<std::byte, 9> bytes_{};
  std::size_t size_ = 0;
};

enum class BlockType : std::uint8_t { raw = 0, rle = 1, compressed = 2, reserved = 3 };

struct BlockHeader {
  bool last = false;
  BlockType type = BlockType::raw;
  std::uint32_t size = 0;  ///< Block_Size: of the content, or of what an RLE block's byte becomes

  [[nodiscard]] std::size_t content_bytes() const noexcept { return type == BlockType::rle ? 1 : size; }
  [[nodiscard]] std::array<std::byte, block_header_bytes> bytes() const noexcept;
};

struct Block {
  BlockHeader header;
  Bytes content;
};

/// Blocks hold at most this many bytes, coded and decoded [ZST-2].
constexpr std::uint64_t block_limit(std::uint64_t raw_size) noexcept {
  return std::min<std::uint64_t>(raw_size, max_block_bytes);
}

/// The block at the cursor, checked against [ZST-2] and against the end of the bytes [ZST-3].
Result<Block> take_block(Cursor& cursor, std::uint64_t raw_size);

/// How many bytes a compressed block of the literals-only profile decodes to: one with literals that
/// are raw, RLE or Huffman coded with their own table, and no sequences. Nothing for any other.
std::optional<std::uint64_t> literals_only_size(Bytes content) noexcept;

}  // namespace ptd::segment
