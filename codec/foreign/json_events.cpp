// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "foreign/json_events.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "foreign/key_stack.hpp"
#include "wire/utf8.hpp"

namespace ptd::foreign {
namespace {

constexpr std::uint64_t max_whole = std::numeric_limits<std::int64_t>::max();
constexpr std::size_t shown_bytes = 256;  // of a name
constexpr std::size_t near_bytes = 24;    // of a syntax error's surroundings

/// nlohmann's SAX calls -> events. Returning false stops the parser; `failure` then says why.
class Adapter {
 public:
  using json = nlohmann::json;

  Adapter(std::string_view text, const JsonOrigin& origin, JsonHandler& handler)
      : text_(text), origin_(origin), handler_(handler) {}

  bool null() { return value({JsonKind::null, "null"}); }
  bool boolean(bool is) { return value({JsonKind::boolean, is ? "true" : "false"}); }
  bool number_integer(json::number_integer_t number) {
    return value({JsonKind::number, number == 0 ? "-0" : fmt::format_int(number).c_str()});
  }
  bool number_unsigned(json::number_unsigned_t number) {
    if (number <= max_whole) return value({JsonKind::whole, {}, number});
    return value({JsonKind::number, fmt::format_int(number).c_str()});
  }
  bool number_float(json::number_float_t, const std::string& text) { return value({JsonKind::number, text}); }
  bool string(std::string& text) { return value({JsonKind::string, text}); }
  bool binary(json::binary_t&) { return false; }
  bool start_object(std::size_t) { return open({JsonKind::object, "{"}); }
  bool start_array(std::size_t) { return open({JsonKind::array, "["}); }
  bool end_object() { return close({JsonKind::end_object, "}"}); }
  bool end_array() { return close({JsonKind::end_array, "]"}); }

  bool key(std::string& key) {
    keys_.add(key);
    return keep(handler_.on_key(key, keys_.depth()));
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& error);

  [[nodiscard]] std::optional<Error> take_failure() { return std::move(failure_); }

 private:
  bool keep(Result<void> result) {
    if (!result) failure_ = std::move(result).error();
    return !failure_;
  }
  bool value(const JsonEvent& event) { return keep(handler_.on_value(event, keys_.depth())); }
  bool open(const JsonEvent& event);
  bool close(const JsonEvent& event);

  std::string_view text_;
  const JsonOrigin& origin_;
  JsonHandler& handler_;
  KeyStack keys_;
  std::optional<Error> failure_;
};

bool Adapter::open(const JsonEvent& event) {
  if (keys_.depth() == max_json_depth)
    return keep(fail(ErrorCode::foreign_input, "",
                     fmt::format("{} nests its values deeper than {} levels", origin_.what, max_json_depth)));
  const bool goes_on = value(event);
  keys_.open();
  return goes_on;
}

bool Adapter::close(const JsonEvent& event) {
  const auto depth = keys_.depth();
  if (const auto twice = keys_.close()) return keep(handler_.on_duplicate(*twice, depth));
  return value(event);
}

// The parser's own text quotes its last token, which may be the whole file: say it anew. Its position counts
// the bytes read so far, the offending one included.
bool Adapter::parse_error(std::size_t position, const std::string&,
                          const nlohmann::detail::exception& error) {
  constexpr int number_out_of_range = 406;
  const auto at = std::min(position == 0 ? 0 : position - 1, text_.size());
  const auto near = text_.substr(at - std::min(at, near_bytes), 2 * near_bytes);
  const std::string_view why = error.id == number_out_of_range ? "has a number that is out of range"
                               : at == text_.size()            ? "ends in the middle of its JSON text"
                                                               : "is not valid JSON";
  return keep(fail_at(ErrorCode::foreign_input, "", origin_.offset + at,
                      fmt::format("{} {}, near {}", origin_.what, why, quote(near))));
}

// The parser takes a NUL byte for the end of its input, so what follows it would go unseen.
Result<void> refuse_nul(std::string_view text, const JsonOrigin& origin) {
  const auto nul = text.find('\0');
  if (nul == std::string_view::npos) return {};
  const bool to_the_end = text.find_first_not_of('\0', nul) == std::string_view::npos;
  const std::string_view what = to_the_end ? "is padded with NUL bytes; only spaces (0x20) are legal padding"
                                           : "holds a NUL byte, which JSON does not allow";
  return fail_at(ErrorCode::foreign_input, "", origin.offset + nul, fmt::format("{} {}", origin.what, what));
}

std::size_t utf8_prefix(std::string_view text) {
  std::size_t i = 0;
  while (i < text.size()) {
    const auto next = wire::decode_utf8(text.substr(i));
    if (next.length == 0) break;
    i += next.length;
  }
  return i;
}

Result<void> refuse_invalid_utf8(std::string_view text, const JsonOrigin& origin) {
  if (wire::is_utf8(text)) return {};
  return fail_at(ErrorCode::foreign_input, "", origin.offset + utf8_prefix(text),
                 fmt::format("{} is not valid UTF-8", origin.what));
}

Result<void> refuse_huge(std::string_view text, const JsonOrigin& origin) {
  if (text.size() <= std::numeric_limits<std::uint32_t>::max()) return {};
  return fail(ErrorCode::foreign_input, "", fmt::format("{} is larger than 4 GiB", origin.what));
}

}  // namespace

std::string_view json_kind_name(JsonKind kind) noexcept {
  constexpr std::string_view names[] = {"null",      "a boolean", "a number",  "a number", "a string",
                                        "an object", "an array",  "an object", "an array"};
  return names[static_cast<std::size_t>(kind)];
}

Result<void> walk_json(std::string_view text, const JsonOrigin& origin, JsonHandler& handler) {
  PTD_TRY(refuse_huge(text, origin));
  PTD_TRY(refuse_nul(text, origin));
  PTD_TRY(refuse_invalid_utf8(text, origin));
  Adapter adapter(text, origin, handler);
  if (nlohmann::json::sax_parse(text.begin(), text.end(), &adapter)) return {};
  if (auto failure = adapter.take_failure()) return tl::make_unexpected(std::move(*failure));
  return fail(ErrorCode::internal, "",
              fmt::format("the JSON parser gave up on {} without a reason", origin.what));
}

std::string quote(std::string_view name) {
  if (name.size() <= shown_bytes) return fmt::format("\"{}\"", escaped(name));
  auto cut = shown_bytes;
  while ((static_cast<unsigned char>(name[cut]) & 0xC0) == 0x80 && cut > shown_bytes - 4) --cut;
  return fmt::format("\"{}...\" ({} bytes)", escaped(name.substr(0, cut)), name.size());
}

}  // namespace ptd::foreign
