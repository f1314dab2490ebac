// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// PTD files, whole and as transfers break them.
#include <algorithm>
#include <string>

#include "foreign/detect_rules.hpp"

namespace ptd::foreign {
namespace {

using namespace std::string_view_literals;

constexpr auto magic = "\x89PTD\r\n\x1a\n"sv;
constexpr std::uint64_t header_bytes = 80;
constexpr std::size_t least_prefix = 4;  // fewer matching bytes of a short file are a guess

struct Damage {
  std::string_view bytes;
  std::string_view what;
};

// The magic's first byte has its high bit set, its tail has each kind of line end and DOS's end of file:
// whatever takes the file for text changes one of them.
constexpr Damage broken_heads[] = {
    {"\x89PTD"sv, ""},
    {"\tPTD"sv, "the high bit of its bytes was cut off"},
    {"\xC2\x89PTD"sv, "its bytes were re-encoded as UTF-8"},
    {"\xE2\x80\xB0PTD"sv, "its bytes were re-encoded as UTF-8"},
    {"\xEF\xBF\xBDPTD"sv, "its bytes were decoded as UTF-8"},
    {"?PTD"sv, "its bytes were re-encoded as ASCII"},
    {"PTD"sv, "bytes that are not ASCII were dropped"},
};
constexpr Damage broken_tails[] = {
    {"\r\n\x1a\n"sv, ""},
    {"\n\x1a\n"sv, "CR LF became LF"},
    {"\r\r\n\x1a\r\n"sv, "LF became CR LF"},
    {"\r\n\x1a\r\n"sv, "LF became CR LF"},
    {"\n\n\x1a\n"sv, "CR became LF"},
    {"\r\r\x1a\r"sv, "LF became CR"},
};

constexpr std::string_view swapped_magics[] = {
    "P\x89"
    "DT\n\r\n\x1a"sv,
    "DTP\x89\n\x1a\n\r"sv,
    "\n\x1a\n\rDTP\x89"sv,
};

std::string version_detail(const Probe& probe) {
  const auto major = probe.number(8, 2);
  const auto minor = probe.number(10, 2);
  if (!major || !minor || *major == 1) return {};
  return "version " + std::to_string(*major) + "." + std::to_string(*minor);
}

bool is_truncated(const Probe& probe) {
  const auto prefix = probe.bytes().substr(0, magic.size());
  return probe.is_whole() && probe.file_size() < header_bytes && prefix.size() >= least_prefix &&
         magic.starts_with(prefix);
}

std::string damage_detail(const Damage& head, const Damage& tail) {
  if (head.what.empty() || tail.what.empty()) return std::string(head.what.empty() ? tail.what : head.what);
  return std::string(head.what).append(" and ").append(tail.what);
}

std::optional<Detection> detect_text_damage(const Probe& probe) {
  for (const auto& head : broken_heads)
    for (const auto& tail : broken_tails)
      if (probe.has(head.bytes) && probe.has(tail.bytes, head.bytes.size()))
        return Detection{FileKind::ptd_text_damaged, damage_detail(head, tail)};
  if (probe.is_whole() && probe.bytes() == "\x89PTD\r\n"sv)
    return Detection{FileKind::ptd_text_damaged, "it was cut at an end-of-file character"};
  return std::nullopt;
}

}  // namespace

std::optional<Detection> detect_ptd(const Probe& probe) {
  if (!probe.has(magic) || probe.file_size() < header_bytes) return std::nullopt;
  if (probe.has("\0\0\0\x50"sv, 12)) return Detection{FileKind::ptd_byte_swapped, {}};
  return Detection{FileKind::ptd, version_detail(probe)};
}

std::optional<Detection> detect_damaged_ptd(const Probe& probe) {
  const bool is_swapped = std::any_of(std::begin(swapped_magics), std::end(swapped_magics),
                                      [&](std::string_view swapped) { return probe.has(swapped); });
  if (is_swapped) return Detection{FileKind::ptd_byte_swapped, {}};
  if (!probe.has(magic))
    if (auto damage = detect_text_damage(probe)) return damage;
  if (is_truncated(probe)) return Detection{FileKind::ptd_truncated_header, {}};
  return std::nullopt;
}

}  // namespace ptd::foreign
