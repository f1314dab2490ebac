// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// How a GGUF file's header travels in a PTD file: as a blob, byte for byte, bound to the method that the
// tensors are bound to. docs/gguf.md describes it to users.
#pragma once

#include <string_view>

namespace ptd::foreign {

/// Media type of the blob, which is what it is known by. Its name is "gguf/METHOD", which may have been
/// taken.
inline constexpr std::string_view gguf_blob_type = "application/x-gguf-header";

/// Metadata key of the blob: the size of the GGUF file in bytes, as decimal text.
inline constexpr std::string_view gguf_size_key = "file_size";

}  // namespace ptd::foreign
