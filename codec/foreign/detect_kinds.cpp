// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// What detection says to people.
#include <array>

#include "foreign/detect.hpp"

namespace ptd::foreign {
namespace {

struct KindRow {
  FileKind kind;
  std::string_view name;
  std::string_view description;
  std::string_view before_detail;
  std::string_view after_detail;
  std::string_view advice;
};

constexpr std::string_view fetch_again = "fetch or copy the file again";
constexpr std::string_view convert = "run `ptd convert FILE -o OUT.ptd`";
constexpr std::string_view resave =
    "load it with the tool that made it, save its tensors as safetensors, then run `ptd convert FILE -o "
    "OUT.ptd`";

constexpr auto kinds = std::to_array<KindRow>({
    {FileKind::ptd, "ptd", "a PTD file", " of ", "", ""},
    {FileKind::ptd_text_damaged, "ptd-text-damaged", "a PTD file that a transfer as text has damaged", ": ",
     "", "copy the file again in binary mode"},
    {FileKind::ptd_byte_swapped, "ptd-byte-swapped", "a PTD file in the wrong byte order", "", "",
     "get the original file: PTD is little-endian everywhere"},
    {FileKind::ptd_truncated_header, "ptd-truncated-header", "a PTD file cut short inside its 80-byte header",
     "", "", fetch_again},
    {FileKind::empty, "empty", "an empty file", "", "", "write or fetch the file again"},
    {FileKind::flat_tensor, "flat-tensor", "an ExecuTorch FlatTensor file (also named .ptd)",
     ", identifier \"", "\"",
     "run `ptd convert PROGRAM.pte --data FILE -o OUT.ptd` with the program that it goes with, or `ptd "
     "convert FILE -o OUT.ptd`"},
    {FileKind::executorch_program, "executorch-program", "an ExecuTorch program (.pte)", ", identifier \"",
     "\"",
     "run `ptd convert FILE --data WEIGHTS.ptd -o OUT.ptd` with the .ptd file that was exported beside it"},
    {FileKind::flatbuffers, "flatbuffers", "a FlatBuffers file", " with the identifier \"", "\"", ""},
    {FileKind::et_cuda_manifest, "et-cuda-manifest", "a weight manifest of ExecuTorch's CUDA backend",
     ", version ", "",
     "run `ptd convert METHOD=FILE --data WEIGHTS.ptd -o OUT.ptd` with the .ptd file that was exported with "
     "it"},
    {FileKind::et_newline_keys, "et-newline-keys", "a key list of ExecuTorch's CUDA backend", "", "",
     "run `ptd convert METHOD=FILE --data WEIGHTS.ptd -o OUT.ptd` with the .ptd file that was exported with "
     "it"},
    {FileKind::safetensors, "safetensors", "a safetensors file", ", ", "", convert},
    {FileKind::safetensors_index, "safetensors-index", "the index of a sharded safetensors model", "", "",
     convert},
    {FileKind::gguf, "gguf", "a GGUF file", ", ", "", convert},
    {FileKind::gguf_big_endian, "gguf-big-endian", "a big-endian GGUF file", ", ", "",
     "run `gguf-convert-endian FILE little` of the Python package gguf first"},
    {FileKind::zip, "zip", "a zip archive", " (", ")",
     "if it is a PyTorch checkpoint or an .npz file, load it, save its tensors as safetensors, then run `ptd "
     "convert "
     "FILE -o OUT.ptd`"},
    {FileKind::pickle, "pickle", "a Python pickle, which can run code when it is loaded", "", "",
     "if you trust its author, load it, save its tensors as safetensors, then run `ptd convert FILE -o "
     "OUT.ptd`"},
    {FileKind::torch_tar, "torch-tar", "a tar archive (very old PyTorch checkpoints are such)", "", "",
     "unpack it, or load it with PyTorch and save its tensors as safetensors"},
    {FileKind::npy, "npy", "a NumPy array (.npy)", "", "", resave},
    {FileKind::zstd, "zstd", "zstd-compressed data", "", "", "run `zstd -d FILE` first"},
    {FileKind::zstd_skippable, "zstd-skippable", "zstd-compressed data that begins with a skippable frame",
     "", "", "run `zstd -d FILE` first"},
    {FileKind::gzip, "gzip", "gzip-compressed data", "", "", "run `gzip -d FILE` first"},
    {FileKind::lz4, "lz4", "lz4-compressed data", "", "", "run `lz4 -d FILE` first"},
    {FileKind::hdf5, "hdf5", "an HDF5 file", "", "", resave},
    {FileKind::png, "png", "a PNG image", "", "", ""},
    {FileKind::elf, "elf", "an ELF program or library", "", "", ""},
    {FileKind::git_lfs_pointer, "git-lfs-pointer", "a Git LFS pointer, which stands in for the real file", "",
     "", "run `git lfs pull` in its repository"},
    {FileKind::html, "html", "an HTML page, perhaps a server's error message saved in place of the file", "",
     "", "open it in a browser, then fetch the file again"},
    {FileKind::json, "json", "a JSON text", "", "", "read it: it may be a server's error message"},
    {FileKind::text, "text", "a text file", "", "", "read it: it may be a server's error message"},
    {FileKind::unknown, "unknown", "a file of no format that ptd knows", "", "", ""},
});

constexpr bool rows_stand_at_their_number() {
  for (std::size_t i = 0; i < kinds.size(); ++i)
    if (static_cast<std::size_t>(kinds[i].kind) != i) return false;
  return kinds.back().kind == FileKind::unknown;
}
static_assert(rows_stand_at_their_number());

const KindRow& row_of(FileKind kind) noexcept { return kinds[static_cast<std::size_t>(kind)]; }

}  // namespace

std::string_view kind_name(FileKind kind) noexcept { return row_of(kind).name; }

std::string describe(const Detection& detection) {
  const auto& row = row_of(detection.kind);
  std::string sentence(row.description);
  if (detection.detail.empty()) return sentence;
  return sentence.append(row.before_detail).append(escaped(detection.detail)).append(row.after_detail);
}

std::string advice(FileKind kind) { return std::string(row_of(kind).advice); }

}  // namespace ptd::foreign
