// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// The frame grammar: which zstd frames PTD allows, checked before any decoder sees them.
#pragma once

#include <cstdint>
#include <ptd/bytes.hpp>

namespace ptd::segment {

/// Checks that `stored` is exactly one frame of the form that SPEC.md allows for `raw_size` raw
/// bytes [ZST-1..]: the header that raw_size determines, then blocks of type raw, RLE or compressed with
/// sizes 1 .. min(raw_size, 128 KiB), the last of which ends at the end of `stored`. Error `frame`.
Result<void> check_frame(Bytes stored, std::uint64_t raw_size);

/// True if the (already checked) frame is of the literals-only profile for this plane width: every
/// block is raw, RLE, or compressed with zero sequences and literals that are raw, RLE or Huffman coded with
/// their own table, and each plane is cut into blocks of 128 KiB, the last one short.
bool is_literals_profile(Bytes stored, std::uint64_t raw_size, unsigned plane_width);

}  // namespace ptd::segment
