// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Memory that is allocated while bytes for it are already being read: a driver takes 5 ms for 16 GiB.
#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <ptd/error.hpp>

namespace ptd::cuda {

class Allocation {
 public:
  enum class Where : std::uint8_t {
    here,        ///< before the constructor returns
    background,  ///< on a thread of its own; if there can be none, here
  };

  /// What the work uses outlives it. Memory belongs to whom the work gives it.
  Allocation(std::function<Result<void>()> work, Where where);
  Allocation(const Allocation&) = delete;
  Allocation& operator=(const Allocation&) = delete;
  /// Waits.
  ~Allocation();

  /// Blocks until there is memory, or gives the work's error. Any thread, any number of times; what the work
  /// wrote may be read afterwards.
  [[nodiscard]] Result<void> wait() const;

 private:
  std::shared_future<Result<void>> done_;
};

}  // namespace ptd::cuda
