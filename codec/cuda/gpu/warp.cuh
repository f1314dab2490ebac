// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// The device's team: the threads of a warp.
#pragma once

#include "cuda/gpu/seam.hpp"

namespace ptd::cuda::gpu {

inline constexpr unsigned whole_warp = 0xFFFFFFFF;

struct Warp {
  static constexpr std::uint32_t groups = 4;
  static constexpr std::uint32_t group_size = 8;
  [[nodiscard]] static __device__ std::uint32_t rank() { return threadIdx.x % 32; }
  [[nodiscard]] static __device__ std::uint32_t size() { return 32; }
  [[nodiscard]] static __device__ std::uint32_t group() { return rank() / group_size; }
  [[nodiscard]] static __device__ std::uint32_t group_rank() { return rank() % group_size; }
  static __device__ void sync() { __syncwarp(); }
  [[nodiscard]] static __device__ std::uint32_t most(std::uint32_t number) {
    return __reduce_max_sync(whole_warp, number);
  }
  [[nodiscard]] static __device__ bool any(bool said) { return __any_sync(whole_warp, said) != 0; }
  [[nodiscard]] static __device__ std::uint32_t leaders(std::uint32_t number) {
    return __shfl_sync(whole_warp, number, 0, group_size);
  }
  [[nodiscard]] static __device__ std::uint32_t sum_before(std::uint32_t number, std::uint32_t& total) {
    std::uint32_t sum = number;
    for (std::uint32_t distance = 1; distance < group_size; distance *= 2) {
      const std::uint32_t before = __shfl_up_sync(whole_warp, sum, distance, group_size);
      if (group_rank() >= distance) sum += before;
    }
    total = __shfl_sync(whole_warp, sum, group_size - 1, group_size);
    return sum - number;
  }
};

}  // namespace ptd::cuda::gpu
