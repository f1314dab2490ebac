// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// ExecuTorch's FlatTensor format, version 0 (docs/executorch.md, "FlatTensor"): bytes to entries and back.
// Pure functions; nothing here reads a file.
#pragma once

#include <optional>
#include <ptd/bytes.hpp>
#include <ptd/error.hpp>
#include <string>
#include <vector>

#include "foreign/flat_message.hpp"

namespace ptd::foreign {

/// What a named tensor looks like.
struct FlatTensorLayoutInfo {
  std::int8_t scalar_type = 0;          ///< ExecuTorch's number (scalar_type.hpp)
  std::vector<std::uint64_t> sizes;     ///< elements
  std::vector<std::uint8_t> dim_order;  ///< a permutation: dimensions from outermost to innermost in memory
};

/// One name and the segment that it stands for.
struct FlatTensorEntry {
  std::string key;
  std::uint32_t segment = 0;
  std::optional<FlatTensorLayoutInfo> layout;  ///< none: opaque bytes
};

/// Everything a FlatTensor file says. Segments may have several names or none.
struct FlatTensorFile {
  std::vector<FileRange> segments;
  std::vector<FlatTensorEntry> entries;  ///< in the order of the file; keys are unique
};

/// How many of a file's first bytes `flat_tensor_message_bytes` needs.
inline constexpr std::size_t flat_tensor_header_bytes = 48;

/// How many of a file's first bytes `parse_flat_tensor` needs, from its first 48. Errors: `foreign_input`.
Result<std::uint64_t> flat_tensor_message_bytes(Bytes first, std::uint64_t file_size);

/// Reads the file's message. Keys are valid names of PTD; every entry's segment exists and lies in the file;
/// a layout has at most 64 dimensions and a dim order that is a permutation. Errors: `foreign_input`;
/// `unsupported_input` for a later version.
Result<FlatTensorFile> parse_flat_tensor(Bytes message, std::uint64_t file_size);

/// Strides in elements of dimensions that lie densely in that order, with max(size, 1) in the products;
/// nothing if they do not fit 64 bits.
std::optional<std::vector<std::uint64_t>> strides_in_order(const std::vector<std::uint64_t>& sizes,
                                                           const std::vector<std::uint8_t>& dim_order);

/// The dim order of dense strides: larger strides are further out, and of equal ones the lower dimension.
/// Strides that are not dense give some order whose strides_in_order differ.
std::vector<std::uint8_t> order_of_strides(std::span<const std::uint64_t> strides);

/// A file to be written: the head up to the segment base, and where each segment goes.
struct FlatTensorPlan {
  std::vector<std::byte> head;      ///< message and padding
  std::vector<FileRange> segments;  ///< in the file, each aligned to 128 bytes
  std::uint64_t file_bytes = 0;
};

/// Lays a file out as ExecuTorch's serializer does. `segments` gives sizes; entries refer to them by index.
/// Sizes in layouts must be below 2^31. Errors: `unsupported_input` if the message or file would be too
/// large.
Result<FlatTensorPlan> plan_flat_tensor(const std::vector<FlatTensorEntry>& entries,
                                        const std::vector<std::uint64_t>& segments);

}  // namespace ptd::foreign
