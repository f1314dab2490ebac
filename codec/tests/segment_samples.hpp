// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Bytes that look like weights, for the tests and benchmarks of segment/.
#pragma once

#include <cmath>
#include <cstring>
#include <ptd/bytes.hpp>
#include <random>
#include <vector>

namespace ptd::segment::samples {

/// A binary float of one sign bit, exponent bits and mantissa bits.
struct FloatFormat {
  unsigned exponent_bits;
  unsigned mantissa_bits;

  [[nodiscard]] std::size_t bytes() const { return (1 + exponent_bits + mantissa_bits) / 8; }
};
inline constexpr FloatFormat fp8_e4m3{4, 3}, fp16{5, 10}, bf16{8, 7}, fp32{8, 23}, fp64{11, 52};

/// The bits of the nearest number, ties to even, for values well inside the format's range.
inline std::uint64_t round_to(FloatFormat format, double value) {
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  const int exponent = value == 0 ? 1 - bias : std::max(std::ilogb(value), 1 - bias);
  const double scaled =
      std::nearbyint(std::ldexp(std::fabs(value), static_cast<int>(format.mantissa_bits) - exponent));
  // The scaled number has the implicit bit, which adds the missing one to the exponent field (and a
  // carry out of the mantissa another).
  const auto magnitude = (static_cast<std::uint64_t>(exponent + bias - 1) << format.mantissa_bits) +
                         static_cast<std::uint64_t>(scaled);
  const std::uint64_t sign = std::signbit(value) ? 1 : 0;
  return sign << (format.exponent_bits + format.mantissa_bits) | magnitude;
}

/// `count` numbers of N(0, sigma).
inline std::vector<std::byte> normal(FloatFormat format, std::size_t count, double sigma,
                                     std::uint64_t seed = 1) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> distribution(0, sigma);
  std::vector<std::byte> bytes(count * format.bytes());
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t bits = round_to(format, distribution(random));
    std::memcpy(bytes.data() + i * format.bytes(), &bits, format.bytes());
  }
  return bytes;
}

inline std::vector<std::byte> uniform(std::size_t count, std::uint64_t seed = 1) {
  std::mt19937_64 random(seed);
  std::vector<std::byte> bytes(count);
  for (auto& byte : bytes) byte = static_cast<std::byte>(random() & 0xFF);
  return bytes;
}

}  // namespace ptd::segment::samples
