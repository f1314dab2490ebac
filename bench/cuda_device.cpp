// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "cuda_device.hpp"

#include <algorithm>
#include <cstring>

namespace ptd::bench {

void cuda_check(cudaError_t result, const char* doing) {
  if (result != cudaSuccess) throw std::runtime_error(std::string(doing) + ": " + cudaGetErrorString(result));
}

void need_gpu() {
  cuda_check(cudaSetDevice(0), "looking for a GPU");
  cuda_check(cudaFree(nullptr), "looking for a GPU");
}

Pinned::Pinned(std::uint64_t bytes) : size_(bytes) {
  void* memory = nullptr;
  cuda_check(cudaHostAlloc(&memory, bytes, cudaHostAllocPortable), "cudaHostAlloc");
  data_ = static_cast<std::byte*>(memory);
}

Pinned::~Pinned() { cudaFreeHost(data_); }

std::uint64_t free_device_bytes() {
  std::size_t free = 0, total = 0;
  cuda_check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  return free;
}

Link::Link() : host_(scaled(std::uint64_t{1} << 30, std::uint64_t{1} << 20)), device_(host_.bytes().size()) {
  // Zeros are no fair load for a link that may see them.
  auto bytes = host_.bytes();
  for (std::size_t i = 0; i + 8 <= bytes.size(); i += 8) {
    const std::uint64_t value = (i + 1) * 0x9E3779B97F4A7C15U;
    std::memcpy(bytes.data() + i, &value, sizeof value);
  }
}

double Link::copy(int times) {
  const Stopwatch watch;
  for (int i = 0; i < times; ++i)
    cuda_check(cudaMemcpyAsync(device_.get(), host_.bytes().data(), bytes(), cudaMemcpyHostToDevice, nullptr),
               "cudaMemcpyAsync");
  cuda_check(cudaDeviceSynchronize(), "copying to the GPU");
  return watch.seconds();
}

double link_rate() {
  static const double rate = [] {
    Link link;
    (void)link.copy(1);
    double best = link.copy(4);
    for (int i = 0; i < 4; ++i) best = std::min(best, link.copy(4));
    return 4 * static_cast<double>(link.bytes()) / best;
  }();
  return rate;
}

}  // namespace ptd::bench
