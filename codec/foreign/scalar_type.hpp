// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// ExecuTorch's numbers for element types, which are PyTorch's (docs/executorch.md, "Element types").
#pragma once

#include <cstdint>
#include <optional>
#include <ptd/dtype.hpp>
#include <string>
#include <string_view>

namespace ptd::foreign {

/// One element type of ExecuTorch.
struct ScalarType {
  std::uint8_t number;
  std::string_view name;       ///< PyTorch's, for example "bfloat16" or "quint4x2"
  std::optional<DType> dtype;  ///< none: quantised or packed, kept as bytes with a scheme
  std::uint8_t bits;           ///< bits of one element
};

/// The type with that number, or null.
const ScalarType* find_scalar_type(std::int64_t number) noexcept;

/// The type of that dtype, or null where ExecuTorch has none.
const ScalarType* scalar_type_of(DType dtype) noexcept;

/// The scheme under which PTD keeps elements that none of its dtypes describes: "executorch.quint4x2".
std::string scheme_of(const ScalarType& type);

/// The type that a scheme stands for, or null.
const ScalarType* scalar_type_of_scheme(std::string_view scheme) noexcept;

}  // namespace ptd::foreign
