// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Metadata values of GGUF: how long they are, and whether they are what they claim.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "foreign/gguf_cursor.hpp"

namespace ptd::foreign {
namespace {

// The format allows arrays in arrays without end; llama.cpp reads none of them.
constexpr int max_nesting = 8;

constexpr std::array<std::uint8_t, 13> widths{1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
constexpr std::uint64_t string_bytes = 8;     // its length
constexpr std::uint64_t array_bytes = 4 + 8;  // its elements' type, their number

std::uint64_t least_bytes(GgufType type) noexcept {
  if (type == GgufType::string) return string_bytes;
  return type == GgufType::array ? array_bytes : gguf_width(type);
}

Result<void> skip_value(GgufCursor& cursor, GgufType type, int nesting);

Result<void> check_booleans(Bytes bytes, std::uint64_t position) {
  const auto bad = std::ranges::find_if(bytes, [](std::byte b) { return b > std::byte{1}; });
  if (bad == bytes.end()) return {};
  return fail_at(ErrorCode::foreign_input, "", position + static_cast<std::uint64_t>(bad - bytes.begin()),
                 fmt::format("a boolean is 0 or 1, not {}", static_cast<unsigned>(*bad)));
}

Result<void> skip_scalars(GgufCursor& cursor, GgufType type, std::uint64_t count) {
  const auto position = cursor.position();
  PTD_LET(bytes, cursor.take(count * gguf_width(type), "a metadata value"));
  return type == GgufType::boolean ? check_booleans(bytes, position) : Result<void>();
}

Result<void> skip_array(GgufCursor& cursor, int nesting) {
  const auto position = cursor.position();
  if (nesting > max_nesting)
    return fail_at(ErrorCode::unsupported_input, "", position,
                   fmt::format("arrays are nested more than {} deep", max_nesting));
  PTD_LET(type, read_gguf_type(cursor));
  PTD_LET(count, cursor.count(least_bytes(type), "array elements"));
  if (gguf_width(type) > 0) return skip_scalars(cursor, type, count);
  for (std::uint64_t i = 0; i < count; ++i) PTD_TRY(skip_value(cursor, type, nesting));
  return {};
}

Result<void> skip_value(GgufCursor& cursor, GgufType type, int nesting) {
  if (type == GgufType::array) return skip_array(cursor, nesting + 1);
  if (type != GgufType::string) return skip_scalars(cursor, type, 1);
  PTD_TRY(cursor.string("a metadata string"));
  return {};
}

}  // namespace

std::uint64_t gguf_width(GgufType type) noexcept { return widths[static_cast<std::size_t>(type)]; }

Result<GgufType> read_gguf_type(GgufCursor& cursor) {
  const auto position = cursor.position();
  PTD_LET(number, cursor.number<std::uint32_t>("a value's type"));
  if (number < widths.size()) return GgufType{number};
  return fail_at(ErrorCode::foreign_input, "", position,
                 fmt::format("there is no type {} of metadata values", number));
}

Result<void> skip_gguf_value(GgufCursor& cursor, GgufType type) { return skip_value(cursor, type, 0); }

}  // namespace ptd::foreign
