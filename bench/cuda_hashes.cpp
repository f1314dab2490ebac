// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// The GPU's hashes alone, of bytes that are in its memory already.
#include <algorithm>

#include "cuda_batches.hpp"
#include "segment/digest.hpp"

namespace ptd::bench {
namespace {

constexpr int runs = 5;

void fill_with_sample(const DeviceMemory& memory, std::uint64_t bytes) {
  for (std::uint64_t at = 0; at < bytes; at += sample_bytes)
    cuda_check(cudaMemcpy(static_cast<std::byte*>(memory.get()) + at,
                          sample(synthetic_weights()[0]).bytes.data(), sample_bytes, cudaMemcpyHostToDevice),
               "cudaMemcpy");
}

std::vector<cuda::gpu::ChunkJob> chunks_in_place(const DeviceMemory& memory, std::uint64_t chunk_bytes) {
  const Bytes bytes = sample(synthetic_weights()[0]).bytes;
  std::vector<cuda::gpu::ChunkJob> jobs;
  for (std::uint64_t at = 0; at < region_bytes; at += chunk_bytes) {
    cuda::gpu::ChunkJob job;
    job.raw = job.stored = address(memory) + at;
    job.raw_bytes = job.stored_bytes = static_cast<std::uint32_t>(chunk_bytes);
    job.hash = segment::xxh3(bytes.subspan(at % sample_bytes, chunk_bytes));
    jobs.push_back(job);
  }
  return jobs;
}

void time_xxh3(benchmark::State& state, std::uint64_t chunk_bytes) {
  need_gpu();
  const DeviceMemory memory(region_bytes);
  fill_with_sample(memory, region_bytes);
  const auto jobs = chunks_in_place(memory, chunk_bytes);
  Slot slot(cuda::gpu::workspace_needs(jobs), 0);
  Times times;
  for (auto _ : state) {
    const Stopwatch watch;
    for (int i = 0; i < 8; ++i) slot.decode(jobs);
    slot.finish();
    times.add(state, watch.seconds());
  }
  times.report(state, 8 * region_bytes);
}

void check_leaves(const DeviceMemory& digests) {
  constexpr std::uint64_t leaves = 64;
  Buffer expected(leaves * 32), found(expected.size());
  segment::hash_leaves(Bytes(sample(synthetic_weights()[0]).bytes).first(leaves * segment::leaf_bytes),
                       expected);
  cuda_check(cudaMemcpy(found.data(), digests.get(), found.size(), cudaMemcpyDeviceToHost), "cudaMemcpy");
  need_that(found == expected, "the leaves' digests differ");
}

void time_leaves(benchmark::State& state, std::uint64_t window_bytes) {
  need_gpu();
  const DeviceMemory memory(moved_bytes), digests(moved_bytes / segment::leaf_bytes * 32);
  fill_with_sample(memory, moved_bytes);
  std::vector<cuda::gpu::LeafRun> windows;
  std::vector<std::unique_ptr<Slot>> slots;  // each says what it wants until the GPU has come to it
  for (std::uint64_t at = 0; at < moved_bytes; at += window_bytes) {
    windows.push_back(
        {address(memory) + at, window_bytes, address(digests) + at / segment::leaf_bytes * 32, 0});
    slots.push_back(std::make_unique<Slot>(cuda::gpu::leaves_needs(1), 0));
  }
  Times times;
  for (auto _ : state) {
    const Stopwatch watch;
    for (std::size_t i = 0; i < windows.size(); ++i) slots[i]->hash({&windows[i], 1}, slots[0]->stream());
    slots[0]->finish();
    times.add(state, watch.seconds());
  }
  check_leaves(digests);
  times.report(state, moved_bytes);
}

}  // namespace

void add_hashes() {
  for (const std::uint64_t chunk : {16, 64, 256, 1024})
    add("xxh3/chunk:" + std::to_string(chunk), runs,
        [chunk](benchmark::State& state) { time_xxh3(state, chunk * kibi); });
  for (const std::uint64_t window : {32, 64, 128, 256, 1024})
    add("leaves/window:" + std::to_string(window), runs,
        [window](benchmark::State& state) { time_leaves(state, window * mebi); });
}

}  // namespace ptd::bench
