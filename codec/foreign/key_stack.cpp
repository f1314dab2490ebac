// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "foreign/key_stack.hpp"

#include <algorithm>
#include <functional>

namespace ptd::foreign {
namespace {

constexpr std::uint32_t few = 8;

/// Half a hash above the key's index: one sort brings keys of equal hash together, in order.
std::uint64_t tagged(std::string_view text, std::uint32_t index) {
  return std::uint64_t{std::hash<std::string_view>{}(text)} << 32 | index;
}
std::uint32_t index_of(std::uint64_t tag) { return static_cast<std::uint32_t>(tag); }

}  // namespace

void KeyStack::open() { levels_.push_back(static_cast<std::uint32_t>(keys_.size())); }

void KeyStack::add(std::string_view key) {
  keys_.push_back({static_cast<std::uint32_t>(bytes_.size()), static_cast<std::uint32_t>(key.size())});
  bytes_ += key;
}

std::optional<std::string> KeyStack::close() {
  const std::uint32_t first = levels_.back();
  levels_.pop_back();
  if (first == keys_.size()) return std::nullopt;
  const auto repeated = keys_.size() - first <= few ? repeated_of_few(first) : repeated_of_many(first);
  if (repeated) return std::string(text(*repeated));
  bytes_.resize(keys_[first].begin);
  keys_.resize(first);
  return std::nullopt;
}

std::string_view KeyStack::text(std::uint32_t index) const noexcept {
  return std::string_view(bytes_).substr(keys_[index].begin, keys_[index].size);
}

std::optional<std::uint32_t> KeyStack::repeated_of_few(std::uint32_t first) const noexcept {
  for (auto i = first; i < keys_.size(); ++i)
    for (auto j = first; j < i; ++j)
      if (text(i) == text(j)) return i;
  return std::nullopt;
}

std::optional<std::uint32_t> KeyStack::repeated_of_many(std::uint32_t first) const {
  Tags tags;
  tags.reserve(keys_.size() - first);
  for (auto i = first; i < keys_.size(); ++i) tags.push_back(tagged(text(i), i));
  std::sort(tags.begin(), tags.end());
  std::optional<std::uint32_t> earliest;
  for (auto run = tags.begin(); run != tags.end();) {
    const auto end = std::find_if(run, tags.end(), [&](auto tag) { return tag >> 32 != *run >> 32; });
    const auto found = end - run > 1 ? repeated_in(run, end) : std::nullopt;
    if (found) earliest = std::min(*found, earliest.value_or(*found));
    run = end;
  }
  return earliest;
}

// Equal hashes are rare unless chosen: then a sort by the keys themselves keeps the cost bounded.
std::optional<std::uint32_t> KeyStack::repeated_in(Tags::iterator begin, Tags::iterator end) const {
  std::sort(begin, end, [this](auto a, auto b) {
    const int names = text(index_of(a)).compare(text(index_of(b)));
    return names != 0 ? names < 0 : a < b;
  });
  std::optional<std::uint32_t> earliest;
  for (auto at = begin + 1; at != end; ++at)
    if (text(index_of(*at)) == text(index_of(at[-1])))
      earliest = std::min(index_of(*at), earliest.value_or(index_of(*at)));
  return earliest;
}

}  // namespace ptd::foreign
