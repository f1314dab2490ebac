// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// One chunk, between its raw bytes and its stored bytes.
#pragma once

#include <memory>
#include <ptd/bytes.hpp>
#include <ptd/layout.hpp>  // Encoding, plane_width, sign_rotated
#include <vector>

namespace ptd::segment {

/// Encodes chunks; keeps its scratch memory and zstd context between calls, so make one a thread.
/// Output depends on nothing but the input and the encoding (same libzstd, same bytes).
class ChunkEncoder {
 public:
  ChunkEncoder();
  ChunkEncoder(ChunkEncoder&&) noexcept;
  ChunkEncoder& operator=(ChunkEncoder&&) noexcept;
  ~ChunkEncoder();

  /// The stored form of `raw` (1 .. 2^24 bytes, a multiple of the plane width): a frame of the
  /// literals-only profile [ZST-*], or `raw` itself where the frame would not be smaller, or where
  /// the encoding is raw. The result is valid until the next call and may alias `raw`.
  [[nodiscard]] Result<Bytes> encode(Encoding encoding, Bytes raw);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Decodes chunks; keeps scratch memory and the zstd context between calls, so make one a thread.
class ChunkDecoder {
 public:
  ChunkDecoder();
  ChunkDecoder(ChunkDecoder&&) noexcept;
  ChunkDecoder& operator=(ChunkDecoder&&) noexcept;
  ~ChunkDecoder();

  /// Fills `raw` from `stored`. stored.size() == raw.size() means the original bytes. Otherwise the
  /// frame is checked first (`frame`), then decoded (`chunk_data` if the decoder refuses it or gives
  /// another length). Digests are the caller's. `raw` and `stored` must not overlap.
  [[nodiscard]] Result<void> decode(Encoding encoding, Bytes stored, MutableBytes raw);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ptd::segment
