// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "cuda_chunks.hpp"

#include <algorithm>
#include <cstring>

#include "cuda_host.hpp"
#include "segment/chunk.hpp"
#include "segment/digest.hpp"

namespace ptd::bench {
namespace {

using cuda::gpu::ChunkJob;

ChunkJob job_of(Encoding encoding, std::uint64_t at, Bytes raw, std::uint64_t stored_bytes) {
  ChunkJob job;
  job.raw = at;
  job.hash = segment::xxh3(raw);
  job.stored_bytes = static_cast<std::uint32_t>(stored_bytes);
  job.raw_bytes = static_cast<std::uint32_t>(raw.size());
  job.width = plane_width(encoding);
  job.rotated = sign_rotated(encoding) ? 1 : 0;
  return job;
}

double ratio_of(const std::vector<ChunkJob>& jobs, std::uint64_t raw_bytes) {
  std::uint64_t stored = 0;
  for (const auto& job : jobs)
    if (job.raw < raw_bytes) stored += job.stored_bytes;
  return static_cast<double>(stored) / static_cast<double>(raw_bytes);
}

}  // namespace

Coded::Coded(const Weights& weights, std::uint64_t bytes)
    : of(weights.name),
      encoding(weights.encoding),
      chunk_bytes(bytes),
      raw(sample(weights).bytes),
      jobs(raw.size() / chunk_bytes) {
  std::vector<Buffer> chunks(jobs.size());
  parallel(chunks.size(), setup().cores, [&](std::uint64_t i) {
    thread_local segment::ChunkEncoder encoder;
    const Bytes part = raw.subspan(i * chunk_bytes, chunk_bytes);
    const Bytes coded = need(encoder.encode(encoding, part));
    chunks[i].assign(coded.begin(), coded.end());
    jobs[i] = job_of(encoding, i * chunk_bytes, part, coded.size());
  });
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    jobs[i].stored = stored.size();
    stored.insert(stored.end(), chunks[i].begin(), chunks[i].end());
  }
  ratio = ratio_of(jobs, sample(weights).distinct);
}

const Coded& coded_sample(const Weights& weights, std::uint64_t chunk_bytes) {
  static std::unique_ptr<Coded> last;
  if (!last || last->of != weights.name || last->chunk_bytes != chunk_bytes)
    last = std::make_unique<Coded>(weights, chunk_bytes);
  return *last;
}

void decode_on_cpu(const Coded& coded, MutableBytes raw) {
  segment::ChunkDecoder decoder;
  for (const auto& job : coded.jobs)
    need(decoder.decode(coded.encoding, Bytes(coded.stored).subspan(job.stored, job.stored_bytes),
                        raw.subspan(job.raw, job.raw_bytes)));
}

void compare_with_sample(const Coded& coded, Bytes decoded) {
  need_that(decoded.size() <= coded.raw.size() &&
                std::memcmp(decoded.data(), coded.raw.data(), decoded.size()) == 0,
            "decoded bytes are not the raw ones");
}

}  // namespace ptd::bench
