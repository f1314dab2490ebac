// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <charconv>
#include <ptd/error.hpp>

#include "wire/utf8.hpp"

namespace ptd {
namespace {

struct CodeRow {
  ErrorCode code;
  std::string_view name;
  ErrorClass error_class;
};

using enum ErrorClass;
constexpr auto code_table = std::to_array<CodeRow>({
    {ErrorCode::not_ptd, "not-ptd", malformed},
    {ErrorCode::too_short, "too-short", malformed},
    {ErrorCode::byte_order, "byte-order", malformed},
    {ErrorCode::header_hash, "header-hash", corrupt},
    {ErrorCode::major_version, "major-version", unsupported},
    {ErrorCode::header_size, "header-size", malformed},
    {ErrorCode::required_feature, "required-feature", unsupported},
    {ErrorCode::header_range, "header-range", malformed},
    {ErrorCode::truncated, "truncated", malformed},
    {ErrorCode::trailing_bytes, "trailing-bytes", malformed},
    {ErrorCode::reader_limit, "reader-limit", unsupported},
    {ErrorCode::layout_hash, "layout-hash", corrupt},
    {ErrorCode::model_hash, "model-hash", corrupt},
    {ErrorCode::encoding, "encoding", malformed},
    {ErrorCode::version_mismatch, "version-mismatch", invalid},
    {ErrorCode::limit, "limit", invalid},
    {ErrorCode::unlisted_number, "unlisted-number", invalid},
    {ErrorCode::size, "size", invalid},
    {ErrorCode::reference, "reference", invalid},
    {ErrorCode::external, "external", invalid},
    {ErrorCode::name, "name", invalid},
    {ErrorCode::variant, "variant", invalid},
    {ErrorCode::metadata, "metadata", invalid},
    {ErrorCode::duplicate, "duplicate", invalid},
    {ErrorCode::order, "order", invalid},
    {ErrorCode::owner, "owner", invalid},
    {ErrorCode::view_shape, "view-shape", invalid},
    {ErrorCode::view_bounds, "view-bounds", invalid},
    {ErrorCode::sub_byte, "sub-byte", invalid},
    {ErrorCode::packed, "packed", invalid},
    {ErrorCode::binding, "binding", invalid},
    {ErrorCode::unreferenced, "unreferenced", invalid},
    {ErrorCode::content_conflict, "content-conflict", invalid},
    {ErrorCode::segment_map, "segment-map", invalid},
    {ErrorCode::alignment, "alignment", invalid},
    {ErrorCode::chunk_size, "chunk-size", invalid},
    {ErrorCode::stored_size, "stored-size", invalid},
    {ErrorCode::plane_width, "plane-width", invalid},
    {ErrorCode::tiling, "tiling", malformed},
    {ErrorCode::padding, "padding", malformed},
    {ErrorCode::table_hash, "table-hash", corrupt},
    {ErrorCode::chunk_table, "chunk-table", invalid},
    {ErrorCode::stored_hash, "stored-hash", corrupt},
    {ErrorCode::frame, "frame", malformed},
    {ErrorCode::chunk_data, "chunk-data", corrupt},
    {ErrorCode::zero_content, "zero-content", invalid},
    {ErrorCode::content_digest, "content-digest", corrupt},
    {ErrorCode::pad_bits, "pad-bits", invalid},
    {ErrorCode::conflict, "conflict", invalid},
    {ErrorCode::foreign_input, "foreign-input", malformed},
    {ErrorCode::unsupported_input, "unsupported-input", unsupported},
    {ErrorCode::argument, "argument", usage},
    {ErrorCode::not_found, "not-found", usage},
    {ErrorCode::io, "io", environment},
    {ErrorCode::no_memory, "no-memory", environment},
    {ErrorCode::device, "device", environment},
    {ErrorCode::cancelled, "cancelled", environment},
    {ErrorCode::internal, "internal", internal},
});

constexpr bool rows_stand_at_their_number() {
  for (std::size_t i = 0; i < code_table.size(); ++i)
    if (static_cast<std::size_t>(code_table[i].code) != i) return false;
  return true;
}
static_assert(rows_stand_at_their_number());

const CodeRow& row_of(ErrorCode code) { return code_table[static_cast<std::size_t>(code)]; }

// Characters that change how the text around them is shown: a name must not be able to rewrite a
// line of a terminal or to read differently from what it is.
bool is_deceptive(char32_t code) {
  return code < 0x20 || (code >= 0x7F && code <= 0x9F) || code == 0x061C || code == 0x200E ||
         code == 0x200F || (code >= 0x2028 && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069) ||
         code == 0xFEFF;
}

void append_hex(std::string& out, std::uint32_t value, int width) {
  std::array<char, 8> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value, 16).ptr;
  const auto length = static_cast<std::size_t>(end - digits.data());
  if (length < static_cast<std::size_t>(width)) out.append(static_cast<std::size_t>(width) - length, '0');
  out.append(digits.data(), length);
}

void append_escape(std::string& out, std::uint32_t value, bool byte) {
  out += byte ? "\\x" : "\\u{";
  append_hex(out, value, byte ? 2 : 4);
  if (!byte) out += '}';
}

}  // namespace

std::string_view error_name(ErrorCode code) noexcept { return row_of(code).name; }
ErrorClass error_class(ErrorCode code) noexcept { return row_of(code).error_class; }

std::string_view error_class_name(ErrorClass error_class) noexcept {
  constexpr std::string_view names[] = {"malformed", "invalid",     "unsupported", "corrupt",
                                        "usage",     "environment", "internal"};
  return names[static_cast<std::size_t>(error_class)];
}

std::string escaped(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    const auto next = wire::decode_utf8(bytes);
    const std::size_t length = std::max<std::size_t>(next.length, 1);
    if (next.length == 0 || (next.length == 1 && is_deceptive(next.code)))
      append_escape(out, static_cast<unsigned char>(bytes[0]), true);
    else if (is_deceptive(next.code))
      append_escape(out, next.code, false);
    else
      out += bytes.substr(0, length);
    bytes.remove_prefix(length);
  }
  return out;
}

std::string Error::to_string() const {
  std::string out(error_name(code));
  if (!rule.empty()) out.append(" [").append(rule).append("]");
  if (offset) out.append(" at byte ").append(std::to_string(*offset));
  if (!subject.empty()) out.append(" in \"").append(escaped(subject)).append("\"");
  return out.append(": ").append(escaped(message));
}

Failure fail(ErrorCode code, std::string_view rule, std::string message) {
  return Failure(Error{code, rule, std::move(message), {}, {}});
}
Failure fail_at(ErrorCode code, std::string_view rule, std::uint64_t offset, std::string message) {
  return Failure(Error{code, rule, std::move(message), {}, offset});
}
Failure fail_on(ErrorCode code, std::string_view rule, std::string_view subject, std::string message) {
  return Failure(Error{code, rule, std::move(message), std::string(subject), {}});
}

}  // namespace ptd
