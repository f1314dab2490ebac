// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Byte planes: element bytes regrouped so that like stands beside like.
#pragma once

#include <ptd/bytes.hpp>

namespace ptd::segment {

/// Plane k of `planes` gets byte k of each little-endian `width`-byte element of `raw`; with `rotate`
/// each element x becomes x << 1 | x >> (8 * width - 1) first. Sizes are equal and a multiple of width;
/// width is 1, 2, 4 or 8; the spans do not overlap.
void split_planes(Bytes raw, MutableBytes planes, unsigned width, bool rotate) noexcept;

/// The inverse of split_planes.
void merge_planes(Bytes planes, MutableBytes raw, unsigned width, bool rotate) noexcept;

}  // namespace ptd::segment
