// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "foreign/guard.hpp"
#include "foreign/header_reader.hpp"
#include "foreign/safetensors_rules.hpp"
#include "wire/endian.hpp"

namespace ptd::foreign {
namespace {

std::string_view json_of(Bytes header, std::uint64_t size) {
  return {reinterpret_cast<const char*>(header.data()) + prefix_bytes,
          static_cast<std::size_t>(size - prefix_bytes)};
}

// Sorting bytes that are already in order is the common case: writers emit entries as they lie.
void sort_entries(std::vector<SafetensorsEntry>& entries) {
  const auto before = [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
    return std::tie(a.begin, a.name) < std::tie(b.begin, b.name);
  };
  if (!std::is_sorted(entries.begin(), entries.end(), before))
    std::sort(entries.begin(), entries.end(), before);
}

Result<SafetensorsHeader> parse(Bytes header, std::uint64_t file_size, const SafetensorsOptions& options) {
  PTD_LET(size, safetensors_header_size(header, file_size));
  if (header.size() < size)
    return fail(ErrorCode::argument, "",
                fmt::format("the header has {} bytes, {} were given", size, header.size()));
  const auto json = json_of(header, size);
  if (json.front() != '{')
    return fail_at(ErrorCode::foreign_input, "", prefix_bytes, "a safetensors header must begin with \"{\"");
  HeaderReader reader(options);
  PTD_TRY(walk_json(json, {"the safetensors header", prefix_bytes}, reader));
  PTD_LET(parsed, reader.take());
  parsed.data_offset = size;
  sort_entries(parsed.entries);
  PTD_TRY(check_ranges(parsed.entries, file_size - size, options.allow_shared));
  return std::move(parsed);
}

}  // namespace

Result<std::uint64_t> safetensors_header_size(Bytes first_8, std::uint64_t file_size) {
  const auto refuse = [](std::string message) {
    return fail_at(ErrorCode::foreign_input, "", 0, std::move(message));
  };
  if (first_8.size() < prefix_bytes || file_size < prefix_bytes)
    return refuse(fmt::format("a safetensors file begins with 8 bytes of header length; this one has {}",
                              std::min<std::uint64_t>(first_8.size(), file_size)));
  const auto json = wire::load<std::uint64_t>(first_8, 0);
  if (json > max_header_bytes)
    return refuse(fmt::format("the safetensors header is said to have {} bytes; readers accept at most {}",
                              json, max_header_bytes));
  if (json < 2)
    return refuse(fmt::format("the safetensors header is said to have {} bytes; \"{{}}\" has 2", json));
  if (json > file_size - prefix_bytes)
    return refuse(
        fmt::format("the file is cut short inside its safetensors header, which has {} bytes, {} of them "
                    "present; fetch or copy the file again",
                    json, file_size - prefix_bytes));
  return json + prefix_bytes;
}

Result<SafetensorsHeader> parse_safetensors(Bytes header, std::uint64_t file_size,
                                            const SafetensorsOptions& options) {
  return guarded([&] { return parse(header, file_size, options); });
}

}  // namespace ptd::foreign
