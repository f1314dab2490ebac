// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Writes frames of the literals-only profile.
#pragma once

#include <memory>
#include <ptd/bytes.hpp>

#include "segment/blocks.hpp"
#include "segment/scratch.hpp"

struct ZSTD_CCtx_s;

namespace ptd::segment {

/// Makes frames of one block or more for each byte plane. libzstd codes each block as a frame of its
/// own, and the blocks then move behind one header: so no block can reuse another's Huffman table, and
/// no choice of libzstd's about splitting, merging or ending blocks can show in the file.
class LiteralsFrameWriter {
 public:
  /// A frame smaller than `planes`, or an empty span where there is none. The planes are equally
  /// long and stand one behind the other, 1 .. 2^24 bytes. Valid until the next call.
  Result<Bytes> write(Bytes planes, unsigned plane_width);

 private:
  struct FreeContext {
    void operator()(ZSTD_CCtx_s* context) const noexcept;
  };

  Result<void> prepare(std::size_t raw_bytes);
  Result<void> make_context();
  Result<void> add_plane(Bytes plane, bool last);
  Result<void> add_block(Bytes raw, bool last);
  Result<Bytes> code_literals(Bytes raw);
  void put_block(BlockHeader header, Bytes content) noexcept;
  void put(Bytes bytes) noexcept;

  std::unique_ptr<ZSTD_CCtx_s, FreeContext> context_;
  Scratch frame_memory_;
  Scratch block_memory_;
  MutableBytes frame_;    ///< one byte shorter than the raw bytes: what does not fit is not worth storing
  std::size_t used_ = 0;  ///< of frame_; past its end once something did not fit
};

}  // namespace ptd::segment
