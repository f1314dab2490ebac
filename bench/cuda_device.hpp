// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// What the benchmarks themselves need of CUDA.
#pragma once

#include <cuda_runtime_api.h>

#include <ptd/bytes.hpp>
#include <string>

#include "cuda_host.hpp"

namespace ptd::bench {

/// Throws what CUDA says if a call failed.
void cuda_check(cudaError_t result, const char* doing);

/// Makes the GPU's context, which no load should pay for, and throws if there is no GPU.
void need_gpu();

/// Page-locked host memory.
class Pinned {
 public:
  explicit Pinned(std::uint64_t bytes);
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  ~Pinned();
  [[nodiscard]] MutableBytes bytes() const noexcept { return {data_, size_}; }

 private:
  std::byte* data_ = nullptr;
  std::uint64_t size_;
};

class DeviceMemory {
 public:
  explicit DeviceMemory(std::uint64_t bytes) { cuda_check(cudaMalloc(&data_, bytes), "cudaMalloc"); }
  DeviceMemory(DeviceMemory&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
  DeviceMemory& operator=(DeviceMemory&&) = delete;
  ~DeviceMemory() { cudaFree(data_); }
  [[nodiscard]] void* get() const noexcept { return data_; }

 private:
  void* data_ = nullptr;
};

/// Free memory of the GPU, in bytes.
std::uint64_t free_device_bytes();

/// Copies so many bytes from pinned memory to the GPU in pieces of at most 1 GiB; the seconds that took.
class Link {
 public:
  Link();
  [[nodiscard]] std::uint64_t bytes() const noexcept { return host_.bytes().size(); }
  [[nodiscard]] double copy(int times);

 private:
  Pinned host_;
  DeviceMemory device_;
};

/// Bytes a second from pinned memory to the GPU: what no load can exceed. Measured when first asked for.
double link_rate();

}  // namespace ptd::bench
