// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <ptd/bytes.hpp>

namespace ptd::segment {

/// True if all bytes are equal: they are, if each equals its neighbour. memcmp is the C library's
/// fastest loop and stops early.
inline bool is_uniform(Bytes bytes) noexcept {
  return bytes.size() < 2 || std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0;
}

}  // namespace ptd::segment
