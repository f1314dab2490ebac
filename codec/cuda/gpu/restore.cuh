// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Raw bytes to their place, and their hash on the way: one block of threads a chunk.
#pragma once

#include "cuda/gpu/merge.cuh"
#include "cuda/gpu/warp.cuh"
#include "cuda/gpu/xxh3.hpp"

namespace ptd::cuda::gpu {

inline constexpr unsigned restore_threads = 128;
inline constexpr unsigned restore_warps = restore_threads / 32;
inline constexpr unsigned blocks_per_warp = 8;  ///< hash blocks that a warp takes in a round
inline constexpr unsigned blocks_per_round = restore_warps * blocks_per_warp;

/// Sums of hash blocks, of this round and of the one before it.
using RoundSums = std::uint64_t[2][blocks_per_round][xxh3::lanes];

/// A thread's part of a hash block: 16 bytes of two stripes, for two neighbouring accumulators.
struct StripeSecrets {
  std::uint64_t even[2], odd[2];

  __device__ StripeSecrets() {
    for (unsigned half = 0; half < 2; ++half) {
      const unsigned stripe = half * 8 + Warp::rank() / 4, lane = Warp::rank() % 4 * 2;
      even[half] = xxh3::stripe_secret(stripe, lane);
      odd[half] = xxh3::stripe_secret(stripe, lane + 1);
    }
  }
};

struct PairSum {
  std::uint64_t even = 0, odd = 0;

  __device__ void add(const Line& line, const StripeSecrets& secrets, unsigned half) {
    const std::uint64_t low = line.words[0] | static_cast<std::uint64_t>(line.words[1]) << 32;
    const std::uint64_t high = line.words[2] | static_cast<std::uint64_t>(line.words[3]) << 32;
    even += xxh3::stripe_term(low, high, secrets.even[half]);
    odd += xxh3::stripe_term(high, low, secrets.odd[half]);
  }
  /// Adds up the stripes; the first four threads of the warp get the sums.
  __device__ void gather(std::uint64_t* to) {
    for (unsigned distance = 16; distance >= 4; distance /= 2) {
      even += __shfl_down_sync(whole_warp, even, distance);
      odd += __shfl_down_sync(whole_warp, odd, distance);
    }
    if (Warp::rank() >= 4) return;
    to[2 * Warp::rank()] = even;
    to[2 * Warp::rank() + 1] = odd;
  }
};

template <unsigned width>
__device__ void restore_block(const Planes<width>& planes, const ChunkJob& job, const StripeSecrets& secrets,
                              std::uint32_t block, std::uint64_t* sums) {
  auto* const raw = reinterpret_cast<std::uint8_t*>(job.raw);
  const std::uint32_t offset = block * xxh3::hash_block_bytes + 16 * Warp::rank();
  const Line lines[2] = {raw_line(planes, job, offset), raw_line(planes, job, offset + 512)};
  PairSum sum;
  for (unsigned half = 0; half < 2; ++half) {
    if (job.raw != job.stored) write_line(raw + offset + 512 * half, lines[half]);
    sum.add(lines[half], secrets, half);
  }
  if (job.checked != 0) sum.gather(sums);
}

/// What the whole hash blocks leave.
template <unsigned width>
__device__ void restore_tail(const Planes<width>& planes, const ChunkJob& job, std::uint32_t begin) {
  if (job.raw == job.stored) return;
  const std::uint32_t lines_end = job.raw_bytes / 16 * 16;
  for (std::uint32_t offset = begin + 16 * threadIdx.x; offset < lines_end; offset += 16 * restore_threads)
    write_line(reinterpret_cast<std::uint8_t*>(job.raw) + offset, raw_line(planes, job, offset));
  const std::uint32_t element = lines_end / width + threadIdx.x;
  if (element < job.raw_bytes / width) write_element(planes, job, element);
}

/// Ends the hash of a long input: eight threads have an accumulator each.
__device__ inline std::uint64_t finish_hash(std::uint64_t accumulator, const std::uint8_t* raw,
                                            std::uint32_t size) {
  const unsigned lane = Warp::rank() % xxh3::lanes;
  accumulator += xxh3::tail_sum(raw, size, lane);
  const std::uint64_t neighbour = __shfl_xor_sync(whole_warp, accumulator, 1);
  std::uint64_t terms = lane % 2 == 0 ? xxh3::pair_term(accumulator, neighbour, lane / 2) : 0;
  for (unsigned distance = 1; distance < xxh3::lanes; distance *= 2)
    terms += __shfl_xor_sync(whole_warp, terms, distance);
  return xxh3::finished(terms, size);
}

/// Writes the raw bytes; the first warp gets their hash.
template <unsigned width>
__device__ std::uint64_t restore_chunk(const ChunkJob& job, RoundSums& sums) {
  const Planes<width> planes(job);
  const StripeSecrets secrets;
  const bool is_long = job.raw_bytes > xxh3::short_bytes;
  const std::uint32_t blocks = is_long ? xxh3::whole_blocks(job.raw_bytes) : 0;
  const unsigned warp = threadIdx.x / 32, lane = Warp::rank() % xxh3::lanes;
  std::uint64_t accumulator = xxh3::first_accumulator(lane);
  restore_tail(planes, job, blocks * xxh3::hash_block_bytes);
  for (std::uint32_t first = 0, round = 0; first < blocks; first += blocks_per_round, round ^= 1) {
    const std::uint32_t count = smaller(blocks_per_round, blocks - first);
    for (std::uint32_t i = warp; i < count; i += restore_warps)
      restore_block(planes, job, secrets, first + i, sums[round][i]);
    __syncthreads();
    // The other warps are at the next round meanwhile, and wait at its end before this round's sums are overwritten.
    if (warp == 0 && job.checked != 0)
      for (std::uint32_t i = 0; i < count; ++i)
        accumulator = xxh3::after_block(accumulator, sums[round][i][lane], lane);
  }
  __syncthreads();
  if (warp != 0 || job.checked == 0) return job.hash;
  const auto* const raw = reinterpret_cast<const std::uint8_t*>(job.raw);
  return is_long ? finish_hash(accumulator, raw, job.raw_bytes) : xxh3::hash_short(raw, job.raw_bytes);
}

__device__ inline std::uint64_t restore_any(const ChunkJob& job, RoundSums& sums) {
  switch (job.stored_bytes == job.raw_bytes ? 1 : job.width) {
    case 2:
      return restore_chunk<2>(job, sums);
    case 4:
      return restore_chunk<4>(job, sums);
    case 8:
      return restore_chunk<8>(job, sums);
    default:
      return restore_chunk<1>(job, sums);
  }
}

}  // namespace ptd::cuda::gpu
