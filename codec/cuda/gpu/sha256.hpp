// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// SHA-256 (FIPS 180-4) of one leaf of a content, by one thread.
#pragma once

#include "cuda/gpu/seam.hpp"

namespace ptd::cuda::gpu::sha256 {

inline constexpr std::uint32_t message_block_bytes = 64;
inline constexpr std::uint32_t digest_words = 8;

PTD_TABLE std::uint32_t round_constants[64] = {
    0x428A2F98, 0x71374491, 0xB5C0FBCF, 0xE9B5DBA5, 0x3956C25B, 0x59F111F1, 0x923F82A4, 0xAB1C5ED5,
    0xD807AA98, 0x12835B01, 0x243185BE, 0x550C7DC3, 0x72BE5D74, 0x80DEB1FE, 0x9BDC06A7, 0xC19BF174,
    0xE49B69C1, 0xEFBE4786, 0x0FC19DC6, 0x240CA1CC, 0x2DE92C6F, 0x4A7484AA, 0x5CB0A9DC, 0x76F988DA,
    0x983E5152, 0xA831C66D, 0xB00327C8, 0xBF597FC7, 0xC6E00BF3, 0xD5A79147, 0x06CA6351, 0x14292967,
    0x27B70A85, 0x2E1B2138, 0x4D2C6DFC, 0x53380D13, 0x650A7354, 0x766A0ABB, 0x81C2C92E, 0x92722C85,
    0xA2BFE8A1, 0xA81A664B, 0xC24B8B70, 0xC76C51A3, 0xD192E819, 0xD6990624, 0xF40E3585, 0x106AA070,
    0x19A4C116, 0x1E376C08, 0x2748774C, 0x34B0BCB5, 0x391C0CB3, 0x4ED8AA4A, 0x5B9CCA4F, 0x682E6FF3,
    0x748F82EE, 0x78A5636F, 0x84C87814, 0x8CC70208, 0x90BEFFFA, 0xA4506CEB, 0xBEF9A3F7, 0xC67178F2,
};

PTD_HD std::uint32_t rotated(std::uint32_t x, unsigned bits) {
#ifdef __CUDA_ARCH__
  return __funnelshift_r(x, x, bits);
#else
  return x >> bits | x << (32 - bits);
#endif
}

/// A word of the message, which is big-endian, from one that was loaded.
PTD_HD std::uint32_t swapped(std::uint32_t x) {
#ifdef __CUDA_ARCH__
  return __byte_perm(x, 0, 0x0123);
#else
  return x >> 24 | (x >> 8 & 0xFF00) | (x << 8 & 0xFF0000) | x << 24;
#endif
}

struct State {
  std::uint32_t words[digest_words] = {0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A,
                                       0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19};
};

/// Takes 64 bytes of the message into the state. The schedule's 64 words take turns in 16 places.
PTD_HD void take_block(State& state, std::uint32_t (&w)[16]) {
  std::uint32_t a = state.words[0], b = state.words[1], c = state.words[2], d = state.words[3];
  std::uint32_t e = state.words[4], f = state.words[5], g = state.words[6], h = state.words[7];
#ifdef __CUDACC__
#pragma unroll
#endif
  for (unsigned i = 0; i < 64; ++i) {
    if (i >= 16) {
      const std::uint32_t early = w[(i + 1) % 16], late = w[(i + 14) % 16];
      w[i % 16] += w[(i + 9) % 16] + (rotated(early, 7) ^ rotated(early, 18) ^ early >> 3) +
                   (rotated(late, 17) ^ rotated(late, 19) ^ late >> 10);
    }
    const std::uint32_t choice = (e & f) ^ (~e & g), majority = (a & b) ^ (a & c) ^ (b & c);
    const std::uint32_t one =
        h + (rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)) + choice + round_constants[i] + w[i % 16];
    const std::uint32_t two = (rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) + majority;
    h = g, g = f, f = e, e = d + one;
    d = c, c = b, b = a, a = one + two;
  }
  state.words[0] += a, state.words[1] += b, state.words[2] += c, state.words[3] += d;
  state.words[4] += e, state.words[5] += f, state.words[6] += g, state.words[7] += h;
}

/// A byte of the end of the message: the last bytes, the bit that ends it, zeros, its length in bits.
PTD_HD std::uint32_t end_byte(const std::uint8_t* rest, std::uint32_t rest_size, std::uint32_t end_size,
                              std::uint32_t message_size, std::uint32_t index) {
  if (index < rest_size) return rest[index];
  if (index == rest_size) return 0x80;
  const std::uint32_t from_end = end_size - 1 - index;
  return from_end < 4 ? message_size * 8 >> (8 * from_end) & 0xFF : 0;
}

/// Takes what is left of a message behind its whole blocks. Messages here are shorter than 2^29 bytes.
PTD_HD void finish(State& state, const std::uint8_t* rest, std::uint32_t rest_size,
                   std::uint32_t message_size) {
  const std::uint32_t end_size = rest_size + 9 <= message_block_bytes ? 64 : 128;
  for (std::uint32_t begin = 0; begin < end_size; begin += message_block_bytes) {
    std::uint32_t w[16];
    for (std::uint32_t i = 0; i < 16; ++i) {
      w[i] = 0;
      for (std::uint32_t k = 0; k < 4; ++k)
        w[i] = w[i] << 8 | end_byte(rest, rest_size, end_size, message_size, begin + 4 * i + k);
    }
    take_block(state, w);
  }
}

PTD_HD void write_digest(const State& state, std::uint8_t* digest) {
  for (std::uint32_t i = 0; i < 4 * digest_words; ++i)
    digest[i] = static_cast<std::uint8_t>(state.words[i / 4] >> (24 - 8 * (i % 4)));
}

/// All of it, from memory of any alignment.
PTD_HD void hash(const std::uint8_t* message, std::uint32_t size, std::uint8_t* digest) {
  State state;
  const std::uint32_t whole = size / message_block_bytes * message_block_bytes;
  for (std::uint32_t at = 0; at < whole; at += message_block_bytes) {
    std::uint32_t w[16];
    for (std::uint32_t i = 0; i < 16; ++i) w[i] = swapped(load_32(message + at + 4 * i));
    take_block(state, w);
  }
  finish(state, message + whole, size - whole, size);
  write_digest(state, digest);
}

}  // namespace ptd::cuda::gpu::sha256
