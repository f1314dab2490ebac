// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Metadata keys by which an export finds what an import could not say otherwise (docs/executorch.md).
#pragma once

#include <string_view>

namespace ptd::foreign {

/// Of a tensor: the key under which its whole storage is opaque named data. Absent: the tensor's own name.
inline constexpr std::string_view key_of_storage = "executorch.key";
/// Of a blob: the program carries it itself.
inline constexpr std::string_view in_program = "executorch.in_program";
/// Of a library whose code is not in the file: the key of its variant, with ".<number>" from the second on.
inline constexpr std::string_view library_key = "executorch.library_key";
/// Of the file: what the program's constant methods return, a JSON object.
inline constexpr std::string_view constant_methods = "executorch.constant_methods";
/// Of a tensor: its dim order, a JSON array, where its strides do not tell.
inline constexpr std::string_view dim_order_of = "executorch.dim_order";

/// Of the blob that --keep-program makes.
inline constexpr std::string_view program_media_type = "application/x-executorch-program";

}  // namespace ptd::foreign
