// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
#pragma once

#include <cstring>
#include <ptd/bytes.hpp>
#include <vector>

namespace ptd::fuzz {

/// The whole 8-byte words at the front of `bytes`, where a message may lie.
inline std::vector<std::uint64_t> words_of(Bytes bytes) {
  std::vector<std::uint64_t> words(bytes.size() / 8);
  if (!words.empty()) std::memcpy(words.data(), bytes.data(), 8 * words.size());
  return words;
}

}  // namespace ptd::fuzz
