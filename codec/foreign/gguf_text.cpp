// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "foreign/gguf_text.hpp"

#include <fmt/format.h>

#include <cmath>
#include <ptd/limits.hpp>

#include "foreign/gguf_cursor.hpp"
#include "foreign/json_text.hpp"
#include "wire/utf8.hpp"

namespace ptd::foreign {
namespace {

constexpr std::string_view part = "a metadata value";  // never seen: the parser has been here

Failure not_json() { return fail(ErrorCode::unsupported_input, "", "JSON cannot say this value"); }

template <class Number>
Result<void> append_number(GgufCursor& cursor, std::string& out) {
  PTD_LET(bytes, cursor.take(sizeof(Number), part));
  Number value{};
  std::memcpy(&value, bytes.data(), sizeof value);
  if constexpr (std::is_floating_point_v<Number>) {
    if (!std::isfinite(value)) return not_json();
  }
  out += fmt::format("{}", value);
  return {};
}

Result<void> append_boolean(GgufCursor& cursor, std::string& out) {
  PTD_LET(value, cursor.number<std::uint8_t>(part));
  out += value == 0 ? "false" : "true";
  return {};
}

Result<void> append_string(GgufCursor& cursor, std::string& out) {
  PTD_LET(text, cursor.string(part));
  if (!wire::is_utf8(text)) return not_json();
  append_json_string(out, text);
  return {};
}

Result<void> append_json(GgufCursor& cursor, GgufType type, std::string& out);

Result<void> append_array(GgufCursor& cursor, std::string& out) {
  PTD_LET(type, read_gguf_type(cursor));
  PTD_LET(count, cursor.number<std::uint64_t>(part));
  out += '[';
  for (std::uint64_t i = 0; i < count; ++i) {
    if (i > 0) out += ',';
    PTD_TRY(append_json(cursor, type, out));
  }
  out += ']';
  return {};
}

Result<void> append_json(GgufCursor& cursor, GgufType type, std::string& out) {
  switch (type) {
    case GgufType::uint8:
      return append_number<std::uint8_t>(cursor, out);
    case GgufType::int8:
      return append_number<std::int8_t>(cursor, out);
    case GgufType::uint16:
      return append_number<std::uint16_t>(cursor, out);
    case GgufType::int16:
      return append_number<std::int16_t>(cursor, out);
    case GgufType::uint32:
      return append_number<std::uint32_t>(cursor, out);
    case GgufType::int32:
      return append_number<std::int32_t>(cursor, out);
    case GgufType::float32:
      return append_number<float>(cursor, out);
    case GgufType::boolean:
      return append_boolean(cursor, out);
    case GgufType::string:
      return append_string(cursor, out);
    case GgufType::array:
      return append_array(cursor, out);
    case GgufType::uint64:
      return append_number<std::uint64_t>(cursor, out);
    case GgufType::int64:
      return append_number<std::int64_t>(cursor, out);
    case GgufType::float64:
      return append_number<double>(cursor, out);
  }
  return not_json();
}

bool is_readable_key(std::string_view key) {
  return key.size() <= limits::max_name_bytes && wire::is_utf8(key) &&
         key.find('\0') == std::string_view::npos;
}

std::optional<PairSpec> string_pair(std::string key, GgufCursor& cursor) {
  const auto text = cursor.string(part);
  if (!text) return std::nullopt;
  return PairSpec{std::move(key), std::string(*text),
                  wire::is_utf8(*text) ? ValueKind::text : ValueKind::bytes};
}

}  // namespace

std::optional<PairSpec> readable_pair(const GgufPair& pair, Bytes file) {
  const auto value = file.subspan(pair.begin, pair.end - pair.begin);
  auto key = std::string(gguf_key_prefix) + pair.key;
  if (value.size() > max_readable_bytes || !is_readable_key(key)) return std::nullopt;
  GgufCursor cursor(value, value.size());
  if (pair.type == GgufType::string) return string_pair(std::move(key), cursor);
  std::string json;
  if (!append_json(cursor, pair.type, json)) return std::nullopt;
  return PairSpec{std::move(key), std::move(json), ValueKind::json};
}

}  // namespace ptd::foreign
