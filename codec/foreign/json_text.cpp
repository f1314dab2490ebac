// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "foreign/json_text.hpp"

#include <algorithm>
#include <utility>

namespace ptd::foreign {
namespace {

struct ShortEscape {
  char character;
  std::string_view escape;
};
constexpr ShortEscape short_escapes[] = {
    {'"', "\\\""}, {'\\', "\\\\"}, {'\b', "\\b"}, {'\f', "\\f"}, {'\n', "\\n"}, {'\r', "\\r"}, {'\t', "\\t"},
};

bool is_plain(char character) {
  return static_cast<unsigned char>(character) >= 0x20 && character != '"' && character != '\\';
}

void append_escape(std::string& out, char character) {
  for (const auto& row : short_escapes)
    if (row.character == character) return void(out += row.escape);
  constexpr char digits[] = "0123456789abcdef";
  const auto code = static_cast<unsigned char>(character);
  out.append("\\u00").append(1, digits[code >> 4]).append(1, digits[code & 15]);
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const auto* const stop = std::find_if_not(text.begin(), text.end(), is_plain);
    out.append(text.begin(), stop);
    text.remove_prefix(static_cast<std::size_t>(stop - text.begin()));
    if (text.empty()) break;
    append_escape(out, text.front());
    text.remove_prefix(1);
  }
  out += '"';
}

// A comma is due unless the text ends where a first element or a member's value goes. Inside a
// string these characters could also stand last, but a string always ends in its quote.
void JsonText::separate() {
  if (!text_.empty() && std::string_view("[{:").find(text_.back()) == std::string_view::npos) text_ += ',';
}

void JsonText::key(std::string_view key) {
  separate();
  append_json_string(text_, key);
  text_ += ':';
}

void JsonText::value(const JsonEvent& event) {
  if (event.kind == JsonKind::end_object) return void(text_ += '}');
  if (event.kind == JsonKind::end_array) return void(text_ += ']');
  separate();
  if (event.kind == JsonKind::string) return append_json_string(text_, event.text);
  text_ += event.kind == JsonKind::whole ? std::to_string(event.number) : event.text;
}

std::string JsonText::take() { return std::exchange(text_, {}); }

}  // namespace ptd::foreign
