// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "cuda/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "file/failure.hpp"
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

Result<void> for_each(unsigned threads, std::size_t count,
                      const std::function<Result<void>(std::size_t)>& body) {
  constexpr std::size_t stride = 64;  // so that threads do not queue for each other
  std::atomic<std::size_t> next = 0;
  std::atomic<std::size_t> first_failed = count;
  std::mutex mutex;
  Result<void> failure;
  const auto run = [&](std::size_t i) {
    auto result = file::guarded([&] { return body(i); });
    if (result) return;
    const std::lock_guard lock(mutex);
    if (i >= first_failed) return;
    first_failed = i;
    failure = std::move(result);
  };
  const auto useful =
      static_cast<unsigned>(std::min<std::size_t>(file::thread_count(threads), count / stride + 1));
  run_on_threads(useful, [&] {
    while (true) {
      const auto begin = next.fetch_add(stride);
      if (begin >= count || begin > first_failed) return;
      for (auto i = begin; i < std::min(count, begin + stride) && i < first_failed; ++i) run(i);
    }
  });
  return failure;
}

}  // namespace ptd::cuda
