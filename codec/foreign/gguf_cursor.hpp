// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Reading a GGUF header front to back. The only way to touch its bytes.
#pragma once

#include <concepts>
#include <cstdint>
#include <string_view>

#include "foreign/gguf.hpp"
#include "wire/endian.hpp"

namespace ptd::foreign {

/// Holds a file's first bytes and knows how long the file is. What lies behind the file's end is an error of
/// the file; what lies behind the bytes at hand only means that more of them are needed.
class GgufCursor {
 public:
  GgufCursor(Bytes first, std::uint64_t file_size) noexcept;

  [[nodiscard]] std::uint64_t position() const noexcept { return position_; }

  /// True once something was asked for that is in the file, but not in the bytes at hand.
  [[nodiscard]] bool is_starved() const noexcept { return is_starved_; }

  /// The next bytes. `what` names them in the error, here and below.
  Result<Bytes> take(std::uint64_t size, std::string_view what);

  template <std::integral Integer>
  Result<Integer> number(std::string_view what) {
    PTD_LET(bytes, take(sizeof(Integer), what));
    return wire::load<Integer>(bytes, 0);
  }

  /// A length and as many bytes.
  Result<std::string_view> string(std::string_view what);

  /// A number of things of at least `least_bytes` each, which the rest of the file can hold.
  Result<std::uint64_t> count(std::uint64_t least_bytes, std::string_view what);

 private:
  Bytes first_;
  std::uint64_t file_size_;
  std::uint64_t position_ = 0;
  bool is_starved_ = false;
};

/// Bytes of one value of a type; 0 for strings and arrays, whose sizes differ.
std::uint64_t gguf_width(GgufType type) noexcept;

/// A type's number, checked.
Result<GgufType> read_gguf_type(GgufCursor& cursor);

/// Passes over one value and checks it: counts, lengths, booleans, nesting.
Result<void> skip_gguf_value(GgufCursor& cursor, GgufType type);

}  // namespace ptd::foreign
