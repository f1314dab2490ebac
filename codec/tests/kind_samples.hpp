// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// A small file of each kind that detection knows, put together as its format says.
#pragma once

#include <map>
#include <string>

#include "foreign/detect.hpp"
#include "tests/foreign_samples.hpp"
#include "tests/write_samples.hpp"

namespace ptd::foreign {

inline std::string little(std::uint64_t value, std::size_t width) {
  std::string out;
  for (std::size_t i = 0; i < width; ++i) out += static_cast<char>(value >> (8 * i) & 0xFF);
  return out;
}

inline std::string text_of(const write_test::Buffer& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

inline std::string real_ptd() {
  Writer writer;
  write_test::put(writer, "w", write_test::noise(3000));
  return text_of(write_test::written(writer));
}

/// A root table of one field in front of `tail`, with an identifier and what may follow it.
inline std::string flatbuffer_of(std::string_view identifier, std::string_view extra = {}) {
  const auto root = static_cast<std::uint32_t>(8 + extra.size() + 8);
  return little(root, 4).append(identifier).append(extra) + little(6, 2) + little(8, 2) + little(4, 2) +
         little(0, 2) + little(8, 4) + little(42, 4);
}

inline std::string zip_of(std::string_view name, std::string_view data) {
  const auto common = little(0, 2) + little(0, 2) + little(0, 4) + little(0, 4) + little(data.size(), 4) +
                      little(data.size(), 4) + little(name.size(), 2) + little(0, 2);
  const auto local = "PK\3\4" + little(20, 2) + common + std::string(name).append(data);
  const auto central = "PK\1\2" + little(20, 2) + little(20, 2) + common + std::string(14, '\0').append(name);
  return local + central + "PK\5\6" + little(0, 4) + little(1, 2) + little(1, 2) + little(central.size(), 4) +
         little(local.size(), 4) + little(0, 2);
}

inline std::string gguf_of(bool big) {
  const auto number = [&](std::uint64_t value, std::size_t width) {
    auto text = little(value, width);
    return big ? std::string(text.rbegin(), text.rend()) : text;
  };
  return "GGUF" + number(3, 4) + number(1, 8) + number(0, 8) + number(1, 8) + "w" + number(1, 4) +
         number(8, 8) + number(0, 4) + number(0, 8) + std::string(64, '\1');
}

inline std::string elf_of() {
  return std::string("\x7F").append("ELF\2\1\1", 7) + std::string(9, '\0') + little(3, 2) + little(62, 2) +
         little(1, 4) + std::string(40, '\0');
}

/// One file a kind; of `unknown`, raw weights.
inline std::map<FileKind, std::string> kind_samples() {
  using namespace std::string_literals;
  const auto ptd = real_ptd();
  const auto digest = std::string(64, 'a');
  auto swapped = ptd;
  for (std::size_t i = 0; i + 8 <= 80; i += 8)
    std::reverse(swapped.begin() + static_cast<std::ptrdiff_t>(i),
                 swapped.begin() + static_cast<std::ptrdiff_t>(i + 8));
  auto tar = std::string(1024, '\0');
  tar.replace(0, 8, "sys_info").replace(257, 8, "ustar\00000"s);
  return {
      {FileKind::ptd, ptd},
      {FileKind::ptd_text_damaged, "\x89PTD\n\x1a\n"s + ptd.substr(8)},
      {FileKind::ptd_byte_swapped, swapped},
      {FileKind::ptd_truncated_header, ptd.substr(0, 60)},
      {FileKind::empty, ""},
      {FileKind::flat_tensor,
       flatbuffer_of("FT01", "FH01" + little(40, 4) + little(64, 8) + little(64, 8) + std::string(16, '\0'))},
      {FileKind::executorch_program, flatbuffer_of("ET12", "eh00" + little(24, 4) + little(64, 8))},
      {FileKind::flatbuffers, flatbuffer_of("TFL3")},
      {FileKind::et_cuda_manifest, "ETCUDAFQN0" + little(1, 4) + std::string(12, '\0') + little(1, 4) + "k"},
      {FileKind::et_newline_keys, digest + "_so_blob\n" + digest + "_weights_blob"},
      {FileKind::safetensors, header_of(object(entry("a", "U8", "[4]", 0, 4))) + "abcd"},
      {FileKind::safetensors_index, R"({"metadata":{},"weight_map":{"a":"1.safetensors"}})"},
      {FileKind::gguf, gguf_of(false)},
      {FileKind::gguf_big_endian, gguf_of(true)},
      {FileKind::zip, zip_of("archive/data.pkl", "\x80\x02}.")},
      {FileKind::pickle, "\x80\x04\x95\x0B\0\0\0\0\0\0\0}\x94\x8C\x01"s + "a\x94K\x01s."},
      {FileKind::torch_tar, tar},
      {FileKind::npy,
       "\x93NUMPY\1\0\x36\0{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}\n"s + little(0, 4)},
      {FileKind::zstd, "\x28\xB5\x2F\xFD\x20\x04\x21\0\0"s + "abcd"},
      {FileKind::zstd_skippable, "\x50\x2A\x4D\x18\4\0\0\0abcd"s},
      {FileKind::gzip, "\x1F\x8B\x08\0\0\0\0\0\0\x03\x03\0\0\0\0\0\0\0\0\0"s},
      {FileKind::lz4, "\x04\x22\x4D\x18\x64\x40\xA7\4\0\0\x80"s + "abcd\0\0\0\0\0\0\0\0"s},
      {FileKind::hdf5, "\x89HDF\r\n\x1a\n"s + std::string(88, '\0')},
      {FileKind::png, "\x89PNG\r\n\x1a\n\0\0\0\x0DIHDR"s + std::string(17, '\1')},
      {FileKind::elf, elf_of()},
      {FileKind::git_lfs_pointer,
       "version https://git-lfs.github.com/spec/v1\noid sha256:" + digest + "\nsize 12345\n"},
      {FileKind::html, "<!DOCTYPE html>\n<html><body>Not found</body></html>\n"},
      {FileKind::json, "{\"error\": \"not found\"}\n"},
      {FileKind::text, "Access denied.\n"},
      {FileKind::unknown, std::string(4096, '\xBF')},
  };
}

}  // namespace ptd::foreign
