// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// The safetensors header: bytes <-> description. Pure functions; no I/O.
#pragma once

#include <cstdint>
#include <ptd/bytes.hpp>
#include <ptd/dtype.hpp>
#include <ptd/error.hpp>
#include <string>
#include <vector>

namespace ptd::foreign {

/// One entry of a safetensors header. The bytes are row-major and contiguous.
struct SafetensorsEntry {
  std::string name;
  DType dtype = DType::uint8;
  std::vector<std::uint64_t> sizes;
  std::uint64_t begin = 0;  ///< from the end of the header, bytes
  std::uint64_t end = 0;
};

struct SafetensorsHeader {
  std::uint64_t data_offset = 0;                              ///< of the first data byte: 8 + header length
  std::vector<SafetensorsEntry> entries;                      ///< in order of begin, then of name
  std::vector<std::pair<std::string, std::string>> metadata;  ///< "__metadata__", ascending by key
};

struct SafetensorsOptions {
  bool allow_shared = false;      ///< let several names cover the identical byte range (tied tensors)
  bool metadata_as_json = false;  ///< keep metadata values that are not strings as their JSON text
};

/// Bytes of the header that the first 8 bytes announce, prefix included, checked against the file's
/// size and the 100,000,000-byte cap that the reference reader applies. Error `foreign_input`.
Result<std::uint64_t> safetensors_header_size(Bytes first_8, std::uint64_t file_size);

/// Parses and checks a whole header (8-byte prefix included) against the file's size: JSON without
/// duplicate keys, known dtypes, sizes x dtype == range, ranges that cover the data without holes or overlap.
/// Errors `foreign_input`, `unsupported_input`, `duplicate`; each names the tensor or metadata key.
Result<SafetensorsHeader> parse_safetensors(Bytes header, std::uint64_t file_size,
                                            const SafetensorsOptions& options = {});

/// The header bytes (prefix included, padded with spaces to a multiple of 8) for entries whose
/// begin/end are set by this call, in the given order without holes. Refuses the name "__metadata__",
/// dtypes that safetensors lacks and sub-byte tensors that do not fill whole bytes (`unsupported_input`).
Result<std::vector<std::byte>> render_safetensors(SafetensorsHeader& header);

/// safetensors' spelling of a dtype ("BF16"), empty if it has none.
std::string_view safetensors_dtype(DType dtype) noexcept;

/// A sharded model's index ("model.safetensors.index.json"): which shard holds each tensor.
struct SafetensorsIndex {
  std::vector<std::string> shards;                             ///< distinct file names, in ascending order
  std::vector<std::pair<std::string, std::uint32_t>> tensors;  ///< (name, shard), ascending by name
  std::vector<std::pair<std::string, std::string>> metadata;   ///< values as text; what is no string as JSON
};

/// Shard names must be plain relative paths that stay inside the folder (no "..", not absolute).
Result<SafetensorsIndex> parse_safetensors_index(Bytes json);

}  // namespace ptd::foreign
