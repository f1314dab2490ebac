// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include <ptd/limits.hpp>

#include "model/check.hpp"
#include "wire/checked.hpp"
#include "wire/header.hpp"

namespace ptd::model {
namespace {

using wire::Maybe;

std::string segment_name(std::size_t i) { return "segment " + std::to_string(i); }

Result<void> check_version(const Layout& layout, const Version& version) {
  if (layout.major == version.major && layout.minor == version.minor) return {};
  return fail(ErrorCode::version_mismatch, "LAY-1", "the layout's version is not that of the header");
}

Result<void> check_encoding(const Segment& segment, std::uint64_t raw, std::size_t i) {
  const auto encoding = static_cast<unsigned>(segment.encoding);
  if (!is_encoding(encoding))
    return fail_on(ErrorCode::unlisted_number, "LAY-3", segment_name(i),
                   "number " + std::to_string(encoding) + " is not in the table of encodings");
  if (segment.alignment_log2 < limits::min_alignment_log2 ||
      segment.alignment_log2 > limits::max_alignment_log2)
    return fail_on(ErrorCode::alignment, "LAY-4", segment_name(i), "its alignment is not from 2^6 to 2^16");
  if (segment.chunk_log2 < limits::min_chunk_log2 || segment.chunk_log2 > limits::max_chunk_log2)
    return fail_on(ErrorCode::chunk_size, "LAY-5", segment_name(i),
                   "its chunk size is not from 2^14 to 2^24");
  if (raw % plane_width(segment.encoding) != 0)
    return fail_on(ErrorCode::plane_width, "LAY-6", segment_name(i),
                   std::to_string(raw) + " bytes cannot be split in elements of its encoding");
  return {};
}

Result<void> check_stored_size(const Segment& segment, std::uint64_t raw, std::size_t i) {
  const std::uint64_t least = is_coded(segment.encoding) ? segment.chunks : raw;
  if (segment.stored_size >= least && segment.stored_size <= raw) return {};
  return fail_on(ErrorCode::stored_size, "LAY-7", segment_name(i),
                 std::to_string(segment.stored_size) + " stored bytes cannot hold its content of " +
                     std::to_string(raw) + " bytes");
}

// Each content has exactly one segment.
Result<void> check_map(const Layout& layout, std::size_t contents) {
  std::vector<bool> seen(contents);
  for (std::size_t i = 0; i < layout.segments.size(); ++i) {
    const auto content = layout.segments[i].content;
    if (content >= contents || seen[content])
      return fail_on(ErrorCode::segment_map, "LAY-2", segment_name(i),
                     "content " + std::to_string(content) + " does not exist or has another segment");
    seen[content] = true;
  }
  if (layout.segments.size() == contents) return {};
  return fail(ErrorCode::segment_map, "LAY-2",
              "there are " + std::to_string(layout.segments.size()) + " segments for " +
                  std::to_string(contents) + " contents");
}

// Segments follow each other, each at the next multiple of its alignment [TIL-1]. Gives the end of the last.
Maybe place_segments(Layout& layout) {
  Maybe end = wire::header_bytes;
  for (auto& segment : layout.segments) {
    const Maybe start = wire::align_up(end, segment.alignment());
    end = wire::add(start, segment.stored_size);
    if (!end || *end > limits::max_file_bytes) return std::nullopt;
    segment.offset = *start;
  }
  return end;
}

// Tables follow the segments in the same order [TIL-2].
Maybe place_tables(Layout& layout, Maybe end) {
  end = wire::align_up(end, 8);
  for (auto& segment : layout.segments) {
    if (!end) return std::nullopt;
    segment.table_offset = *end;
    end = wire::add(end, wire::multiply(segment.chunks, table_entry_bytes(segment.encoding)));
  }
  return end;
}

}  // namespace

Result<void> place_layout(Layout& layout, const Model& model, const Version& version,
                          std::uint64_t layout_offset) {
  PTD_TRY(check_version(layout, version));
  PTD_TRY(check_map(layout, model.contents.size()));
  for (std::size_t i = 0; i < layout.segments.size(); ++i) {
    auto& segment = layout.segments[i];
    const auto raw = model.contents[segment.content].size;
    PTD_TRY(check_encoding(segment, raw, i));
    segment.chunks = wire::divide_up(raw, segment.chunk_bytes());
    PTD_TRY(check_stored_size(segment, raw, i));
  }
  const Maybe segments_end = place_segments(layout);
  if (!segments_end)
    return fail(ErrorCode::tiling, "TIL-1", "the segments would end behind the limit of 2^63 - 1 bytes");
  const Maybe tables_end = place_tables(layout, segments_end);
  if (tables_end == layout_offset) return {};
  return fail_at(ErrorCode::tiling, "TIL-3", layout_offset,
                 "the segments and chunk tables end at byte " +
                     (tables_end ? std::to_string(*tables_end) : std::string("2^64 or more")) +
                     ", not where the layout starts");
}

}  // namespace ptd::model
