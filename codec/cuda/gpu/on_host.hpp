// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// The GPU's decoder and hashes, run on the host: what tests and fuzzers compare with the libraries. Slow.
#pragma once

#include <ptd/bytes.hpp>

#include "cuda/gpu/block.hpp"

namespace ptd::cuda::gpu {

/// The plane bytes of a frame, if the verdict is ok; else `planes` is undefined. Their size is the raw size,
/// a multiple of the width.
Verdict decode_on_host(Bytes stored, unsigned width, MutableBytes planes);

/// XXH3-64 in the parts that a GPU's threads do.
std::uint64_t xxh3_on_host(Bytes bytes);

}  // namespace ptd::cuda::gpu
