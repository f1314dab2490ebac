// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// What a file is, from its first bytes. The extension never decides: ".ptd" is used by two formats.
#pragma once

#include <cstdint>
#include <optional>
#include <ptd/bytes.hpp>
#include <string>
#include <string_view>

namespace ptd::foreign {

enum class FileKind : std::uint8_t {
  ptd,
  ptd_text_damaged,
  ptd_byte_swapped,
  ptd_truncated_header,
  empty,
  flat_tensor,
  executorch_program,
  flatbuffers,
  et_cuda_manifest,
  et_newline_keys,
  safetensors,
  safetensors_index,
  gguf,
  gguf_big_endian,
  zip,
  pickle,
  torch_tar,
  npy,
  zstd,
  zstd_skippable,
  gzip,
  lz4,
  hdf5,
  png,
  elf,
  git_lfs_pointer,
  html,
  json,
  text,
  unknown,
};

/// What detection found: a kind and a sentence for people.
struct Detection {
  FileKind kind = FileKind::unknown;
  std::string detail;  ///< for example the FlatBuffers identifier or the manifest's digit; may be empty
};

/// The stable spelling, for example "flat-tensor".
std::string_view kind_name(FileKind kind) noexcept;

/// What people call it, for example "an ExecuTorch FlatTensor file (also named .ptd)".
std::string describe(const Detection& detection);

/// What to do with it here, for example "run `ptd convert ... -o model.ptd`"; empty if nothing.
std::string advice(FileKind kind);

/// How many of a file's first bytes `detect` wants; fewer if the file is shorter.
inline constexpr std::size_t detect_bytes = 4096;

/// Names a file by its first bytes (at most detect_bytes of them are looked at) and its size. Never
/// guesses: what fits nothing is `unknown`. Complexity: constant.
Detection detect(Bytes first, std::uint64_t file_size);

}  // namespace ptd::foreign
