// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Rules of the GGUF format that its parser and its writer share.
#pragma once

#include <cstdint>
#include <string_view>

#include "foreign/gguf.hpp"
#include "wire/checked.hpp"

namespace ptd::foreign {

inline constexpr std::string_view gguf_magic = "GGUF";
inline constexpr std::string_view alignment_key = "general.alignment";
inline constexpr std::size_t max_gguf_rank = 4;
inline constexpr std::size_t max_gguf_key_bytes = 65535;

/// The next multiple of an alignment, which need not be a power of two.
constexpr wire::Maybe round_up(wire::Maybe value, std::uint64_t alignment) noexcept {
  if (!value || *value % alignment == 0) return value;
  return wire::add(value, alignment - *value % alignment);
}

/// Where the last tensor ends, or the header if there is none.
std::uint64_t gguf_content_end(const GgufHeader& header) noexcept;

/// Checks the alignment that the pairs state, or sets it to what it is without.
Result<void> check_alignment(GgufHeader& header, Bytes file);

/// Checks that each tensor begins where the one before it ends, aligned, and that the last one, with or
/// without padding, ends the file.
Result<void> check_places(GgufHeader& header, std::uint64_t file_size);

}  // namespace ptd::foreign
