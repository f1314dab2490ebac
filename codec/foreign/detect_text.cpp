// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Text, and what is made of it.
#include <algorithm>

#include "foreign/detect_rules.hpp"
#include "wire/utf8.hpp"

namespace ptd::foreign {
namespace {

using namespace std::string_view_literals;

constexpr auto spaces = " \t\r\n"sv;
constexpr std::size_t least_text = 8;  // a few printable bytes are no evidence

bool is_printable(char32_t code) {
  if (code < 0x20) return code == '\t' || code == '\n' || code == '\r' || code == '\f';
  return code < 0x7F || code > 0x9F;
}

/// Printable UTF-8 throughout; the last character may be cut by the end of what is in sight.
bool is_text(const Probe& probe) {
  constexpr std::size_t longest_cut = 3;
  auto rest = probe.bytes();
  while (!rest.empty()) {
    const auto next = wire::decode_utf8(rest);
    if (next.length == 0) return !probe.is_whole() && rest.size() <= longest_cut;
    if (!is_printable(next.code)) return false;
    rest.remove_prefix(next.length);
  }
  return !probe.bytes().empty();
}

std::string_view skip_spaces(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(spaces), text.size()));
}

std::string_view content_of(const Probe& probe) {
  auto text = probe.bytes();
  if (text.starts_with("\xEF\xBB\xBF"sv)) text.remove_prefix(3);
  return skip_spaces(text);
}

bool starts_with_any_case(std::string_view text, std::string_view lower) {
  const auto same = [](char a, char b) {
    return (a >= 'A' && a <= 'Z' ? static_cast<char>(a + 32) : a) == b;
  };
  return text.size() >= lower.size() &&
         std::equal(lower.begin(), lower.end(), text.begin(), [&](char b, char a) { return same(a, b); });
}

bool is_html(std::string_view text) {
  for (const auto tag : {"<!doctype html"sv, "<html"sv})
    if (starts_with_any_case(text, tag) &&
        " \t\r\n>"sv.find(text.substr(tag.size(), 1)) != std::string_view::npos)
      return true;
  return false;
}

bool is_json(std::string_view text) {
  if (text.empty()) return false;
  const auto inner = skip_spaces(text.substr(1)).substr(0, 1);
  if (inner.empty()) return false;
  return text[0] == '{' ? "\"}"sv.find(inner) != std::string_view::npos
                        : text[0] == '[' && "\"{[]-0123456789tfn"sv.find(inner) != std::string_view::npos;
}

bool is_key(std::string_view text, std::string_view suffix) {
  constexpr std::size_t digest_digits = 64;
  constexpr auto hex = "0123456789abcdefABCDEF"sv;
  return text.size() == digest_digits + suffix.size() && text.ends_with(suffix) &&
         text.find_first_not_of(hex) >= digest_digits;
}

/// "<library key>\n<weights blob key>" and nothing else but a line end.
bool is_newline_keys(const Probe& probe) {
  auto text = probe.bytes();
  if (!probe.is_whole()) return false;
  if (text.ends_with('\n')) text.remove_suffix(1);
  const auto line_end = text.find('\n');
  return line_end != std::string_view::npos && is_key(text.substr(0, line_end), "_so_blob") &&
         is_key(text.substr(line_end + 1), "_weights_blob");
}

FileKind json_kind(std::string_view text) {
  const bool is_index = text[0] == '{' && text.find("\"weight_map\"") != std::string_view::npos;
  return is_index ? FileKind::safetensors_index : FileKind::json;
}

}  // namespace

std::optional<Detection> detect_text(const Probe& probe) {
  const auto content = content_of(probe);
  if (is_html(content)) return Detection{FileKind::html, {}};
  if (!is_text(probe)) return std::nullopt;
  if (is_newline_keys(probe)) return Detection{FileKind::et_newline_keys, {}};
  if (is_json(content)) return Detection{json_kind(content), {}};
  if (probe.bytes().size() < least_text) return std::nullopt;
  return Detection{FileKind::text, {}};
}

}  // namespace ptd::foreign
