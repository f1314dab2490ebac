// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// A reader's whole work on a file: open, verify, read everything, write it again.
#pragma once

#include <optional>
#include <ptd/reader.hpp>
#include <vector>

namespace ptd::fuzz {

/// How many bytes of content a run reads; a small file can declare a great many more.
inline constexpr std::uint64_t max_raw_bytes = std::uint64_t{1} << 22;

/// Bytes of all contents, or nothing if they are more than max_raw_bytes.
std::optional<std::uint64_t> raw_bytes(const Reader& reader);

/// Requires that every name finds its object, and a method what it binds.
void require_names(const Model& model);

/// Reads every content, storage, blob, tensor and the middle of every tensor, up to max_raw_bytes of each.
/// Requires that each agrees with the content that it is made of. Gives false if something is damaged.
bool read_everything(const Reader& reader);

/// Requires of a file that was verified that the writer can copy it: that the copy holds the same model, that
/// its bytes do not depend on the number of threads, and that a copy of it is equal to it.
void require_copy(const Reader& reader, bool compress);

}  // namespace ptd::fuzz
