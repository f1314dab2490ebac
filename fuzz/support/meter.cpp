// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "support/meter.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>

// The sanitizers' own header is not there with every compiler, and the functions only with a sanitizer.
extern "C" {
[[gnu::weak]] int __sanitizer_install_malloc_and_free_hooks(void (*on_malloc)(const volatile void*,
                                                                              std::size_t),
                                                            void (*on_free)(const volatile void*));
[[gnu::weak]] std::size_t __sanitizer_get_allocated_size(const volatile void* memory);
}

namespace ptd::fuzz {
namespace {

std::atomic<bool> running = false;
std::atomic<std::int64_t> current = 0;
std::atomic<std::int64_t> peak = 0;

void on_malloc(const volatile void*, std::size_t size) {
  if (!running.load(std::memory_order_relaxed)) return;
  const auto now = current.fetch_add(static_cast<std::int64_t>(size)) + static_cast<std::int64_t>(size);
  auto seen = peak.load();
  while (now > seen && !peak.compare_exchange_weak(seen, now)) {
  }
}

void on_free(const volatile void* memory) {
  if (memory == nullptr || !running.load(std::memory_order_relaxed)) return;
  current.fetch_sub(static_cast<std::int64_t>(__sanitizer_get_allocated_size(memory)));
}

bool install() noexcept {
  return __sanitizer_install_malloc_and_free_hooks != nullptr &&
         __sanitizer_install_malloc_and_free_hooks(on_malloc, on_free) != 0;
}

}  // namespace

bool MemoryMeter::is_available() noexcept {
  static const bool installed = install();
  return installed;
}

void MemoryMeter::start() noexcept {
  current = 0;
  peak = 0;
  running = is_available();
}

std::uint64_t MemoryMeter::stop() noexcept {
  running = false;
  return static_cast<std::uint64_t>(std::max<std::int64_t>(peak, 0));
}

}  // namespace ptd::fuzz
