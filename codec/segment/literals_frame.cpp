// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#define ZSTD_STATIC_LINKING_ONLY  // the sequence API
#include "segment/literals_frame.hpp"

#include <zstd.h>
#include <zstd_errors.h>

#include <cstring>
#include <utility>

#include "segment/uniform.hpp"

namespace ptd::segment {
namespace {

// Bound for one block as a frame of its own.
constexpr std::size_t block_frame_bytes = ZSTD_COMPRESSBOUND(max_block_bytes) + ZSTD_FRAMEHEADERSIZE_MAX;

// No match is ever looked for, so the smallest tables are the fastest: libzstd clears them for each
// frame. Literals are always offered to Huffman, which strategy and level would otherwise decide.
constexpr std::pair<ZSTD_cParameter, int> parameters[] = {
    {ZSTD_c_strategy, ZSTD_fast},
    {ZSTD_c_windowLog, 17},
    {ZSTD_c_hashLog, ZSTD_HASHLOG_MIN},
    {ZSTD_c_chainLog, ZSTD_CHAINLOG_MIN},
    {ZSTD_c_literalCompressionMode, ZSTD_ps_enable},
    {ZSTD_c_blockDelimiters, ZSTD_sf_explicitBlockDelimiters},
    {ZSTD_c_checksumFlag, 0},
};

Failure no_memory() { return fail(ErrorCode::no_memory, "", "not enough memory to compress a chunk"); }

Failure zstd_failure(std::size_t code) {
  if (ZSTD_getErrorCode(code) == ZSTD_error_memory_allocation) return no_memory();
  return fail(ErrorCode::internal, "",
              std::string("libzstd would not compress a chunk: ") + ZSTD_getErrorName(code));
}

// The content of a frame's block, if the frame is one block of the profile.
Bytes single_literals_block(Bytes frame) noexcept {
  const std::size_t header_bytes = ZSTD_frameHeaderSize(frame.data(), frame.size());
  Cursor cursor(frame);
  if (ZSTD_isError(header_bytes) || !cursor.take(header_bytes)) return {};
  const auto block = take_block(cursor, max_block_bytes);
  if (!block || !block->header.last || !cursor.at_end() || block->header.type != BlockType::compressed ||
      !literals_only_size(block->content))
    return {};
  return block->content;
}

}  // namespace

void LiteralsFrameWriter::FreeContext::operator()(ZSTD_CCtx_s* context) const noexcept {
  ZSTD_freeCCtx(context);
}

Result<void> LiteralsFrameWriter::prepare(std::size_t raw_bytes) {
  used_ = 0;
  frame_ = frame_memory_.room(raw_bytes);
  if (frame_.empty() || block_memory_.room(block_frame_bytes).empty()) return no_memory();
  frame_ = frame_.first(raw_bytes - 1);
  return context_ ? Result<void>{} : make_context();
}

Result<void> LiteralsFrameWriter::make_context() {
  std::unique_ptr<ZSTD_CCtx_s, FreeContext> made(ZSTD_createCCtx());
  if (!made) return no_memory();
  for (const auto& [parameter, value] : parameters) {
    const std::size_t code = ZSTD_CCtx_setParameter(made.get(), parameter, value);
    if (ZSTD_isError(code)) return zstd_failure(code);
  }
  context_ = std::move(made);
  return {};
}

Result<Bytes> LiteralsFrameWriter::write(Bytes planes, unsigned plane_width) {
  PTD_TRY(prepare(planes.size()));
  put(FrameHeader(planes.size()).bytes());
  const std::size_t plane = planes.size() / plane_width;
  for (unsigned k = 0; k < plane_width; ++k)
    PTD_TRY(add_plane(planes.subspan(k * plane, plane), k + 1 == plane_width));
  if (used_ > frame_.size()) return Bytes{};
  return Bytes(frame_.first(used_));
}

Result<void> LiteralsFrameWriter::add_plane(Bytes plane, bool last) {
  while (!plane.empty()) {
    const Bytes block = plane.first(std::min(plane.size(), max_block_bytes));
    plane = plane.subspan(block.size());
    PTD_TRY(add_block(block, last && plane.empty()));
  }
  return {};
}

Result<void> LiteralsFrameWriter::add_block(Bytes raw, bool last) {
  const auto size = static_cast<std::uint32_t>(raw.size());
  // libzstd never makes the first block of a frame RLE, and here each block is a first one.
  if (is_uniform(raw)) {
    put_block({last, BlockType::rle, size}, raw.first(1));
    return {};
  }
  PTD_LET(coded, code_literals(raw));
  if (coded.empty() || coded.size() >= raw.size())
    put_block({last, BlockType::raw, size}, raw);
  else
    put_block({last, BlockType::compressed, static_cast<std::uint32_t>(coded.size())}, coded);
  return {};
}

Result<Bytes> LiteralsFrameWriter::code_literals(Bytes raw) {
  const MutableBytes room = block_memory_.room(block_frame_bytes);
  const ZSTD_Sequence delimiter{0, static_cast<unsigned>(raw.size()), 0, 0};
  const std::size_t size =
      ZSTD_compressSequences(context_.get(), room.data(), room.size(), &delimiter, 1, raw.data(), raw.size());
  if (ZSTD_isError(size)) return zstd_failure(size);
  return single_literals_block(room.first(size));
}

void LiteralsFrameWriter::put_block(BlockHeader header, Bytes content) noexcept {
  put(header.bytes());
  put(content);
}

void LiteralsFrameWriter::put(Bytes bytes) noexcept {
  if (used_ <= frame_.size() && bytes.size() <= frame_.size() - used_)
    std::memcpy(frame_.data() + used_, bytes.data(), bytes.size());
  used_ += bytes.size();
}

}  // namespace ptd::segment
