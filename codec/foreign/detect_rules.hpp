// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// The rules of detection: each looks at a file's first bytes and says what it is, or nothing. A rule that
// rests on few bytes must demand more: raw weights may begin with anything.
#pragma once

#include <optional>
#include <string_view>

#include "foreign/detect.hpp"

namespace ptd::foreign {

/// A file's first bytes. Bytes that are not there read as nothing, never as zero.
class Probe {
 public:
  Probe(Bytes first, std::uint64_t file_size) noexcept;

  [[nodiscard]] std::string_view bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::uint64_t file_size() const noexcept { return file_size_; }
  [[nodiscard]] bool is_whole() const noexcept { return bytes_.size() == file_size_; }

  [[nodiscard]] bool has(std::string_view magic, std::size_t offset = 0) const noexcept;

  /// A little-endian number of `width` bytes.
  [[nodiscard]] std::optional<std::uint64_t> number(std::size_t offset, std::size_t width) const noexcept;

 private:
  std::string_view bytes_;
  std::uint64_t file_size_;
};

/// A magic, with what else must hold and what else to say about it.
struct Signature {
  FileKind kind;
  std::size_t offset;
  std::string_view magic;
  bool (*plausible)(const Probe&);
  std::string (*detail)(const Probe&);
};

using Rule = std::optional<Detection> (*)(const Probe&);

std::optional<Detection> detect_ptd(const Probe& probe);
std::optional<Detection> detect_damaged_ptd(const Probe& probe);
std::optional<Detection> detect_signature(const Probe& probe);
std::optional<Detection> detect_cuda_manifest(const Probe& probe);
std::optional<Detection> detect_gguf(const Probe& probe);
std::optional<Detection> detect_flatbuffers(const Probe& probe);
std::optional<Detection> detect_safetensors(const Probe& probe);
std::optional<Detection> detect_pickle(const Probe& probe);
std::optional<Detection> detect_tar(const Probe& probe);
std::optional<Detection> detect_text(const Probe& probe);

}  // namespace ptd::foreign
