// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Arithmetic on numbers from a file: a result that does not fit is no result.
#pragma once

#include <cstdint>
#include <optional>

namespace ptd::wire {

using Maybe = std::optional<std::uint64_t>;

constexpr Maybe add(Maybe a, Maybe b) noexcept {
  std::uint64_t sum = 0;
  if (!a || !b || __builtin_add_overflow(*a, *b, &sum)) return std::nullopt;
  return sum;
}

constexpr Maybe multiply(Maybe a, Maybe b) noexcept {
  std::uint64_t product = 0;
  if (!a || !b || __builtin_mul_overflow(*a, *b, &product)) return std::nullopt;
  return product;
}

/// The next multiple of a power of two.
constexpr Maybe align_up(Maybe value, std::uint64_t alignment) noexcept {
  const Maybe bumped = add(value, alignment - 1);
  if (!bumped) return std::nullopt;
  return *bumped & ~(alignment - 1);
}

constexpr std::uint64_t divide_up(std::uint64_t value, std::uint64_t divisor) noexcept {
  return value / divisor + (value % divisor != 0 ? 1 : 0);
}

}  // namespace ptd::wire
