// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// XXH3-64 with seed 0 and the default secret, in parts that threads can share: of a long input each block of
// 1,024 bytes gives eight sums, whatever the other blocks are, and only the sums need to be gone through in
// order.
#pragma once

#include "cuda/gpu/seam.hpp"

namespace ptd::cuda::gpu::xxh3 {

inline constexpr std::uint32_t lanes = 8;          ///< accumulators
inline constexpr std::uint32_t stripe_bytes = 64;  ///< one word for each accumulator
inline constexpr std::uint32_t hash_block_bytes = 1024;
inline constexpr std::uint32_t short_bytes = 240;  ///< longer inputs have accumulators

inline constexpr std::uint64_t prime32_1 = 0x9E3779B1, prime32_2 = 0x85EBCA77, prime32_3 = 0xC2B2AE3D;
inline constexpr std::uint64_t prime64_1 = 0x9E3779B185EBCA87, prime64_2 = 0xC2B2AE3D27D4EB4F;
inline constexpr std::uint64_t prime64_3 = 0x165667B19E3779F9, prime64_4 = 0x85EBCA77C2B2AE63;
inline constexpr std::uint64_t prime64_5 = 0x27D4EB2F165667C5;

/// The default secret, as little-endian words.
PTD_TABLE std::uint64_t secret_words[24] = {
    0xBE4BA423396CFEB8, 0x1CAD21F72C81017C, 0xDB979083E96DD4DE, 0x1F67B3B7A4A44072, 0x78E5C0CC4EE679CB,
    0x2172FFCC7DD05A82, 0x8E2443F7744608B8, 0x4C263A81E69035E0, 0xCB00C391BB52283C, 0xA32E531B8B65D088,
    0x4EF90DA297486471, 0xD8ACDEA946EF1938, 0x3F349CE33F76FAA8, 0x1D4F0BC7C7BBDCF9, 0x3159B4CD4BE0518A,
    0x647378D9C97E9FC8, 0xC3EBD33483ACC5EA, 0xEB6313FAFFA081C5, 0x49DAF0B751DD0D17, 0x9E68D429265516D3,
    0xFCA1477D58BE162B, 0xCE31D07AD1B8F88F, 0x280416958F3ACB45, 0x7E404BBBCAFBD7AF,
};

/// The word at any byte of the secret.
PTD_HD std::uint64_t secret_at(std::uint32_t byte) {
  const std::uint32_t word = byte / 8, shift = byte % 8 * 8;
  if (shift == 0) return secret_words[word];
  return secret_words[word] >> shift | secret_words[word + 1] << (64 - shift);
}

PTD_HD std::uint64_t product_folded(std::uint64_t a, std::uint64_t b) {
#ifdef __CUDA_ARCH__
  return a * b ^ __umul64hi(a, b);
#else
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
#endif
}

PTD_HD std::uint64_t rotated(std::uint64_t x, unsigned bits) { return x << bits | x >> (64 - bits); }

PTD_HD std::uint64_t swapped(std::uint64_t x) {
  std::uint64_t turned = 0;
  for (unsigned i = 0; i < 8; ++i) turned |= (x >> (8 * i) & 0xFF) << (56 - 8 * i);
  return turned;
}

PTD_HD std::uint64_t avalanche(std::uint64_t x) {
  x = (x ^ x >> 37) * 0x165667919E3779F9;
  return x ^ x >> 32;
}

/// The older hash's, for the shortest inputs.
PTD_HD std::uint64_t old_avalanche(std::uint64_t x) {
  x = (x ^ x >> 33) * prime64_2;
  x = (x ^ x >> 29) * prime64_3;
  return x ^ x >> 32;
}

// --- up to 240 bytes -----------------------------------------------------------------------------------

PTD_HD std::uint64_t hash_to_3(const std::uint8_t* in, std::uint32_t size) {
  const std::uint32_t mixed = static_cast<std::uint32_t>(in[0]) << 16 |
                              static_cast<std::uint32_t>(in[size / 2]) << 24 | in[size - 1] | size << 8;
  const std::uint64_t flip = (secret_at(0) & 0xFFFFFFFF) ^ secret_at(0) >> 32;
  return old_avalanche(mixed ^ flip);
}

PTD_HD std::uint64_t hash_to_8(const std::uint8_t* in, std::uint32_t size) {
  const std::uint64_t both = load_32(in + size - 4) + (static_cast<std::uint64_t>(load_32(in)) << 32);
  std::uint64_t x = both ^ secret_at(8) ^ secret_at(16);
  x = (x ^ rotated(x, 49) ^ rotated(x, 24)) * 0x9FB21C651E98DF25;
  x = (x ^ ((x >> 35) + size)) * 0x9FB21C651E98DF25;
  return x ^ x >> 28;
}

PTD_HD std::uint64_t hash_to_16(const std::uint8_t* in, std::uint32_t size) {
  const std::uint64_t low = load_64(in) ^ secret_at(24) ^ secret_at(32);
  const std::uint64_t high = load_64(in + size - 8) ^ secret_at(40) ^ secret_at(48);
  return avalanche(size + swapped(low) + high + product_folded(low, high));
}

PTD_HD std::uint64_t mixed_16(const std::uint8_t* in, std::uint32_t at, std::uint32_t secret) {
  return product_folded(load_64(in + at) ^ secret_at(secret), load_64(in + at + 8) ^ secret_at(secret + 8));
}

/// Pairs of 16 bytes from both ends, the inner ones first.
PTD_HD std::uint64_t hash_to_128(const std::uint8_t* in, std::uint32_t size) {
  std::uint64_t sum = size * prime64_1;
  for (std::uint32_t pair = (size - 1) / 32 + 1; pair-- > 0;) {
    sum += mixed_16(in, 16 * pair, 32 * pair);
    sum += mixed_16(in, size - 16 * (pair + 1), 32 * pair + 16);
  }
  return avalanche(sum);
}

PTD_HD std::uint64_t hash_to_240(const std::uint8_t* in, std::uint32_t size) {
  std::uint64_t sum = size * prime64_1;
  for (std::uint32_t i = 0; i < 8; ++i) sum += mixed_16(in, 16 * i, 16 * i);
  sum = avalanche(sum);
  for (std::uint32_t i = 8; i < size / 16; ++i) sum += mixed_16(in, 16 * i, 16 * (i - 8) + 3);
  return avalanche(sum + mixed_16(in, size - 16, 136 - 17));
}

/// The hash of at most 240 bytes.
PTD_HD std::uint64_t hash_short(const std::uint8_t* in, std::uint32_t size) {
  if (size > 128) return hash_to_240(in, size);
  if (size > 16) return hash_to_128(in, size);
  if (size > 8) return hash_to_16(in, size);
  if (size > 3) return hash_to_8(in, size);
  if (size > 0) return hash_to_3(in, size);
  return old_avalanche(secret_at(56) ^ secret_at(64));
}

// --- more than 240 bytes -------------------------------------------------------------------------------

/// Blocks that are followed by at least a byte; what is left of the input is its tail, 1 to 1,024 bytes.
PTD_HD std::uint32_t whole_blocks(std::uint32_t size) { return (size - 1) / hash_block_bytes; }

PTD_HD std::uint64_t first_accumulator(std::uint32_t lane) {
  constexpr std::uint64_t low[4] = {prime32_3, prime64_1, prime64_2, prime64_3};
  constexpr std::uint64_t high[4] = {prime64_4, prime32_2, prime64_5, prime32_1};
  return lane < 4 ? low[lane] : high[lane - 4];
}

/// What a stripe adds to an accumulator: of its own word a product, and its neighbour's word as it is.
PTD_HD std::uint64_t stripe_term(std::uint64_t own, std::uint64_t neighbour, std::uint64_t secret) {
  const std::uint64_t keyed = own ^ secret;
  return neighbour + (keyed & 0xFFFFFFFF) * (keyed >> 32);
}

/// The same of the stripe that begins at a byte of the input.
PTD_HD std::uint64_t stripe_term_at(const std::uint8_t* in, std::uint32_t at, std::uint32_t lane,
                                    std::uint64_t secret) {
  const std::uint32_t own = at + 8 * lane, neighbour = at + 8 * (lane ^ 1);
  return stripe_term(load_64(in + own), load_64(in + neighbour), secret);
}

/// The secret of a stripe of a block, for an accumulator.
PTD_HD std::uint64_t stripe_secret(std::uint32_t stripe, std::uint32_t lane) {
  return secret_words[stripe + lane];
}

/// An accumulator after a block whose terms sum up to `sum`.
PTD_HD std::uint64_t after_block(std::uint64_t accumulator, std::uint64_t sum, std::uint32_t lane) {
  const std::uint64_t x = accumulator + sum;
  return (x ^ x >> 47 ^ secret_words[16 + lane]) * prime32_1;
}

/// The sum of the tail's terms. Its last stripe ends with the input, wherever it begins.
PTD_HD std::uint64_t tail_sum(const std::uint8_t* in, std::uint32_t size, std::uint32_t lane) {
  const std::uint32_t begin = whole_blocks(size) * hash_block_bytes;
  const std::uint32_t stripes = (size - 1 - begin) / stripe_bytes;
  std::uint64_t sum = 0;
  for (std::uint32_t i = 0; i < stripes; ++i)
    sum += stripe_term_at(in, begin + i * stripe_bytes, lane, stripe_secret(i, lane));
  constexpr std::uint32_t last_secret = 121;
  return sum + stripe_term_at(in, size - stripe_bytes, lane, secret_at(last_secret + 8 * lane));
}

/// What two accumulators, the first of them even, add to the hash.
PTD_HD std::uint64_t pair_term(std::uint64_t even, std::uint64_t odd, std::uint32_t pair) {
  constexpr std::uint32_t merge_secret = 11;
  return product_folded(even ^ secret_at(merge_secret + 16 * pair),
                        odd ^ secret_at(merge_secret + 16 * pair + 8));
}

/// The hash, from the four pairs' terms added up.
PTD_HD std::uint64_t finished(std::uint64_t terms, std::uint32_t size) {
  return avalanche(size * prime64_1 + terms);
}

}  // namespace ptd::cuda::gpu::xxh3
