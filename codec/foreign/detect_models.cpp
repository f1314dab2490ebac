// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Other formats of models and weights.
#include <algorithm>

#include "foreign/detect_rules.hpp"
#include "foreign/safetensors_rules.hpp"

namespace ptd::foreign {
namespace {

using namespace std::string_view_literals;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter_or_digit(char c) { return is_digit(c) || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); }

/// Two letters and two digits at `offset`, as ExecuTorch writes its identifiers.
bool has_numbered(const Probe& probe, std::string_view letters, std::size_t offset) {
  const auto digits = offset + letters.size();
  return probe.has(letters, offset) && probe.bytes().size() >= digits + 2 &&
         is_digit(probe.bytes()[digits]) && is_digit(probe.bytes()[digits + 1]);
}

/// An identifier at 4 is believed if ExecuTorch's header follows or the root offset could be one.
bool is_executorch(const Probe& probe, std::string_view identifier, std::string_view header) {
  constexpr std::uint64_t first_root = 8;
  const auto root = probe.number(0, 4).value_or(0);
  return has_numbered(probe, identifier, 4) &&
         (has_numbered(probe, header, 8) || (root >= first_root && root < probe.file_size()));
}

/// Fields of a table lie inside it, one 16-bit offset each.
bool are_fields_inside(const Probe& probe, std::uint64_t vtable, std::uint64_t vtable_bytes,
                       std::uint64_t table_bytes) {
  for (std::uint64_t i = 4; i < vtable_bytes; i += 2) {
    const auto field = probe.number(static_cast<std::size_t>(vtable + i), 2);
    if (!field || (*field != 0 && (*field < 4 || *field >= table_bytes))) return false;
  }
  return true;
}

/// The root table and its field table are in sight and make sense: four letters alone are weak evidence.
bool has_root_table(const Probe& probe) {
  constexpr std::uint64_t first_root = 8;
  const auto root = probe.number(0, 4).value_or(0);
  if (root < first_root || root % 4 != 0) return false;
  const auto distance = probe.number(static_cast<std::size_t>(root), 4);
  if (!distance) return false;
  const auto vtable = (root - *distance) & 0xFFFFFFFFU;  // a signed 32-bit distance
  const auto vtable_bytes = probe.number(static_cast<std::size_t>(vtable), 2).value_or(0);
  const auto table_bytes = probe.number(static_cast<std::size_t>(vtable + 2), 2).value_or(0);
  return vtable >= 4 && vtable_bytes >= 4 && vtable_bytes % 2 == 0 && table_bytes >= 4 &&
         root + table_bytes <= probe.file_size() &&
         are_fields_inside(probe, vtable, vtable_bytes, table_bytes);
}

std::string identifier_of(const Probe& probe) { return std::string(probe.bytes().substr(4, 4)); }

bool is_version(std::optional<std::uint64_t> version) {
  return version && *version >= 1 && *version <= 0xFFFF;
}

std::uint64_t big_endian(std::uint64_t v) {
  return (v & 0xFF) << 24 | (v & 0xFF00) << 8 | (v >> 8 & 0xFF00) | v >> 24;
}

}  // namespace

std::optional<Detection> detect_cuda_manifest(const Probe& probe) {
  constexpr auto magic = "ETCUDAFQN"sv;
  if (!probe.has(magic)) return std::nullopt;
  const auto version = probe.bytes().substr(magic.size(), 1);
  const bool is_known = !version.empty() && is_digit(version[0]);
  return Detection{FileKind::et_cuda_manifest, is_known ? std::string(version) : "unknown"};
}

std::optional<Detection> detect_gguf(const Probe& probe) {
  const auto version = probe.number(4, 4);
  if (!version) return std::nullopt;
  const auto swapped = big_endian(*version);
  if (probe.has("GGUF") && is_version(version))
    return Detection{FileKind::gguf, "version " + std::to_string(*version)};
  if ((probe.has("GGUF") || probe.has("FUGG")) && is_version(swapped))
    return Detection{FileKind::gguf_big_endian, "version " + std::to_string(swapped)};
  return std::nullopt;
}

std::optional<Detection> detect_flatbuffers(const Probe& probe) {
  if (is_executorch(probe, "FT", "FH")) return Detection{FileKind::flat_tensor, identifier_of(probe)};
  if (is_executorch(probe, "ET", "eh")) return Detection{FileKind::executorch_program, identifier_of(probe)};
  if (probe.bytes().size() < 8) return std::nullopt;
  const auto identifier = identifier_of(probe);
  if (!std::all_of(identifier.begin(), identifier.end(), is_letter_or_digit) || !has_root_table(probe))
    return std::nullopt;
  return Detection{FileKind::flatbuffers, identifier};
}

std::optional<Detection> detect_safetensors(const Probe& probe) {
  const auto header = probe.number(0, prefix_bytes).value_or(0);
  if (header < 2 || header > max_header_bytes || !probe.has("{", prefix_bytes)) return std::nullopt;
  if (header <= probe.file_size() - prefix_bytes) return Detection{FileKind::safetensors, {}};
  // Cut inside its header: the length no longer vouches for it, so its first name must.
  if (!probe.has("{\"", prefix_bytes)) return std::nullopt;
  return Detection{FileKind::safetensors, "cut short inside its header"};
}

}  // namespace ptd::foreign
