// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// What kernels are told, and what they say. Plain data: it travels to the GPU as it lies in memory.
#pragma once

#include <cstdint>

namespace ptd::cuda::gpu {

/// One chunk that is to be decoded, or copied, and checked. Addresses are the GPU's.
struct ChunkJob {
  std::uint64_t stored =
      0;                  ///< of the stored bytes, at any alignment; the buffer ends at a multiple of 4 bytes
  std::uint64_t raw = 0;  ///< of the raw bytes, best at a multiple of 16. May be `stored` for a chunk that is
                          ///< stored as it is: it is only checked then. No other overlap
  std::uint64_t hash = 0;          ///< the XXH3-64 that the raw bytes should have
  std::uint32_t stored_bytes = 0;  ///< raw_bytes: they are the raw bytes [CHK-4]
  std::uint32_t raw_bytes = 0;     ///< 1 .. 2^24, a multiple of the width
  std::uint32_t width = 1;         ///< of elements: 1, 2, 4 or 8
  std::uint32_t rotated = 0;       ///< 1 if the sign was rotated to the low end
  std::uint32_t checked = 1;       ///< 0: do not look at the hash

  // Set when the job is enqueued.
  std::uint32_t reserved = 0;
  std::uint64_t planes = 0;  ///< room for raw_bytes
  std::uint64_t pieces = 0;  ///< room for a piece a block
};

/// What became of a chunk. With anything but `ok` its raw bytes are undefined, and nothing else was written.
/// The host's decoder then has the last word: it finds the bytes of the first two kinds, where there are any,
/// and says what is wrong with the others. The first four are the decoder's verdicts.
enum class ChunkStatus : std::uint32_t {
  ok,
  outside_profile,  ///< not a frame of the literals profile
  doubtful,         ///< breaks RFC 8878, but libzstd might not mind
  damaged,          ///< no decoder takes the frame
  wrong_hash,       ///< the raw bytes do not have the hash
};

/// Bytes of a content, from a multiple of the leaf size on, and where the digests of their leaves go: 32
/// bytes each. All leaves but a run's last are whole. Addresses are the GPU's; `bytes` best is a multiple
/// of 16.
struct LeafRun {
  std::uint64_t bytes = 0;
  std::uint64_t size = 0;  ///< in bytes, not 0
  std::uint64_t digests = 0;

  // Set when the run is enqueued.
  std::uint64_t first_leaf = 0;  ///< of all runs' leaves
};

inline constexpr std::uint32_t gpu_leaf_bytes = 8192;

/// Lists of both are fetched by so many threads a block, in words of so many bytes.
inline constexpr std::uint32_t fetch_threads = 256, fetch_bytes = 16;
static_assert(sizeof(ChunkJob) % fetch_bytes == 0 && sizeof(LeafRun) % fetch_bytes == 0);

}  // namespace ptd::cuda::gpu
