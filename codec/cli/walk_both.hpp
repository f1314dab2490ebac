// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Two ascending lists, side by side.
#pragma once

#include <iterator>

namespace ptd::cli {

/// Calls `only_a`, `only_b` or `both` for each key of two lists that are strictly ascending by it, in the
/// order of keys. Complexity: linear.
template <class A, class B, class KeyA, class KeyB, class OnlyA, class OnlyB, class Both>
void walk_both(const A& a, const B& b, KeyA&& key_a, KeyB&& key_b, OnlyA&& only_a, OnlyB&& only_b,
               Both&& both) {
  auto in_a = std::begin(a);
  auto in_b = std::begin(b);
  while (in_a != std::end(a) && in_b != std::end(b)) {
    const auto order = key_a(*in_a) <=> key_b(*in_b);
    if (order < 0)
      only_a(*in_a++);
    else if (order > 0)
      only_b(*in_b++);
    else
      both(*in_a++, *in_b++);
  }
  for (; in_a != std::end(a); ++in_a) only_a(*in_a);
  for (; in_b != std::end(b); ++in_b) only_b(*in_b);
}

/// The same where one function gives the key of either list's elements.
template <class A, class B, class Key, class OnlyA, class OnlyB, class Both>
void walk_both(const A& a, const B& b, Key&& key, OnlyA&& only_a, OnlyB&& only_b, Both&& both) {
  walk_both(a, b, key, key, only_a, only_b, both);
}

}  // namespace ptd::cli
