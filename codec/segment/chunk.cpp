// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "segment/chunk.hpp"

#include <zstd.h>

#include <cstring>

#include "segment/frame.hpp"
#include "segment/literals_frame.hpp"
#include "segment/planes.hpp"
#include "segment/scratch.hpp"

namespace ptd::segment {
namespace {

Failure no_memory() { return fail(ErrorCode::no_memory, "", "not enough memory for a chunk"); }

Result<void> check_raw_size(Encoding encoding, std::size_t size) {
  if (size != 0 && size <= max_frame_raw_bytes && size % plane_width(encoding) == 0) return {};
  return fail(ErrorCode::argument, "",
              "a chunk of " + std::to_string(size) +
                  " raw bytes cannot be; 1 to 16,777,216 can, in multiples of " +
                  std::to_string(plane_width(encoding)));
}

}  // namespace

struct ChunkEncoder::State {
  Scratch planes;
  LiteralsFrameWriter writer;
};

ChunkEncoder::ChunkEncoder() : state_(std::make_unique<State>()) {}
ChunkEncoder::ChunkEncoder(ChunkEncoder&&) noexcept = default;
ChunkEncoder& ChunkEncoder::operator=(ChunkEncoder&&) noexcept = default;
ChunkEncoder::~ChunkEncoder() = default;

// Width 1 has the literals-only form too. Matches would help integers that repeat, but no chunk would
// then be one of Huffman streams only, which GPUs decode, and weights have no matches worth their time.
Result<Bytes> ChunkEncoder::encode(Encoding encoding, Bytes raw) {
  PTD_TRY(check_raw_size(encoding, raw.size()));
  if (!is_coded(encoding)) return raw;
  const unsigned width = plane_width(encoding);
  Bytes planes = raw;
  if (width > 1) {
    const MutableBytes split = state_->planes.room(raw.size());
    if (split.empty()) return no_memory();
    split_planes(raw, split, width, sign_rotated(encoding));
    planes = split;
  }
  PTD_LET(frame, state_->writer.write(planes, width));
  return frame.empty() ? raw : frame;
}

namespace {

struct FreeContext {
  void operator()(ZSTD_DCtx* context) const noexcept { ZSTD_freeDCtx(context); }
};

// A decoder's refusal and a wrong length have one code, as a wrong digest has: decoders disagree on
// which of the three a damaged frame is.
Result<void> decompress(ZSTD_DCtx* context, Bytes frame, MutableBytes raw) {
  const std::size_t size = ZSTD_decompressDCtx(context, raw.data(), raw.size(), frame.data(), frame.size());
  if (ZSTD_isError(size))
    return fail(
        ErrorCode::chunk_data, "CHK-5",
        std::string("the chunk does not decode: ") + ZSTD_getErrorName(size) + "; the file is damaged");
  if (size != raw.size())
    return fail(
        ErrorCode::chunk_data, "CHK-5",
        "the chunk decodes to " + std::to_string(size) + " bytes instead of " + std::to_string(raw.size()));
  return {};
}

}  // namespace

struct ChunkDecoder::State {
  Scratch planes;
  std::unique_ptr<ZSTD_DCtx, FreeContext> context{ZSTD_createDCtx()};
};

ChunkDecoder::ChunkDecoder() : state_(std::make_unique<State>()) {}
ChunkDecoder::ChunkDecoder(ChunkDecoder&&) noexcept = default;
ChunkDecoder& ChunkDecoder::operator=(ChunkDecoder&&) noexcept = default;
ChunkDecoder::~ChunkDecoder() = default;

Result<void> ChunkDecoder::decode(Encoding encoding, Bytes stored, MutableBytes raw) {
  PTD_TRY(check_raw_size(encoding, raw.size()));
  if (stored.size() == raw.size()) {
    std::memcpy(raw.data(), stored.data(), raw.size());
    return {};
  }
  if (!is_coded(encoding)) return fail(ErrorCode::argument, "", "a raw chunk is stored in its own size");
  PTD_TRY(check_frame(stored, raw.size()));
  const unsigned width = plane_width(encoding);
  const MutableBytes planes = width == 1 ? raw : state_->planes.room(raw.size());
  if (planes.empty() || !state_->context) return no_memory();
  PTD_TRY(decompress(state_->context.get(), stored, planes));
  if (width > 1) merge_planes(planes, raw, width, sign_rotated(encoding));
  return {};
}

}  // namespace ptd::segment
