// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Reading past the page cache with nothing behind it: what a disk can do.
#pragma once

#include "cuda_host.hpp"

namespace ptd::bench {

/// Reads the ranges in blocks of 1 MiB, of which io_uring keeps so many in flight, and drops them. Throws
/// where there is no io_uring.
void read_with_ring(const std::filesystem::path& path, const std::vector<Range>& ranges, unsigned depth);

}  // namespace ptd::bench
