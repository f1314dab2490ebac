// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// The seam between host and device. What is marked PTD_HD is compiled twice from one source: by nvcc for
// GPUs, and by the host's compiler for tests and fuzzers, where a sanitizer sees each access. PTD_TABLE is
// for tables of numbers that such code looks things up in.
#pragma once

#include <cstdint>

#ifdef __CUDACC__
#define PTD_HD __host__ __device__ inline
#define PTD_TABLE __constant__ const
#else
#define PTD_HD inline
#define PTD_TABLE inline constexpr
#endif

namespace ptd::cuda::gpu {

/// The threads that work on one block of a frame together. Each has a rank; work is dealt out by rank. They
/// form groups of equal size, one for each stream that is decoded at a time; the first of a group leads it.
/// This is the host's team: one thread, one group. The device's is a warp of four groups.
struct Alone {
  static constexpr std::uint32_t groups = 1;
  static constexpr std::uint32_t group_size = 1;
  [[nodiscard]] static constexpr std::uint32_t rank() { return 0; }
  [[nodiscard]] static constexpr std::uint32_t size() { return 1; }
  [[nodiscard]] static constexpr std::uint32_t group() { return 0; }
  [[nodiscard]] static constexpr std::uint32_t group_rank() { return 0; }
  static constexpr void sync() {}
  /// The largest of the members' numbers.
  [[nodiscard]] static constexpr std::uint32_t most(std::uint32_t number) { return number; }
  /// True if one of them says so.
  [[nodiscard]] static constexpr bool any(bool said) { return said; }
  /// The number of the group's leader.
  [[nodiscard]] static constexpr std::uint32_t leaders(std::uint32_t number) { return number; }
  /// The sum of the numbers of the group's members before this one; `total` becomes that of all.
  [[nodiscard]] static constexpr std::uint32_t sum_before(std::uint32_t number, std::uint32_t& total) {
    total = number;
    return 0;
  }
};

/// The index of the highest bit that is set, in a number that is not 0.
PTD_HD std::uint32_t highest_bit(std::uint32_t number) {
#ifdef __CUDA_ARCH__
  return 31 - static_cast<std::uint32_t>(__clz(static_cast<int>(number)));
#else
  return 31 - static_cast<std::uint32_t>(__builtin_clz(number));
#endif
}

/// 32 bits of `high` and `low`, which stand behind one another, from bit 0 to 31 of `low` on.
PTD_HD std::uint32_t funnel(std::uint32_t low, std::uint32_t high, std::uint32_t bit) {
#ifdef __CUDA_ARCH__
  return __funnelshift_r(low, high, bit);
#else
  return static_cast<std::uint32_t>((static_cast<std::uint64_t>(high) << 32 | low) >> bit);
#endif
}

PTD_HD std::uint32_t smaller(std::uint32_t a, std::uint32_t b) { return a < b ? a : b; }

/// True if the address is a multiple of `alignment`, a power of two.
PTD_HD bool is_aligned(const void* address, std::uintptr_t alignment) {
  return (reinterpret_cast<std::uintptr_t>(address) & (alignment - 1)) == 0;
}

/// The 4 or 8 little-endian bytes at an address of any alignment.
PTD_HD std::uint32_t load_32(const std::uint8_t* at) {
#ifdef __CUDA_ARCH__
  if (is_aligned(at, 4)) return *reinterpret_cast<const std::uint32_t*>(at);
#endif
  std::uint32_t number = 0;
  for (unsigned i = 0; i < 4; ++i) number |= static_cast<std::uint32_t>(at[i]) << (8 * i);
  return number;
}
PTD_HD std::uint64_t load_64(const std::uint8_t* at) {
#ifdef __CUDA_ARCH__
  if (is_aligned(at, 8)) return *reinterpret_cast<const std::uint64_t*>(at);
#endif
  return static_cast<std::uint64_t>(load_32(at + 4)) << 32 | load_32(at);
}

}  // namespace ptd::cuda::gpu
