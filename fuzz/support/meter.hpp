// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// How much memory was allocated at once, by all threads. Measured with the sanitizers' hooks, so only where
// the program was built with AddressSanitizer.
#pragma once

#include <cstdint>

namespace ptd::fuzz {

class MemoryMeter {
 public:
  /// False where this build cannot measure.
  static bool is_available() noexcept;

  /// Starts from zero. Memory that was allocated before does not count, nor does freeing it.
  static void start() noexcept;

  /// The most that was allocated at once since then, bytes.
  static std::uint64_t stop() noexcept;
};

}  // namespace ptd::fuzz
