// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// The bytes of an input as a row of decisions, for targets that build something.
#pragma once

#include <cstdint>
#include <ptd/bytes.hpp>

namespace ptd::fuzz {

/// Every decision takes as few bytes as it needs, so that one changed byte changes one thing. After the last
/// byte every decision is 0.
class Choices {
 public:
  explicit Choices(Bytes bytes) noexcept : rest_(bytes) {}

  /// A number below `end`; any 64-bit number if `end` is 0.
  std::uint64_t below(std::uint64_t end) noexcept {
    const std::uint64_t number = take(bytes_for(end - 1));
    return end == 0 ? number : number % end;
  }

  bool flag() noexcept { return below(2) == 1; }

  [[nodiscard]] bool is_empty() const noexcept { return rest_.empty(); }

 private:
  static unsigned bytes_for(std::uint64_t largest) noexcept {
    unsigned bytes = 1;
    while (bytes < 8 && largest >> (8 * bytes) != 0) ++bytes;
    return bytes;
  }

  std::uint64_t take(unsigned count) noexcept {
    std::uint64_t number = 0;
    for (unsigned i = 0; i < count && !rest_.empty(); ++i) {
      number |= std::to_integer<std::uint64_t>(rest_.front()) << (8 * i);
      rest_ = rest_.subspan(1);
    }
    return number;
  }

  Bytes rest_;
};

}  // namespace ptd::fuzz
