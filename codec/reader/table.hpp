// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Chunk tables: where each chunk of a segment is stored and what its hashes are.
#pragma once

#include <memory>
#include <mutex>
#include <ptd/bytes.hpp>
#include <ptd/layout.hpp>
#include <unordered_map>
#include <vector>

namespace ptd::reader {

/// The table of one segment, checked.
class ChunkTable {
 public:
  /// Takes the table's bytes apart [CHK-1, CHK-2]. `raw_size` is the content's.
  static Result<ChunkTable> parse(const Segment& segment, std::uint64_t raw_size, Bytes bytes);

  [[nodiscard]] std::uint64_t raw_hash(std::uint64_t chunk) const noexcept { return raw_hashes_[chunk]; }
  /// Coded segments only.
  [[nodiscard]] std::uint64_t stored_hash(std::uint64_t chunk) const noexcept {
    return stored_hashes_[chunk];
  }

  [[nodiscard]] std::uint64_t raw_begin(std::uint64_t chunk) const noexcept { return chunk << chunk_log2_; }
  [[nodiscard]] std::uint64_t raw_end(std::uint64_t chunk) const noexcept;
  /// From the start of the segment. stored_begin(chunks) is the stored size.
  [[nodiscard]] std::uint64_t stored_begin(std::uint64_t chunk) const noexcept;

 private:
  unsigned chunk_log2_ = 0;
  std::uint64_t raw_size_ = 0;
  std::vector<std::uint64_t> raw_hashes_;
  std::vector<std::uint64_t> stored_hashes_;
  std::vector<std::uint64_t> stored_begins_;  // coded segments only
};

using TablePtr = std::shared_ptr<const ChunkTable>;

/// Reads and checks the table of a segment.
Result<TablePtr> load_table(const ByteSource& source, const Segment& segment, std::uint64_t raw_size);

/// Keeps the tables of lately read segments, up to a bounded number of chunks in all. Thread-safe.
class TableCache {
 public:
  Result<TablePtr> get(const ByteSource& source, const Segment& segment, std::uint64_t raw_size);

 private:
  std::mutex mutex_;
  std::unordered_map<std::uint32_t, TablePtr> tables_;  // by content
  std::uint64_t chunks_ = 0;
};

}  // namespace ptd::reader
