// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// UTF-8 as Unicode defines it: no surrogates, no overlong forms, nothing above U+10FFFF.
#pragma once

#include <cstddef>
#include <string_view>

namespace ptd::wire {

/// One decoded character: its code point and length in bytes; length 0 for bytes that are not UTF-8.
struct Utf8Char {
  char32_t code = 0;
  std::size_t length = 0;
};

/// Decodes the first character of a non-empty string.
Utf8Char decode_utf8(std::string_view text) noexcept;

/// True if all of `text` is valid UTF-8. Linear; ASCII runs are checked 8 bytes at a time.
bool is_utf8(std::string_view text) noexcept;

}  // namespace ptd::wire
