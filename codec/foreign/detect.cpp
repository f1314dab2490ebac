// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "foreign/detect.hpp"

#include <algorithm>

#include "foreign/detect_rules.hpp"

namespace ptd::foreign {
namespace {

// Ours first; then strong magics; then what rests on structure; then the magic that may be something inside
// of all these; text last, for many things are text.
constexpr Rule rules[] = {
    detect_ptd,         detect_damaged_ptd, detect_signature, detect_cuda_manifest, detect_gguf,
    detect_flatbuffers, detect_safetensors, detect_pickle,    detect_tar,           detect_text,
};

}  // namespace

Probe::Probe(Bytes first, std::uint64_t file_size) noexcept
    : bytes_(reinterpret_cast<const char*>(first.data()),
             static_cast<std::size_t>(std::min<std::uint64_t>({first.size(), detect_bytes, file_size}))),
      file_size_(file_size) {}

bool Probe::has(std::string_view magic, std::size_t offset) const noexcept {
  return offset <= bytes_.size() && bytes_.substr(offset).starts_with(magic);
}

std::optional<std::uint64_t> Probe::number(std::size_t offset, std::size_t width) const noexcept {
  if (offset > bytes_.size() || bytes_.size() - offset < width) return std::nullopt;
  std::uint64_t value = 0;
  for (std::size_t i = width; i > 0; --i)
    value = value << 8 | static_cast<unsigned char>(bytes_[offset + i - 1]);
  return value;
}

Detection detect(Bytes first, std::uint64_t file_size) {
  if (file_size == 0) return {FileKind::empty, {}};
  const Probe probe(first, file_size);
  for (const auto rule : rules)
    if (auto found = rule(probe)) return *std::move(found);
  return {};
}

}  // namespace ptd::foreign
