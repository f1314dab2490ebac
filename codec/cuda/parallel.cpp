// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "cuda/parallel.hpp"

#include <system_error>
#include <thread>
#include <vector>

#include "file/ordered.hpp"

namespace ptd::cuda {

void run_on_threads(unsigned threads, const std::function<void()>& work) {
  std::vector<std::jthread> others;
  others.reserve(file::thread_count(threads));
  try {
    while (others.size() + 1 < file::thread_count(threads)) others.emplace_back(work);
  } catch (const std::system_error&) {
    // Fewer threads do the same work.
  }
  work();
}

}  // namespace ptd::cuda
