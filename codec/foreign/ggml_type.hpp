// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// How GGML stores numbers: the table of tensor types that GGUF files refer to. The facts are those of
// https://github.com/ggml-org/ggml (include/ggml.h, src/ggml-common.h) in August 2026.
#pragma once

#include <cstdint>
#include <optional>
#include <ptd/dtype.hpp>
#include <string>
#include <string_view>

namespace ptd::foreign {

/// One tensor type. Rows (the innermost dimension) are cut into blocks, and no block spans two rows.
struct GgmlType {
  std::uint32_t number;        ///< in the file
  std::string_view name;       ///< in lower case: "q4_k"
  std::uint32_t block;         ///< elements of a block; 1 for plain types
  std::uint32_t block_bytes;   ///< bytes of a block
  std::optional<DType> dtype;  ///< of plain types
};

/// The type of that number, null if there is none, or none any more. Static storage.
const GgmlType* ggml_type(std::uint32_t number) noexcept;

/// The plain type that holds a dtype's elements as they are; null if GGML has none.
const GgmlType* ggml_type_of(DType dtype) noexcept;

/// The type that a PTD scheme names ("ggml.q4_k", in any case); null if it names none.
const GgmlType* ggml_type_of_scheme(std::string_view scheme) noexcept;

/// "ggml.q4_k".
std::string ggml_scheme(const GgmlType& type);

/// What a number stood for that GGML uses no longer ("Q4_2"); empty for all others.
std::string_view removed_ggml_type(std::uint32_t number) noexcept;

}  // namespace ptd::foreign
