// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "foreign/guard.hpp"
#include "foreign/json_text.hpp"
#include "foreign/key_stack.hpp"
#include "foreign/metadata.hpp"
#include "foreign/safetensors_rules.hpp"
#include "wire/checked.hpp"
#include "wire/endian.hpp"
#include "wire/utf8.hpp"

namespace ptd::foreign {
namespace {

using Entry = SafetensorsEntry;

Failure refuse(const Entry& entry, std::string_view what) {
  return fail_on(ErrorCode::unsupported_input, "", entry.name,
                 fmt::format("tensor {} {}", quote(entry.name), what));
}

Result<void> check_name(const Entry& entry) {
  if (entry.name == metadata_name)
    return refuse(entry, "has the name that safetensors reserves for text; rename it to write safetensors");
  if (!wire::is_utf8(entry.name)) return refuse(entry, "has a name that is not UTF-8");
  return check_tensor_name(entry.name);
}

// Nothing is written that `parse_safetensors` or the reference reader would refuse.
Result<std::uint64_t> bytes_of(const Entry& entry) {
  if (safetensors_dtype(entry.dtype).empty())
    return refuse(entry, fmt::format("has dtype {}, which safetensors lacks", dtype_name(entry.dtype)));
  const bool too_large =
      std::any_of(entry.sizes.begin(), entry.sizes.end(), [](auto n) { return n > max_number; });
  const auto bits = reference_bits(entry.dtype, entry.sizes);
  if (too_large || !bits)
    return refuse(entry,
                  fmt::format("is {}, which safetensors cannot count", shape_text(entry.dtype, entry.sizes)));
  if (*bits % 8 != 0)
    return refuse(entry, fmt::format("is {}, {} bits: safetensors holds only whole bytes",
                                     shape_text(entry.dtype, entry.sizes), *bits));
  return *bits / 8;
}

Result<void> place(std::vector<Entry>& entries) {
  std::uint64_t cursor = 0;
  for (auto& entry : entries) {
    PTD_TRY(check_name(entry));
    PTD_LET(bytes, bytes_of(entry));
    const auto end = wire::add(cursor, bytes);
    if (!end || *end > max_number) return refuse(entry, "ends beyond the largest file that can be");
    entry.begin = cursor;
    entry.end = cursor = *end;
  }
  return {};
}

Result<void> check_unique(const SafetensorsHeader& header) {
  KeyStack keys;
  keys.open();
  for (const auto& entry : header.entries) keys.add(entry.name);
  if (const auto twice = keys.close())
    return fail_on(ErrorCode::duplicate, "", *twice, "duplicate tensor name " + quote(*twice));
  keys.open();
  for (const auto& pair : header.metadata) keys.add(pair.first);
  if (const auto twice = keys.close())
    return fail_on(ErrorCode::duplicate, "", *twice, "duplicate metadata key " + quote(*twice));
  return {};
}

Result<void> check_metadata(const MetadataPairs& metadata) {
  for (const auto& [key, value] : metadata)
    if (!wire::is_utf8(key) || !wire::is_utf8(value))
      return fail_on(ErrorCode::unsupported_input, "", key,
                     fmt::format("metadata {} is not UTF-8, which safetensors requires", quote(key)));
  return {};
}

void append_metadata(std::string& out, const MetadataPairs& metadata) {
  append_json_string(out, metadata_name);
  char before = ':';
  std::string_view brace = "{";
  for (const auto& [key, value] : metadata) {
    out += before;
    out += brace;
    append_json_string(out, key);
    out += ':';
    append_json_string(out, value);
    before = ',';
    brace = "";
  }
  out += '}';
}

void append_entry(std::string& out, const Entry& entry) {
  append_json_string(out, entry.name);
  fmt::format_to(std::back_inserter(out), R"(:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
                 safetensors_dtype(entry.dtype), fmt::join(entry.sizes, ","), entry.begin, entry.end);
}

std::string render_json(const SafetensorsHeader& header) {
  std::string out = "{";
  if (!header.metadata.empty()) append_metadata(out, header.metadata);
  for (const auto& entry : header.entries) {
    if (out.size() > 1) out += ',';
    append_entry(out, entry);
  }
  out += '}';
  out.resize(static_cast<std::size_t>(*wire::align_up(out.size(), 8)), ' ');
  return out;
}

Result<void> check_header_bytes(std::uint64_t bytes) {
  if (bytes <= max_header_bytes) return {};
  return fail(
      ErrorCode::unsupported_input, "",
      fmt::format("the safetensors header would have {} bytes or more; readers accept at most {}, so write "
                  "fewer tensors to a file",
                  bytes, max_header_bytes));
}

std::uint64_t text_bytes(const SafetensorsHeader& header) {
  std::uint64_t bytes = 0;
  for (const auto& entry : header.entries) bytes += entry.name.size();
  for (const auto& [key, value] : header.metadata) bytes += key.size() + value.size();
  return bytes;
}

Result<std::vector<std::byte>> render(SafetensorsHeader& header) {
  PTD_TRY(check_header_bytes(text_bytes(header)));
  PTD_TRY(check_unique(header));
  PTD_TRY(check_metadata(header.metadata));
  PTD_TRY(place(header.entries));
  const auto json = render_json(header);
  PTD_TRY(check_header_bytes(json.size()));
  header.data_offset = prefix_bytes + json.size();
  std::vector<std::byte> bytes(prefix_bytes + json.size());
  wire::store<std::uint64_t>(bytes, 0, json.size());
  std::memcpy(bytes.data() + prefix_bytes, json.data(), json.size());
  return bytes;
}

}  // namespace

Result<std::vector<std::byte>> render_safetensors(SafetensorsHeader& header) {
  return guarded([&] { return render(header); });
}

}  // namespace ptd::foreign
