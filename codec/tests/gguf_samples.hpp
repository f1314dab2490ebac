// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// GGUF files put together by hand, for tests: nothing here is checked, so that faults can be written.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace ptd::foreign::gguf_test {

template <class Number>
std::string raw(Number value) {
  std::string out(sizeof value, '\0');
  std::memcpy(out.data(), &value, sizeof value);
  return out;
}

inline std::string u32(std::uint64_t value) { return raw(static_cast<std::uint32_t>(value)); }
inline std::string u64(std::uint64_t value) { return raw(value); }
inline std::string text(std::string_view value) { return u64(value.size()).append(value); }

/// A pair: the value's type by number, and its bytes.
inline std::string pair(std::string_view key, std::uint32_t type, std::string_view value) {
  return (text(key) + u32(type)).append(value);
}

/// An array's value: the elements' type, their number, their bytes.
inline std::string array(std::uint32_t type, std::uint64_t count, std::string_view elements) {
  return (u32(type) + u64(count)).append(elements);
}

inline std::string tensor(std::string_view name, const std::vector<std::uint64_t>& dims, std::uint32_t type,
                          std::uint64_t offset) {
  auto out = text(name) + u32(dims.size());
  for (const auto dim : dims) out += u64(dim);
  return out + u32(type) + u64(offset);
}

/// Zeros up to a multiple.
inline std::string padded(std::string bytes, std::size_t alignment = 32) {
  bytes.resize((bytes.size() + alignment - 1) / alignment * alignment, '\0');
  return bytes;
}

struct Parts {
  std::vector<std::string> pairs{};
  std::vector<std::string> tensors{};
  std::string data{};  ///< all of it, padding too
  std::size_t alignment = 32;
  std::uint32_t version = 3;
};

inline std::string head(const Parts& parts) {
  auto out = "GGUF" + u32(parts.version) + u64(parts.tensors.size()) + u64(parts.pairs.size());
  for (const auto& pair : parts.pairs) out += pair;
  for (const auto& tensor : parts.tensors) out += tensor;
  return out;
}

inline std::string file(const Parts& parts) { return padded(head(parts), parts.alignment) + parts.data; }

/// A little of everything: two pairs of strings, an array, three tensors.
inline Parts sample() {
  return {{pair("general.architecture", 8, text("llama")), pair("n", 4, u32(7)),
           pair("tokens", 9, array(8, 2, text("a") + text("bc")))},
          {tensor("f", {3, 2}, 0, 0), tensor("q", {32, 2}, 2, 32), tensor("i", {5}, 24, 96)},
          padded(std::string(24, 'f')) + padded(std::string(36, 'q')) + padded(std::string(5, 'i'))};
}

}  // namespace ptd::foreign::gguf_test
