// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <ptd/error.hpp>
#include <set>

namespace ptd {
namespace {

using namespace std::literals;
using enum ErrorClass;

// --- Codes --------------------------------------------------------------------------------------

struct Code {
  ErrorCode code;
  std::string_view name;
  ErrorClass error_class;
};

// Stable for ever: a name or class that changes here breaks vectors, scripts and other implementations.
constexpr Code codes[] = {
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
    {ErrorCode::internal, "internal", ErrorClass::internal},
};

TEST(ErrorCodes, NamesAndClassesStayAsTheyAre) {
  for (const auto& row : codes) {
    EXPECT_EQ(error_name(row.code), row.name);
    EXPECT_EQ(error_class(row.code), row.error_class) << row.name;
  }
}

TEST(ErrorCodes, EveryCodeIsListedOnceInTheOrderOfItsNumber) {
  for (std::size_t i = 0; i < std::size(codes); ++i) EXPECT_EQ(static_cast<std::size_t>(codes[i].code), i);
  EXPECT_EQ(static_cast<std::size_t>(ErrorCode::internal) + 1, std::size(codes));
}

TEST(ErrorCodes, NamesAreDistinctAndInKebabCase) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i <= static_cast<std::size_t>(ErrorCode::internal); ++i) {
    const auto name = error_name(static_cast<ErrorCode>(i));
    EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_FALSE(name.empty()) << i;
    EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz-"), std::string_view::npos) << name;
    EXPECT_EQ(name.find("--"), std::string_view::npos) << name;
    EXPECT_TRUE(name.front() != '-' && name.back() != '-') << name;
  }
}

TEST(ErrorCodes, ClassNames) {
  constexpr std::pair<ErrorClass, std::string_view> classes[] = {
      {malformed, "malformed"},
      {invalid, "invalid"},
      {unsupported, "unsupported"},
      {corrupt, "corrupt"},
      {usage, "usage"},
      {environment, "environment"},
      {ErrorClass::internal, "internal"},
  };
  for (const auto& [error_class, name] : classes) EXPECT_EQ(error_class_name(error_class), name);
}

// --- Escapes ------------------------------------------------------------------------------------

struct Escape {
  std::string in;
  std::string out;
};

TEST(Escaped, Table) {
  const Escape escapes[] = {
      {"", ""},
      {"layers.0.weight", "layers.0.weight"},
      {"gr\xC3\xBC\xC3\x9F \xE4\xB8\xAD \xF0\x9F\x98\x80",
       "gr\xC3\xBC\xC3\x9F \xE4\xB8\xAD \xF0\x9F\x98\x80"},
      {"a\0b"s, "a\\x00b"},
      {"line\nfeed\r\t", "line\\x0afeed\\x0d\\x09"},
      {"\x1B[2J", "\\x1b[2J"},
      {"\x7F", "\\x7f"},
      {"\x1F !~", "\\x1f !~"},
      // C1, as characters and as bare bytes.
      {"\xC2\x80\xC2\x9B\xC2\x9F", "\\u{0080}\\u{009b}\\u{009f}"},
      {"\xC2\xA0", "\xC2\xA0"},
      {"\x9B[2J", "\\x9b[2J"},
      // Bidirectional marks, embeddings, overrides and isolates; line and paragraph separators.
      {"\xD8\x9C", "\\u{061c}"},
      {"\xE2\x80\x8D", "\xE2\x80\x8D"},
      {"\xE2\x80\x8E\xE2\x80\x8F", "\\u{200e}\\u{200f}"},
      {"\xE2\x80\xA7", "\xE2\x80\xA7"},
      {"\xE2\x80\xA8\xE2\x80\xA9", "\\u{2028}\\u{2029}"},
      {"\xE2\x80\xAA\xE2\x80\xAB\xE2\x80\xAC\xE2\x80\xAD\xE2\x80\xAE",
       "\\u{202a}\\u{202b}\\u{202c}\\u{202d}\\u{202e}"},
      {"\xE2\x80\xAF", "\xE2\x80\xAF"},
      {"\xE2\x81\xA5", "\xE2\x81\xA5"},
      {"\xE2\x81\xA6\xE2\x81\xA7\xE2\x81\xA8\xE2\x81\xA9", "\\u{2066}\\u{2067}\\u{2068}\\u{2069}"},
      {"\xE2\x81\xAA", "\xE2\x81\xAA"},
      {"\xEF\xBB\xBF", "\\u{feff}"},
      // Not UTF-8: byte by byte, and what follows is read afresh.
      {"\xFF\xFE", "\\xff\\xfe"},
      {"\xC0\x80", "\\xc0\\x80"},
      {"\xED\xA0\x80", "\\xed\\xa0\\x80"},
      {"\xF4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},
      {"\xE2\x82", "\\xe2\\x82"},
      {"\xC3\xC3\xBC", "\\xc3\xC3\xBC"},
  };
  for (const auto& escape : escapes) EXPECT_EQ(escaped(escape.in), escape.out);
}

TEST(Escaped, EveryControlCharacter) {
  for (int code = 0; code < 0xA0; ++code) {
    const bool control = code < 0x20 || code >= 0x7F;
    const std::string bytes =
        code < 0x80 ? std::string(1, static_cast<char>(code)) : std::string{'\xC2', static_cast<char>(code)};
    EXPECT_EQ(escaped(bytes) != bytes, control) << code;
  }
}

TEST(Escaped, EveryByteThatIsNoCharacter) {
  for (int byte = 0x80; byte < 0x100; ++byte) {
    const std::string out = escaped(std::string(1, static_cast<char>(byte)));
    EXPECT_EQ(out.size(), 4) << byte;
    EXPECT_EQ(out.substr(0, 2), "\\x") << byte;
    EXPECT_EQ(std::stoi(out.substr(2), nullptr, 16), byte);
  }
}

// Messages quote names that are escaped already, and are escaped once more when they are shown.
TEST(Escaped, TwiceIsOnce) {
  const std::string text = "a\x1B[2J\xFF\xE2\x80\xAE \xC3\xBC \\";
  EXPECT_EQ(escaped(escaped(text)), escaped(text));
}

// --- Errors -------------------------------------------------------------------------------------

TEST(ErrorText, EachPartWhereItIsThere) {
  struct Case {
    Failure failure;
    std::string text;
  };
  const Case cases[] = {
      {fail(ErrorCode::argument, "", "what is wrong"), "argument: what is wrong"},
      {fail(ErrorCode::version_mismatch, "VER-1", "x"), "version-mismatch [VER-1]: x"},
      {fail_at(ErrorCode::header_hash, "HDR-4", 72, "y"), "header-hash [HDR-4] at byte 72: y"},
      {fail_at(ErrorCode::not_ptd, "HDR-1", 0, "y"), "not-ptd [HDR-1] at byte 0: y"},
      {fail_on(ErrorCode::name, "NAM-1", "w", "z"), "name [NAM-1] in \"w\": z"},
      {fail_on(ErrorCode::io, "", "a\nb", "no\x1Bn"), "io in \"a\\x0ab\": no\\x1bn"},
      {Failure(Error{ErrorCode::frame, "ZST-1", "m", "s", 5}), "frame [ZST-1] at byte 5 in \"s\": m"},
  };
  for (const auto& c : cases) EXPECT_EQ(c.failure.value().to_string(), c.text);
}

TEST(ErrorText, SubjectKeepsItsRawBytes) {
  const auto failure = fail_on(ErrorCode::name, "NAM-1", "\xFF\n"sv, "");
  EXPECT_EQ(failure.value().subject, "\xFF\n");
}

Result<int> three() { return 3; }
Result<int> broken() { return fail(ErrorCode::io, "", "disk"); }
Result<int> add(Result<int> (*first)(), Result<int> (*second)()) {
  PTD_LET(a, first());
  PTD_TRY(second());
  PTD_LET(b, second());
  return a + b;
}

TEST(ErrorMacros, LeaveWithTheFirstError) {
  EXPECT_EQ(add(three, three).value(), 6);
  EXPECT_EQ(add(broken, three).error().message, "disk");
  EXPECT_EQ(add(three, broken).error().code, ErrorCode::io);
}

}  // namespace
}  // namespace ptd
