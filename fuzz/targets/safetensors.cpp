// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// safetensors files and the indices of sharded ones. Input: the file.
#include "foreign/safetensors.hpp"

#include <algorithm>

#include "support/conversion.hpp"
#include "support/require.hpp"
#include "support/target.hpp"
#include "wire/endian.hpp"

namespace ptd::fuzz {
namespace {

using foreign::SafetensorsHeader;

void require_in_file(const SafetensorsHeader& header, std::uint64_t file_size) {
  require(header.data_offset <= file_size, "the header lies in the file");
  for (const auto& entry : header.entries)
    require(entry.begin <= entry.end && entry.end <= file_size - header.data_offset,
            "tensors lie in the file");
}

bool same_entry(const foreign::SafetensorsEntry& a, const foreign::SafetensorsEntry& b) {
  return a.name == b.name && a.dtype == b.dtype && a.sizes == b.sizes && a.begin == b.begin && a.end == b.end;
}

// Names over one range come apart when they are written, so headers with such are left out.
void require_renderable(SafetensorsHeader header, std::uint64_t data_bytes) {
  auto again = header;
  const auto bytes = foreign::render_safetensors(again);
  if (!succeeded(bytes)) return;
  const auto back = foreign::parse_safetensors(*bytes, bytes->size() + data_bytes);
  require_success(back, "what was rendered is parsed");
  require(std::ranges::equal(back->entries, header.entries, same_entry), "entries come back as they were");
  require(back->metadata == header.metadata, "metadata comes back as it was");
}

std::string range_text(std::uint64_t begin, std::uint64_t end) {
  return "[" + std::to_string(begin) + "," + std::to_string(end) + "]";
}

/// A file like this one with other text in its header.
std::vector<std::byte> with_header(std::string_view json, Bytes data) {
  std::vector<std::byte> out(8);
  wire::store<std::uint64_t>(out, 0, json.size());
  const auto text = std::as_bytes(std::span(json));
  out.insert(out.end(), text.begin(), text.end());
  out.insert(out.end(), data.begin(), data.end());
  return out;
}

// A range is moved behind the data. Both ends must move at once for that, which fuzzers hardly ever do. What
// looks like a range may be part of something that is passed over, so the file may be good as well.
void check_moved(Bytes file, const SafetensorsHeader& header) {
  if (header.entries.empty()) return;
  const auto& entry = header.entries.front();
  const auto data = file.subspan(header.data_offset);
  const auto old = range_text(entry.begin, entry.end);
  std::string json(reinterpret_cast<const char*>(file.data()) + 8, header.data_offset - 8);
  const auto at = json.find("\"data_offsets\":" + old);
  if (at == std::string::npos) return;
  const auto behind = data.size() + 1;
  json.replace(json.find(old, at), old.size(), range_text(entry.begin + behind, entry.end + behind));
  const auto moved = with_header(json, data);
  const auto parsed = foreign::parse_safetensors(moved, moved.size());
  if (succeeded(parsed)) require_in_file(*parsed, moved.size());
}

void check_header(Bytes file, const foreign::SafetensorsOptions& options) {
  const auto size =
      foreign::safetensors_header_size(file.first(std::min<std::size_t>(8, file.size())), file.size());
  if (!succeeded(size)) return;
  require(*size <= file.size(), "the header lies in the file");
  const auto header = foreign::parse_safetensors(file.first(*size), file.size(), options);
  if (!succeeded(header)) return;
  require_in_file(*header, file.size());
  if (options.allow_shared) return;
  check_moved(file, *header);
  require_renderable(*header, file.size() - header->data_offset);
}

void check_index(Bytes json) {
  const auto index = foreign::parse_safetensors_index(json);
  if (!succeeded(index)) return;
  require(std::ranges::is_sorted(index->tensors), "tensors of an index are sorted");
  for (const auto& [name, shard] : index->tensors) require(shard < index->shards.size(), "shards exist");
  for (const std::filesystem::path shard : index->shards)
    require(shard.is_relative() && shard.has_filename() && std::ranges::count(shard, "..") == 0,
            "shards stay in their folder");
}

// The second export is that of a model that came from the first.
void check_conversion(Bytes input, const foreign::ImportOptions& options) {
  const auto file = converted(input, options);
  if (!file) return;
  const auto first = exported(*file, foreign::export_safetensors);
  if (!first) return;
  const auto again = converted(*first, options);
  require(again.has_value(), "what was exported is imported");
  require(exported(*again, foreign::export_safetensors) == first, "an export comes back as it was");
}

void run(Bytes input) {
  check_header(input, {});
  check_header(input, {.allow_shared = true, .metadata_as_json = true});
  check_index(input);
  foreign::ImportOptions lenient;
  lenient.allow_shared = lenient.metadata_as_json = lenient.allow_partial = true;
  check_conversion(input, {});
  check_conversion(input, lenient);
}

}  // namespace

Target safetensors_target() { return {"safetensors", run, {64 << 20, 1024}}; }

}  // namespace ptd::fuzz
