// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Chunks of a segment, from the file to raw bytes.
#pragma once

#include <ptd/reader.hpp>
#include <vector>

#include "reader/table.hpp"
#include "segment/chunk.hpp"

namespace ptd::reader {

/// Chunks that are read with one call to the source: about this many raw bytes, at least one chunk.
inline constexpr std::uint64_t piece_bytes = std::uint64_t{1} << 20;

/// Chunks of this segment in a piece.
constexpr std::uint64_t chunks_in_piece(const Segment& segment) noexcept {
  return piece_bytes > segment.chunk_bytes() ? piece_bytes / segment.chunk_bytes() : 1;
}

/// What of a chunk is compared.
struct Checks {
  bool stored = false;  ///< the stored bytes with the stored hash [CHK-3]
  bool raw = true;      ///< the raw bytes with the raw hash [CHK-6]
};

/// Reads chunks; has scratch buffers, so make one a thread.
class ChunkReader {
 public:
  explicit ChunkReader(const ByteSource& source) : source_(source) {}

  /// Chunks [first, last) to `raw`, which has exactly their raw bytes.
  Result<void> read_chunks(const Segment& segment, const ChunkTable& table, std::uint64_t first,
                           std::uint64_t last, MutableBytes raw, const Checks& checks, ReadReport& report);

  /// Raw bytes [offset, offset + raw.size()) of the content; chunks that are only partly wanted go through
  /// scratch.
  Result<void> read_range(const Segment& segment, const ChunkTable& table, std::uint64_t offset,
                          MutableBytes raw, const Checks& checks, ReadReport& report);

 private:
  Result<Bytes> fetch(const Segment& segment, std::uint64_t begin, std::uint64_t end, MutableBytes into);
  Result<void> restore(const Segment& segment, const ChunkTable& table, std::uint64_t chunk, Bytes stored,
                       MutableBytes raw, const Checks& checks);
  Result<void> read_part(const Segment& segment, const ChunkTable& table, std::uint64_t chunk,
                         std::uint64_t offset, MutableBytes raw, const Checks& checks, ReadReport& report);
  Result<void> read_plain(const Segment& segment, std::uint64_t offset, MutableBytes raw, ReadReport& report);

  const ByteSource& source_;
  segment::ChunkDecoder decoder_;
  std::vector<std::byte> stored_;
  std::vector<std::byte> chunk_;
};

}  // namespace ptd::reader
