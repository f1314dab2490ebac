// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "reader/chunk_reader.hpp"

#include <algorithm>
#include <cstring>

#include "wire/hash.hpp"

namespace ptd::reader {
namespace {

Failure damaged(ErrorCode code, std::string_view rule, std::uint64_t offset, std::uint64_t chunk) {
  return fail_at(
      code, rule, offset,
      "chunk " + std::to_string(chunk) + " does not match its hash; the file is damaged, so fetch it again");
}

}  // namespace

// The stored bytes [begin, end) of a segment: in place, or read to `into`.
Result<Bytes> ChunkReader::fetch(const Segment& segment, std::uint64_t begin, std::uint64_t end,
                                 MutableBytes into) {
  if (const Bytes all = source_.in_memory(); !all.empty())
    return all.subspan(segment.offset + begin, end - begin);
  PTD_TRY(source_.read(segment.offset + begin, into));
  return Bytes(into);
}

Result<void> ChunkReader::restore(const Segment& segment, const ChunkTable& table, std::uint64_t chunk,
                                  Bytes stored, MutableBytes raw, const Checks& checks) {
  const std::uint64_t place = segment.offset + table.stored_begin(chunk);
  if (is_coded(segment.encoding)) {
    if (checks.stored && wire::xxh3(stored) != table.stored_hash(chunk))
      return damaged(ErrorCode::stored_hash, "CHK-3", place, chunk);
    if (auto decoded = decoder_.decode(segment.encoding, stored, raw); !decoded) {
      decoded.error().offset = place;
      return decoded;
    }
  } else if (stored.data() != raw.data()) {
    std::memcpy(raw.data(), stored.data(), raw.size());
  }
  if (checks.raw && wire::xxh3(raw) != table.raw_hash(chunk))
    return damaged(ErrorCode::chunk_data, "CHK-6", place, chunk);
  return {};
}

Result<void> ChunkReader::read_chunks(const Segment& segment, const ChunkTable& table, std::uint64_t first,
                                      std::uint64_t last, MutableBytes raw, const Checks& checks,
                                      ReadReport& report) {
  const std::uint64_t base = table.stored_begin(first);
  const std::uint64_t size = table.stored_begin(last) - base;
  const bool coded = is_coded(segment.encoding);
  if (coded && source_.in_memory().empty()) stored_.resize(size);
  PTD_LET(stored, fetch(segment, base, base + size, coded ? MutableBytes(stored_) : raw));
  for (std::uint64_t i = first; i < last; ++i)
    PTD_TRY(restore(
        segment, table, i,
        stored.subspan(table.stored_begin(i) - base, table.stored_begin(i + 1) - table.stored_begin(i)),
        raw.subspan(table.raw_begin(i) - table.raw_begin(first), table.raw_end(i) - table.raw_begin(i)),
        checks));
  report.chunks += last - first;
  report.raw_bytes += raw.size();
  report.stored_bytes += size;
  return {};
}

Result<void> ChunkReader::read_part(const Segment& segment, const ChunkTable& table, std::uint64_t chunk,
                                    std::uint64_t offset, MutableBytes raw, const Checks& checks,
                                    ReadReport& report) {
  chunk_.resize(table.raw_end(chunk) - table.raw_begin(chunk));
  PTD_TRY(read_chunks(segment, table, chunk, chunk + 1, chunk_, checks, report));
  std::memcpy(raw.data(), chunk_.data() + (offset - table.raw_begin(chunk)), raw.size());
  return {};
}

// Unchecked bytes as they are need no whole chunks.
Result<void> ChunkReader::read_plain(const Segment& segment, std::uint64_t offset, MutableBytes raw,
                                     ReadReport& report) {
  PTD_LET(stored, fetch(segment, offset, offset + raw.size(), raw));
  if (stored.data() != raw.data()) std::memcpy(raw.data(), stored.data(), raw.size());
  report.chunks += (offset + raw.size() - 1) / segment.chunk_bytes() - offset / segment.chunk_bytes() + 1;
  report.raw_bytes += raw.size();
  report.stored_bytes += raw.size();
  return {};
}

Result<void> ChunkReader::read_range(const Segment& segment, const ChunkTable& table, std::uint64_t offset,
                                     MutableBytes raw, const Checks& checks, ReadReport& report) {
  if (raw.empty()) return {};
  if (!is_coded(segment.encoding) && !checks.raw) return read_plain(segment, offset, raw, report);
  while (!raw.empty()) {
    const std::uint64_t chunk = offset / segment.chunk_bytes();
    const std::uint64_t whole = raw.size() == table.raw_end(segment.chunks - 1) - offset
                                    ? segment.chunks - chunk
                                    : raw.size() / segment.chunk_bytes();
    const bool aligned = offset == table.raw_begin(chunk) && whole > 0;
    const std::uint64_t last = chunk + std::min(whole, chunks_in_piece(segment));
    const std::uint64_t end =
        aligned ? table.raw_end(last - 1) : std::min(table.raw_end(chunk), offset + raw.size());
    const auto part = raw.first(end - offset);
    PTD_TRY(aligned ? read_chunks(segment, table, chunk, last, part, checks, report)
                    : read_part(segment, table, chunk, offset, part, checks, report));
    raw = raw.subspan(part.size());
    offset = end;
  }
  return {};
}

}  // namespace ptd::reader
