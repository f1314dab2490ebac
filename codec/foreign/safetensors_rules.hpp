// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Rules of the safetensors format that its parser and its writer share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "foreign/safetensors.hpp"

namespace ptd::foreign {

inline constexpr std::string_view metadata_name = "__metadata__";
inline constexpr std::uint64_t prefix_bytes = 8;
inline constexpr std::uint64_t max_header_bytes = 100'000'000;  ///< of JSON; the reference reader's limit
inline constexpr std::uint64_t max_number = (std::uint64_t{1} << 63) - 1;

/// The dtype that safetensors spells so.
std::optional<DType> dtype_from_safetensors(std::string_view spelling) noexcept;

/// Bits of a tensor; nothing if the product does not fit. Like the reference reader it multiplies in order,
/// so that a zero after an overflow does not help.
std::optional<std::uint64_t> reference_bits(DType dtype, const std::vector<std::uint64_t>& sizes) noexcept;

/// The same, but any zero size makes the tensor empty.
std::optional<std::uint64_t> tensor_bits(DType dtype, const std::vector<std::uint64_t>& sizes) noexcept;

/// "F32 [2, 3]", for messages; long lists are cut.
std::string shape_text(DType dtype, const std::vector<std::uint64_t>& sizes);

/// Refuses a NUL in a tensor's name: PTD has no such names, and C programs would read another one.
Result<void> check_tensor_name(std::string_view name);

/// Checks sizes x dtype == range for each entry, and that the ranges cover `data_size` bytes without holes or
/// overlap. Entries stand in order of begin, then of name. Empty tensors may lie anywhere inside.
Result<void> check_ranges(const std::vector<SafetensorsEntry>& entries, std::uint64_t data_size,
                          bool allow_shared);

}  // namespace ptd::foreign
