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
  [[nodiscard]] static __device__ std::uintptr_t leaders(std::uintptr_t number) {
    return __shfl_sync(whole_warp, static_cast<unsigned long long>(number), 0, group_size);
  }
};

}  // namespace ptd::cuda::gpu
