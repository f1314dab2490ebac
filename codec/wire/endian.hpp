// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Little-endian integers in byte buffers.
#pragma once

#include <bit>
#include <cstring>
#include <ptd/bytes.hpp>

namespace ptd::wire {

// Lists in messages are handed out as spans over the file's own bytes.
static_assert(std::endian::native == std::endian::little, "this implementation needs a little-endian host");

/// Reads an integer; the caller has checked that it lies inside `bytes`.
template <class Integer>
Integer load(Bytes bytes, std::size_t offset) noexcept {
  Integer value;
  std::memcpy(&value, bytes.subspan(offset, sizeof value).data(), sizeof value);
  return value;
}

template <class Integer>
void store(MutableBytes bytes, std::size_t offset, Integer value) noexcept {
  std::memcpy(bytes.subspan(offset, sizeof value).data(), &value, sizeof value);
}

}  // namespace ptd::wire
