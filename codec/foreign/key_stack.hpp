// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// The keys of all JSON objects that are open at one time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ptd::foreign {

/// Finds duplicate keys. One arena for all levels, so that memory stays near the size of the text
/// whatever a stranger nests; sorting instead of hashing, so that chosen collisions cost nothing.
class KeyStack {
 public:
  void open();  ///< a container begins
  void add(std::string_view key);

  /// A container ends: the first key that it repeats, if any.
  std::optional<std::string> close();

  [[nodiscard]] std::size_t depth() const noexcept { return levels_.size(); }

 private:
  struct Key {
    std::uint32_t begin;
    std::uint32_t size;
  };

  using Tags = std::vector<std::uint64_t>;

  [[nodiscard]] std::string_view text(std::uint32_t index) const noexcept;
  [[nodiscard]] std::optional<std::uint32_t> repeated_of_few(std::uint32_t first) const noexcept;
  [[nodiscard]] std::optional<std::uint32_t> repeated_of_many(std::uint32_t first) const;
  [[nodiscard]] std::optional<std::uint32_t> repeated_in(Tags::iterator begin, Tags::iterator end) const;

  std::string bytes_;
  std::vector<Key> keys_;
  std::vector<std::uint32_t> levels_;  ///< index of each level's first key
};

}  // namespace ptd::foreign
