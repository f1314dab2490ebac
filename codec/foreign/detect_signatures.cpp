// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Formats that a magic at the start gives away, and one that has it further inside.
#include <algorithm>

#include "foreign/detect_rules.hpp"

namespace ptd::foreign {
namespace {

using namespace std::string_view_literals;

bool always(const Probe&) { return true; }
std::string nothing(const Probe&) { return {}; }

std::uint64_t byte_at(const Probe& probe, std::size_t offset) {
  return probe.number(offset, 1).value_or(0xFF);
}

bool gzip_plausible(const Probe& probe) {
  constexpr std::uint64_t smallest = 18, deflate = 8, reserved_flags = 0xE0, last_system = 13,
                          unknown_system = 255;
  const auto effort = byte_at(probe, 8);
  const auto system = probe.number(9, 1);
  return probe.file_size() >= smallest && byte_at(probe, 2) == deflate &&
         (byte_at(probe, 3) & reserved_flags) == 0 && (effort == 0 || effort == 2 || effort == 4) && system &&
         (*system <= last_system || *system == unknown_system);
}

bool zstd_plausible(const Probe& probe) { return (byte_at(probe, 4) & 0x08) == 0; }  // the reserved bit

bool zstd_skippable_plausible(const Probe& probe) {
  const auto size = probe.number(4, 4);
  return (byte_at(probe, 0) & 0xF0) == 0x50 && size && *size <= probe.file_size() - 8;
}

bool lz4_plausible(const Probe& probe) {
  const auto flags = byte_at(probe, 4), block = byte_at(probe, 5);
  return (flags & 0xC2) == 0x40 && (block & 0x8F) == 0 && (block >> 4) >= 4;
}

bool elf_plausible(const Probe& probe) {
  const auto is_1_or_2 = [&](std::size_t offset) {
    return byte_at(probe, offset) == 1 || byte_at(probe, offset) == 2;
  };
  return is_1_or_2(4) && is_1_or_2(5) && byte_at(probe, 6) == 1;
}

bool npy_plausible(const Probe& probe) { return byte_at(probe, 6) >= 1 && byte_at(probe, 6) <= 3; }

bool zip_plausible(const Probe& probe) {
  constexpr std::uint64_t smallest = 22, newest_version = 63;
  return probe.file_size() >= smallest && byte_at(probe, 4) <= newest_version;
}

std::string zip_detail(const Probe& probe) {
  const auto length = probe.number(26, 2).value_or(0);
  const auto name = probe.bytes().substr(std::min<std::size_t>(30, probe.bytes().size()), length);
  if (name.ends_with("data.pkl")) return "a PyTorch checkpoint";
  return name.ends_with(".npy") ? "NumPy arrays" : "";
}

constexpr Signature signatures[] = {
    {FileKind::hdf5, 0, "\x89HDF\r\n\x1a\n"sv, always, nothing},
    {FileKind::png, 0, "\x89PNG\r\n\x1a\n"sv, always, nothing},
    {FileKind::npy, 0, "\x93NUMPY"sv, npy_plausible, nothing},
    {FileKind::elf, 0,
     "\x7F"
     "ELF"sv,
     elf_plausible, nothing},
    {FileKind::zip, 0, "PK\3\4"sv, zip_plausible, zip_detail},
    {FileKind::zip, 0, "PK\5\6\0\0\0\0"sv, zip_plausible, nothing},
    {FileKind::zstd, 0, "\x28\xB5\x2F\xFD"sv, zstd_plausible, nothing},
    {FileKind::zstd_skippable, 1, "\x2A\x4D\x18"sv, zstd_skippable_plausible, nothing},
    {FileKind::gzip, 0, "\x1F\x8B"sv, gzip_plausible, nothing},
    {FileKind::lz4, 0, "\x04\x22\x4D\x18"sv, lz4_plausible, nothing},
    {FileKind::git_lfs_pointer, 0, "version https://git-lfs"sv, always, nothing},
};

}  // namespace

std::optional<Detection> detect_signature(const Probe& probe) {
  for (const auto& row : signatures)
    if (probe.has(row.magic, row.offset) && row.plausible(probe))
      return Detection{row.kind, row.detail(probe)};
  return std::nullopt;
}

// In any other file this is the middle of a name or of weights.
std::optional<Detection> detect_tar(const Probe& probe) {
  constexpr std::size_t offset = 257;
  if (!probe.has("ustar\0"sv, offset) && !probe.has("ustar  \0"sv, offset)) return std::nullopt;
  return Detection{FileKind::torch_tar, {}};
}

}  // namespace ptd::foreign
