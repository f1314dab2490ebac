// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "cuda_frames.hpp"

#include <zstd.h>

#include <algorithm>

#include "cuda_host.hpp"
#include "segment/planes.hpp"

namespace ptd::bench {
namespace {

struct Freed {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

void append(Frames& frames, Bytes stored, const cuda::gpu::ChunkJob& job) {
  frames.all.push_back({frames.bytes.size(), stored.size(), job.raw, job.raw_bytes});
  frames.bytes.insert(frames.bytes.end(), stored.begin(), stored.end());
  frames.bytes.resize((frames.bytes.size() + 7) / 8 * 8);
}

Buffer compress(Bytes planes, int level) {
  thread_local const std::unique_ptr<ZSTD_CCtx, Freed> context(ZSTD_createCCtx());
  Buffer frame(ZSTD_compressBound(planes.size()));
  const auto size =
      ZSTD_compressCCtx(context.get(), frame.data(), frame.size(), planes.data(), planes.size(), level);
  need_that(ZSTD_isError(size) == 0, "libzstd does not compress");
  if (size >= planes.size()) return {planes.begin(), planes.end()};
  frame.resize(size);
  return frame;
}

}  // namespace

Buffer planes_of(const Coded& coded) {
  Buffer planes(coded.raw.size());
  parallel(coded.jobs.size(), setup().cores, [&](std::uint64_t i) {
    const auto& job = coded.jobs[i];
    segment::split_planes(coded.raw.subspan(job.raw, job.raw_bytes),
                          MutableBytes(planes).subspan(job.raw, job.raw_bytes), job.width, job.rotated != 0);
  });
  return planes;
}

Frames literal_frames(const Coded& coded) {
  Frames frames;
  for (const auto& job : coded.jobs)
    append(frames, Bytes(coded.stored).subspan(job.stored, job.stored_bytes), job);
  return frames;
}

Frames ordinary_frames(const Coded& coded, Bytes planes, int level) {
  std::vector<Buffer> made(coded.jobs.size());
  parallel(made.size(), setup().cores, [&](std::uint64_t i) {
    made[i] = compress(planes.subspan(coded.jobs[i].raw, coded.jobs[i].raw_bytes), level);
  });
  Frames frames;
  for (std::size_t i = 0; i < made.size(); ++i) append(frames, made[i], coded.jobs[i]);
  return frames;
}

void decode_on_cpu(const Coded& coded, const Frames& frames, MutableBytes raw) {
  const std::unique_ptr<ZSTD_DCtx, Freed> context(ZSTD_createDCtx());
  Buffer planes(coded.chunk_bytes);
  for (const auto& frame : frames.all) {
    const Bytes stored = Bytes(frames.bytes).subspan(frame.at, frame.stored);
    if (frame.is_frame())
      need_that(ZSTD_decompressDCtx(context.get(), planes.data(), frame.planes, stored.data(),
                                    stored.size()) == frame.planes,
                "libzstd does not decode a frame");
    segment::merge_planes(frame.is_frame() ? Bytes(planes).first(frame.planes) : stored,
                          raw.subspan(frame.planes_at, frame.planes), plane_width(coded.encoding),
                          sign_rotated(coded.encoding));
  }
}

double ratio_of(const Frames& frames, std::uint64_t raw_bytes) {
  std::uint64_t stored = 0;
  for (const auto& frame : frames.all)
    if (frame.planes_at < raw_bytes) stored += frame.stored;
  return static_cast<double>(stored) / static_cast<double>(raw_bytes);
}

}  // namespace ptd::bench
