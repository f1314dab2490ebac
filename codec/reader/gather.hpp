// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Regions of strided views: which bits of the storage go where, and which chunks hold them.
#pragma once

#include <ptd/reader.hpp>
#include <span>

namespace ptd::reader {

/// One slice a dimension, each inside its dimension, and a destination of the region's size. Error
/// `argument`.
Result<void> check_region(const Tensor& tensor, std::span<const Slice> region,
                          std::uint64_t destination_bytes);

/// Fills `destination` with a checked region of a stored tensor, decoding each chunk that holds some of it
/// once wherever the view visits its storage in one direction.
Result<ReadReport> gather(const Reader::State& state, const Tensor& tensor, std::span<const Slice> region,
                          MutableBytes destination, const ReadOptions& options);

/// Copies `count` bits between bit positions, bit 0 being the lowest of byte 0. Exposed for tests.
void copy_bits(MutableBytes to, std::uint64_t to_bit, Bytes from, std::uint64_t from_bit,
               std::uint64_t count) noexcept;

}  // namespace ptd::reader
