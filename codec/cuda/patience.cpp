// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "cuda/patience.hpp"

#include <chrono>
#include <thread>

namespace ptd::cuda {

Result<void> wait_actively(const Mark& mark) {
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::milliseconds(2);
  while (!mark.is_reached()) {
    if (std::chrono::steady_clock::now() > give_up) break;
    std::this_thread::yield();
  }
  return mark.wait();
}

}  // namespace ptd::cuda
