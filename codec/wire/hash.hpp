// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// XXH3-64 with seed 0, the format's check against damage [DIG-1].
#pragma once

#include <cstdint>
#include <memory>
#include <ptd/bytes.hpp>

namespace ptd::wire {

std::uint64_t xxh3(Bytes bytes) noexcept;

/// The same over bytes that come in parts.
class Xxh3 {
 public:
  Xxh3();
  ~Xxh3();
  Xxh3(const Xxh3&) = delete;
  Xxh3& operator=(const Xxh3&) = delete;

  void add(Bytes bytes) noexcept;
  /// The hash of what was added since the last reset (or the start).
  [[nodiscard]] std::uint64_t value() const noexcept;
  void reset() noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ptd::wire
