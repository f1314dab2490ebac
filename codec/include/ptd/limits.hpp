// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// What a file may hold. The numbers stand in schema/ptd.capnp; a test holds these to them.
#pragma once

#include <cstdint>

namespace ptd::limits {

inline constexpr std::uint64_t max_message_bytes = std::uint64_t{1} << 30;
inline constexpr std::uint64_t max_tensors = std::uint64_t{1} << 22;
inline constexpr std::uint64_t max_storages = std::uint64_t{1} << 22;
inline constexpr std::uint64_t max_contents = std::uint64_t{1} << 22;
inline constexpr std::uint64_t max_methods = std::uint64_t{1} << 12;
inline constexpr std::uint64_t max_libraries = std::uint64_t{1} << 12;
inline constexpr std::uint64_t max_variants = std::uint64_t{1} << 8;  ///< of one library
inline constexpr std::uint64_t max_blobs = std::uint64_t{1} << 16;
inline constexpr std::uint64_t max_rank = 64;
inline constexpr std::uint64_t max_name_bytes = 1024;
inline constexpr std::uint64_t max_pairs = std::uint64_t{1}
                                           << 20;  ///< metadata pairs of a file, all together
inline constexpr std::uint64_t max_value_bytes = std::uint64_t{1} << 24;
inline constexpr std::uint64_t max_bytes = std::uint64_t{1}
                                           << 60;  ///< of a storage, content, blob or logical tensor
inline constexpr std::uint64_t max_file_bytes = (std::uint64_t{1} << 63) - 1;
inline constexpr unsigned min_chunk_log2 = 14;
inline constexpr unsigned max_chunk_log2 = 24;
inline constexpr unsigned min_alignment_log2 = 6;
inline constexpr unsigned max_alignment_log2 = 16;

/// A reader must take messages of at least this size, each [LIM-2].
inline constexpr std::uint64_t required_message_bytes = std::uint64_t{1} << 29;

}  // namespace ptd::limits
