// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Bytes out of a .ptd file, in windows of bounded size, checked as they are read.
#pragma once

#include <filesystem>
#include <functional>
#include <ptd/reader.hpp>

namespace ptd::foreign {

/// Takes the next bytes; they are gone after the call. An error stops the copying and is its result.
using ByteSink = std::function<Result<void>(Bytes)>;

/// Hands out logical_bytes(tensor) bytes: the elements, row-major and packed, whatever the strides. The
/// index must be in range and its storage not external (`argument`). Memory: bounded, whatever the
/// tensor's size.
Result<void> copy_tensor_out(const Reader& file, std::uint32_t index, unsigned threads, const ByteSink& sink);

/// The same with all bytes of a blob.
Result<void> copy_blob_out(const Reader& file, std::uint32_t index, unsigned threads, const ByteSink& sink);

/// The same with bytes [begin, begin + size) of a storage, which must lie in it.
Result<void> copy_storage_out(const Reader& file, std::uint32_t storage, std::uint64_t begin,
                              std::uint64_t size, unsigned threads, const ByteSink& sink);

/// Fails with `io` where the target's folder has less room than that: a few bytes of a .ptd file can stand
/// for very many zeros, which must not fill the disk.
Result<void> check_room(const std::filesystem::path& target, std::uint64_t needed);

}  // namespace ptd::foreign
