// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// A sample of weights in chunks, and how fast one core decodes them.
#pragma once

#include "cuda/gpu/jobs.hpp"
#include "cuda_weights.hpp"

namespace ptd::bench {

struct Coded {
  Coded(const Weights& weights, std::uint64_t bytes);

  std::string of;  ///< the weights' name
  Encoding encoding;
  std::uint64_t chunk_bytes;
  Bytes raw;                              ///< the sample
  Buffer stored;                          ///< chunk behind chunk
  std::vector<cuda::gpu::ChunkJob> jobs;  ///< with offsets in place of addresses
  double ratio = 0;                       ///< stored bytes to raw ones
};

/// The last sample that was coded is kept, as benchmarks of the same one follow each other.
const Coded& coded_sample(const Weights& weights, std::uint64_t chunk_bytes);

/// Decodes all chunks with the library's own decoder on this thread.
void decode_on_cpu(const Coded& coded, MutableBytes raw);

/// Throws unless the sample begins with these bytes.
void compare_with_sample(const Coded& coded, Bytes decoded);

}  // namespace ptd::bench
