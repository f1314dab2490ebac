// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// The device's team: the threads of a warp.
#pragma once

#include "cuda/gpu/seam.hpp"

namespace ptd::cuda::gpu {

inline constexpr unsigned whole_warp = 0xFFFFFFFF;

struct Warp {
  [[nodiscard]] static __device__ std::uint32_t rank() { return threadIdx.x % 32; }
  [[nodiscard]] static __device__ std::uint32_t size() { return 32; }
  static __device__ void sync() { __syncwarp(); }
  [[nodiscard]] static __device__ std::uint32_t most(std::uint32_t number) {
    return __reduce_max_sync(whole_warp, number);
  }
};

}  // namespace ptd::cuda::gpu
