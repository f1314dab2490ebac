// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// SHA-256 of leaves, one thread a leaf. A thread's bytes are far from its neighbour's, so the warp fetches 128 bytes of each
// leaf together, in whole lines, and passes them on through shared memory.
#pragma once

#include "cuda/gpu/jobs.hpp"
#include "cuda/gpu/sha256.hpp"
#include "cuda/gpu/warp.cuh"

namespace ptd::cuda::gpu {

/// Words of a leaf's 128 bytes, and one more, so that 32 threads at the same word meet 32 banks.
inline constexpr unsigned row_words = 33;
using Stage = std::uint32_t[32][row_words];

struct Leaf {
  const std::uint8_t* bytes = nullptr;
  std::uint8_t* digest = nullptr;
  std::uint32_t size = 0;
  std::uint32_t staged = 0;  ///< bytes that the warp fetches: whole message blocks of an aligned leaf
};

/// The run that a leaf is in: the last that begins at or before it.
__device__ inline const LeafRun& run_of(const LeafRun* runs, std::uint32_t count, std::uint64_t leaf) {
  std::uint32_t first = 0;
  while (count > 1) {
    const std::uint32_t half = count / 2;
    if (runs[first + half].first_leaf <= leaf) first += half, count -= half;
    else count = half;
  }
  return runs[first];
}

__device__ inline Leaf find_leaf(const LeafRun* runs, std::uint32_t count, std::uint64_t number) {
  const LeafRun& run = run_of(runs, count, number);
  const std::uint64_t index = number - run.first_leaf, begin = index * gpu_leaf_bytes;
  Leaf leaf;
  leaf.bytes = reinterpret_cast<const std::uint8_t*>(run.bytes + begin);
  leaf.digest = reinterpret_cast<std::uint8_t*>(run.digests + index * 32);
  leaf.size = static_cast<std::uint32_t>(run.size - begin < gpu_leaf_bytes ? run.size - begin : gpu_leaf_bytes);
  leaf.staged = is_aligned(leaf.bytes, 16) ? leaf.size / 64 * 64 : 0;
  return leaf;
}

/// A thread's share of 128 bytes of each leaf: 16 bytes of every fourth one.
struct Share {
  uint4 parts[8];

  __device__ void fetch(const Leaf& own, std::uint32_t offset) {
    offset += Warp::rank() % 8 * 16;
    for (unsigned i = 0; i < 8; ++i) {
      const int row = static_cast<int>(4 * i + Warp::rank() / 8);
      const auto base = __shfl_sync(whole_warp, reinterpret_cast<unsigned long long>(own.bytes), row);
      const std::uint32_t staged = __shfl_sync(whole_warp, own.staged, row);
      if (offset < staged) parts[i] = __ldcs(reinterpret_cast<const uint4*>(base + offset));
    }
  }
  __device__ void pass_on(Stage& stage) const {
    const unsigned column = Warp::rank() % 8 * 4;
    for (unsigned i = 0; i < 8; ++i) {
      std::uint32_t* const to = &stage[4 * i + Warp::rank() / 8][column];
      to[0] = parts[i].x, to[1] = parts[i].y, to[2] = parts[i].z, to[3] = parts[i].w;
    }
  }
};

__device__ inline void take_staged(sha256::State& state, const std::uint32_t* words) {
  std::uint32_t w[16];
  for (unsigned i = 0; i < 16; ++i) w[i] = sha256::swapped(words[i]);
  sha256::take_block(state, w);
}

/// Hashes the warp's leaves. Threads without one take part in the fetching.
__device__ inline void hash_leaves(const Leaf& leaf, Stage& stage) {
  sha256::State state;
  Share share;
  const std::uint32_t end = Warp::most(leaf.staged);
  share.fetch(leaf, 0);
  for (std::uint32_t offset = 0; offset < end; offset += 128) {
    Warp::sync();
    share.pass_on(stage);
    Warp::sync();
    if (offset + 128 < end) share.fetch(leaf, offset + 128);
#pragma unroll 1
    for (std::uint32_t half = 0; half < 2; ++half)
      if (offset + 64 * half < leaf.staged) take_staged(state, &stage[Warp::rank()][16 * half]);
  }
  if (leaf.digest == nullptr) return;
  if (leaf.staged == 0) return sha256::hash(leaf.bytes, leaf.size, leaf.digest);
  sha256::finish(state, leaf.bytes + leaf.staged, leaf.size - leaf.staged, leaf.size);
  sha256::write_digest(state, leaf.digest);
}

}  // namespace ptd::cuda::gpu
