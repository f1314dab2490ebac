// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// NumPy's .npy format, as far as writing one array needs it.
#pragma once

#include <ptd/dtype.hpp>
#include <ptd/error.hpp>
#include <ptd/model.hpp>
#include <string>
#include <string_view>

namespace ptd::foreign {

/// What a .npy file calls a dtype: "<f4". Types of whole bytes that NumPy lacks are its void of that many
/// bytes ("|V2" for bfloat16), as numpy.save writes arrays of ml_dtypes: `array.view(ml_dtypes.bfloat16)`
/// makes one of them again, and nobody takes the bits for numbers by mistake. Empty for types of less than a
/// byte.
std::string_view npy_dtype(DType dtype) noexcept;

/// True where npy_dtype is a void.
bool is_npy_void(DType dtype) noexcept;

/// Everything in front of the elements, which follow row-major: format 1.0, padded to a multiple of 64 bytes.
/// Errors: `unsupported_input`, with what to do, for types of less than a byte.
Result<std::string> npy_header(const Tensor& tensor);

}  // namespace ptd::foreign
