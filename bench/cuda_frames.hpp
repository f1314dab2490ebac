// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Zstd frames of chunks' plane bytes: those of the literals profile, and ones as libzstd's levels make them.
#pragma once

#include "cuda_chunks.hpp"

namespace ptd::bench {

struct Frame {
  std::uint64_t at = 0;      ///< in the stored bytes
  std::uint64_t stored = 0;  ///< in bytes; as many as planes: these are the plane bytes themselves
  std::uint64_t planes_at = 0;
  std::uint64_t planes = 0;  ///< in bytes, once decoded

  [[nodiscard]] bool is_frame() const noexcept { return stored < planes; }
};

struct Frames {
  Buffer bytes;  ///< each frame at a multiple of 8, as nvCOMP wants it, and the end too
  std::vector<Frame> all;
};

/// The sample's plane bytes, chunk by chunk.
Buffer planes_of(const Coded& coded);

/// The sample's own frames.
Frames literal_frames(const Coded& coded);

/// What libzstd makes of each chunk's plane bytes, matches and all.
Frames ordinary_frames(const Coded& coded, Bytes planes, int level);

/// Frames to plane bytes to raw bytes with libzstd on this thread, through a buffer that stays in the cache.
void decode_on_cpu(const Coded& coded, const Frames& frames, MutableBytes raw);

/// Stored bytes to the first so many raw ones.
double ratio_of(const Frames& frames, std::uint64_t raw_bytes);

}  // namespace ptd::bench
