// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "segment/planes.hpp"

#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "wire/endian.hpp"

namespace ptd::segment {
namespace {

// GCC's and clang's portable vectors: SSE2 on any x86-64, NEON on any aarch64. Wider ones would need
// dispatch at run time and gain nothing: 16 bytes a store already outrun the Huffman decoder tenfold.
constexpr std::size_t lanes = 16;
template <class T>
using Vector [[gnu::vector_size(lanes)]] = T;
using ByteVector = Vector<std::uint8_t>;

ByteVector load(const std::byte* from) noexcept {
  ByteVector vector;
  std::memcpy(&vector, from, sizeof vector);
  return vector;
}

void store(std::byte* to, ByteVector vector) noexcept { std::memcpy(to, &vector, sizeof vector); }

ByteVector even_bytes(ByteVector a, ByteVector b) noexcept {
  return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
}
ByteVector odd_bytes(ByteVector a, ByteVector b) noexcept {
  return __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
}
ByteVector zip_low(ByteVector a, ByteVector b) noexcept {
  return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}
ByteVector zip_high(ByteVector a, ByteVector b) noexcept {
  return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
}

template <class T>
ByteVector rotated_left(ByteVector bytes) noexcept {
  const auto x = std::bit_cast<Vector<T>>(bytes);
  return std::bit_cast<ByteVector>(x << 1 | x >> (8 * sizeof(T) - 1));
}
template <class T>
ByteVector rotated_right(ByteVector bytes) noexcept {
  const auto x = std::bit_cast<Vector<T>>(bytes);
  return std::bit_cast<ByteVector>(x >> 1 | x << (8 * sizeof(T) - 1));
}

// The arrays below stay in registers only if everything is inlined and every index is a constant.
template <std::size_t count, class Step>
[[gnu::always_inline]] inline void unrolled(Step step) noexcept {
  [&]<std::size_t... k>(std::index_sequence<k...>) { (step(k), ...); }
  (std::make_index_sequence<count>{});
}

// A byte's address in the group is (element, byte of the element). Each round rotates the address
// right by a bit, so that log2(width) rounds turn it into (byte of the element, element).
template <std::size_t width>
[[gnu::always_inline]] inline void split_group(ByteVector (&group)[width]) noexcept {
  for (std::size_t round = 1; round < width; round *= 2) {
    ByteVector next[width];
    unrolled<width / 2>([&](std::size_t k) {
      next[k] = even_bytes(group[2 * k], group[2 * k + 1]);
      next[k + width / 2] = odd_bytes(group[2 * k], group[2 * k + 1]);
    });
    unrolled<width>([&](std::size_t k) { group[k] = next[k]; });
  }
}

template <std::size_t width>
[[gnu::always_inline]] inline void merge_group(ByteVector (&group)[width]) noexcept {
  for (std::size_t round = 1; round < width; round *= 2) {
    ByteVector next[width];
    unrolled<width / 2>([&](std::size_t k) {
      next[2 * k] = zip_low(group[k], group[k + width / 2]);
      next[2 * k + 1] = zip_high(group[k], group[k + width / 2]);
    });
    unrolled<width>([&](std::size_t k) { group[k] = next[k]; });
  }
}

template <class T, bool rotate>
void split(Bytes raw, MutableBytes planes) noexcept {
  constexpr std::size_t width = sizeof(T);
  const std::size_t elements = raw.size() / width;
  std::size_t i = 0;
  for (; i + lanes <= elements; i += lanes) {
    ByteVector group[width];
    unrolled<width>([&](std::size_t k) {
      const ByteVector bytes = load(raw.data() + i * width + k * lanes);
      group[k] = rotate ? rotated_left<T>(bytes) : bytes;
    });
    split_group(group);
    unrolled<width>([&](std::size_t k) { store(planes.data() + k * elements + i, group[k]); });
  }
  for (; i < elements; ++i) {
    const T element = wire::load<T>(raw, i * width);
    const auto bytes = std::bit_cast<std::array<std::byte, width>>(rotate ? std::rotl(element, 1) : element);
    for (std::size_t k = 0; k < width; ++k) planes[k * elements + i] = bytes[k];
  }
}

template <class T, bool rotate>
void merge(Bytes planes, MutableBytes raw) noexcept {
  constexpr std::size_t width = sizeof(T);
  const std::size_t elements = raw.size() / width;
  std::size_t i = 0;
  for (; i + lanes <= elements; i += lanes) {
    ByteVector group[width];
    unrolled<width>([&](std::size_t k) { group[k] = load(planes.data() + k * elements + i); });
    merge_group(group);
    unrolled<width>([&](std::size_t k) {
      store(raw.data() + i * width + k * lanes, rotate ? rotated_right<T>(group[k]) : group[k]);
    });
  }
  for (; i < elements; ++i) {
    std::array<std::byte, width> bytes{};
    for (std::size_t k = 0; k < width; ++k) bytes[k] = planes[k * elements + i];
    const auto element = std::bit_cast<T>(bytes);
    wire::store(raw, i * width, rotate ? std::rotr(element, 1) : element);
  }
}

// Calls `action` with a value of the element type that `width` names.
template <class Action>
void with_element(unsigned width, Action action) noexcept {
  switch (width) {
    case 2:
      return action(std::uint16_t{});
    case 4:
      return action(std::uint32_t{});
    case 8:
      return action(std::uint64_t{});
    default:
      return action(std::uint8_t{});
  }
}

}  // namespace

void split_planes(Bytes raw, MutableBytes planes, unsigned width, bool rotate) noexcept {
  with_element(width,
               [&]<class T>(T) { rotate ? split<T, true>(raw, planes) : split<T, false>(raw, planes); });
}

void merge_planes(Bytes planes, MutableBytes raw, unsigned width, bool rotate) noexcept {
  with_element(width,
               [&]<class T>(T) { rotate ? merge<T, true>(planes, raw) : merge<T, false>(planes, raw); });
}

}  // namespace ptd::segment
