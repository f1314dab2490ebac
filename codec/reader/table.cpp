// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "reader/table.hpp"

#include <algorithm>
#include <new>

#include "model/check.hpp"
#include "wire/endian.hpp"
#include "wire/hash.hpp"

namespace ptd::reader {
namespace {

constexpr std::uint64_t max_cached_chunks = std::uint64_t{1} << 20;  // 24 MiB of tables

Failure bad_table(const Segment& segment, std::uint64_t chunk) {
  return fail_at(
      ErrorCode::chunk_table, "CHK-2",
      segment.table_offset + chunk * model::table_entry_bytes(segment.encoding),
      "the chunk table gives a stored size that cannot be; the file was not written by a conforming writer");
}

}  // namespace

std::uint64_t ChunkTable::raw_end(std::uint64_t chunk) const noexcept {
  return std::min(raw_begin(chunk + 1), raw_size_);
}

std::uint64_t ChunkTable::stored_begin(std::uint64_t chunk) const noexcept {
  return stored_begins_.empty() ? std::min(raw_begin(chunk), raw_size_) : stored_begins_[chunk];
}

Result<ChunkTable> ChunkTable::parse(const Segment& segment, std::uint64_t raw_size, Bytes bytes) {
  if (wire::xxh3(bytes) != segment.table_hash)
    return fail_at(ErrorCode::table_hash, "CHK-1", segment.table_offset,
                   "a chunk table does not match its hash; the file is damaged, so fetch it again");
  ChunkTable table;
  table.chunk_log2_ = segment.chunk_log2;
  table.raw_size_ = raw_size;
  const bool coded = is_coded(segment.encoding);
  const std::uint64_t entry = model::table_entry_bytes(segment.encoding);
  table.raw_hashes_.reserve(segment.chunks);
  if (coded) table.stored_begins_.push_back(0);
  for (std::uint64_t i = 0; i < segment.chunks; ++i) {
    table.raw_hashes_.push_back(wire::load<std::uint64_t>(bytes, i * entry));
    if (!coded) continue;
    table.stored_hashes_.push_back(wire::load<std::uint64_t>(bytes, i * entry + 8));
    const auto stored = wire::load<std::uint64_t>(bytes, i * entry + 16);
    if (stored == 0 || stored > table.raw_end(i) - table.raw_begin(i)) return bad_table(segment, i);
    table.stored_begins_.push_back(table.stored_begins_.back() + stored);  // at most raw_size
  }
  if (table.stored_begin(segment.chunks) != segment.stored_size)
    return bad_table(segment, segment.chunks - 1);
  return table;
}

Result<TablePtr> load_table(const ByteSource& source, const Segment& segment, std::uint64_t raw_size) {
  try {
    const std::uint64_t size = segment.chunks * model::table_entry_bytes(segment.encoding);
    const Bytes all = source.in_memory();
    std::vector<std::byte> buffer(all.empty() ? size : 0);
    if (all.empty()) PTD_TRY(source.read(segment.table_offset, buffer));
    PTD_LET(table, ChunkTable::parse(segment, raw_size,
                                     all.empty() ? Bytes(buffer) : all.subspan(segment.table_offset, size)));
    return std::make_shared<const ChunkTable>(std::move(table));
  } catch (const std::bad_alloc&) {
    return fail_at(ErrorCode::no_memory, "", segment.table_offset, "not enough memory for a chunk table");
  }
}

Result<TablePtr> TableCache::get(const ByteSource& source, const Segment& segment, std::uint64_t raw_size) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = tables_.find(segment.content); found != tables_.end()) return found->second;
  }
  PTD_LET(table, load_table(source, segment, raw_size));
  if (segment.chunks > max_cached_chunks) return table;
  const std::lock_guard lock(mutex_);
  if (chunks_ + segment.chunks > max_cached_chunks) {
    tables_.clear();
    chunks_ = 0;
  }
  if (tables_.emplace(segment.content, table).second) chunks_ += segment.chunks;
  return table;
}

}  // namespace ptd::reader
