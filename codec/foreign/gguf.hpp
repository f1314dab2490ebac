// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// The header of a GGUF file: bytes <-> description. Pure functions; no I/O. The facts are those of
// https://github.com/ggml-org/ggml (docs/gguf.md, src/gguf.cpp) in August 2026: versions 2 and 3, which are
// laid out alike.
#pragma once

#include <cstdint>
#include <optional>
#include <ptd/bytes.hpp>
#include <ptd/error.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "foreign/ggml_type.hpp"

namespace ptd::foreign {

/// Types of metadata values, by their number in the file.
enum class GgufType : std::uint32_t {
  uint8 = 0,
  int8 = 1,
  uint16 = 2,
  int16 = 3,
  uint32 = 4,
  int32 = 5,
  float32 = 6,
  boolean = 7,
  string = 8,
  array = 9,
  uint64 = 10,
  int64 = 11,
  float64 = 12,
};

/// One metadata entry: where its value lies. It was checked and is kept as bytes, whatever its type.
struct GgufPair {
  std::string key;
  GgufType type = GgufType::uint8;
  std::uint64_t begin = 0;  ///< of the value in the file, behind its type, bytes
  std::uint64_t end = 0;
};

struct GgufTensor {
  std::string name;
  const GgmlType* type = nullptr;   ///< static storage, never null
  std::vector<std::uint64_t> dims;  ///< elements, innermost first: the reverse of PyTorch's sizes
  std::uint64_t offset = 0;         ///< from GgufHeader::data_offset, bytes
  std::uint64_t bytes = 0;
};

struct GgufHeader {
  std::uint32_t version = 3;
  std::uint64_t alignment = 32;     ///< "general.alignment", or what it is without
  std::vector<GgufPair> pairs;      ///< in the file's order
  std::uint64_t pairs_end = 0;      ///< the pairs are bytes [gguf_prefix_bytes, pairs_end) of the file
  std::vector<GgufTensor> tensors;  ///< in the file's order, which is that of their bytes too
  std::uint64_t header_bytes = 0;   ///< up to the end of the last tensor's description
  std::uint64_t data_offset = 0;    ///< of the first tensor: header_bytes, aligned
  bool has_padded_end = true;       ///< false: the file ends with the last tensor's last byte
};

/// Magic, version, number of tensors, number of pairs.
inline constexpr std::uint64_t gguf_prefix_bytes = 24;

/// No header has more bytes than this, so nobody needs to read more to find its end.
inline constexpr std::uint64_t max_gguf_header_bytes = std::uint64_t{1} << 28;

/// Parses and checks the header from a file's first bytes and its size: every value, every tensor's type and
/// dimensions, and that the tensors fill the file one after the other with nothing but padding between them.
/// Gives nothing if the header goes on behind `first` and `first` is not the whole file: give more of it.
/// Errors `foreign_input`, `unsupported_input`, `duplicate`; they name the tensor or key. Memory is bounded
/// by a small multiple of `first`.
Result<std::optional<GgufHeader>> parse_gguf(Bytes first, std::uint64_t file_size);

/// A value of any integer type, if it is one and not negative. `file` are the bytes that were parsed.
std::optional<std::uint64_t> gguf_unsigned(const GgufPair& pair, Bytes file);

/// Places the tensors one after the other (offset, bytes), sets header_bytes and data_offset, and renders the
/// header up to header_bytes. `pairs` are the bytes of `pair_count` pairs, written as they are; the
/// alignment that they state must be header.alignment. Errors as of gguf_tensor_bytes.
Result<std::vector<std::byte>> render_gguf(GgufHeader& header, std::uint64_t pair_count, Bytes pairs);

/// Bytes of a tensor by its type and dims. Refuses more than 4 dimensions, dimensions of 2^63 and more, and
/// rows that do not fill their blocks; the error has `code` and names the tensor.
Result<std::uint64_t> gguf_tensor_bytes(const GgufTensor& tensor,
                                        ErrorCode code = ErrorCode::unsupported_input);

/// Where the file of a parsed or rendered header ends, bytes.
std::uint64_t gguf_file_size(const GgufHeader& header) noexcept;

/// Appends a pair of type string.
void append_gguf_string_pair(std::vector<std::byte>& pairs, std::string_view key, std::string_view value);

}  // namespace ptd::foreign
