// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Chunks decoded and checked on the GPU: from its own memory, and from the host's through a ring of buffers,
// beside plain copies of the same bytes. Everything is compared once before it is timed.
#include <algorithm>

#include "cuda_batches.hpp"

namespace ptd::bench {
namespace {

constexpr unsigned ring_slots = 3;
constexpr int runs = 5;

std::string name_of(const Weights& weights, std::uint64_t chunk_bytes, const Way& way) {
  return "decode/" + weights.name + "/chunk:" + std::to_string(chunk_bytes / kibi) +
         "/batch:" + std::to_string(way.batch_bytes / mebi) + (way.copied ? "/ring" : "/resident") +
         "/streams:" + std::to_string(way.streams) + (way.checked ? "" : "/unchecked");
}

void time_decoding(benchmark::State& state, const Weights& weights, std::uint64_t chunk_bytes,
                   const Way& way) {
  const Region region(coded_sample(weights, chunk_bytes));
  Passes passes(region, way);
  Times times;
  for (auto _ : state) times.add(state, passes.run());
  times.report(state, way.bytes_of_a_run());
  state.counters["ratio"] = region.coded().ratio;
}

/// Plain copies of batches that are all raw bytes: the link, at this size of piece.
void time_link(benchmark::State& state, std::uint64_t piece_bytes) {
  need_gpu();
  const Pinned host(region_bytes);
  parallel(region_bytes / mebi, setup().cores, [&](std::uint64_t i) {
    const auto noise = segment::samples::uniform(mebi, i);
    std::ranges::copy(noise, host.bytes().subspan(i * mebi, mebi).begin());
  });
  const DeviceMemory device(region_bytes);
  Times times;
  for (auto _ : state) {
    const Stopwatch watch;
    for (std::uint64_t at = 0; at < moved_bytes; at += piece_bytes)
      cuda_check(cudaMemcpyAsync(static_cast<std::byte*>(device.get()) + at % region_bytes,
                                 host.bytes().data() + at % region_bytes, piece_bytes, cudaMemcpyHostToDevice,
                                 nullptr),
                 "cudaMemcpyAsync");
    cuda_check(cudaDeviceSynchronize(), "copying");
    times.add(state, watch.seconds());
  }
  times.report(state, moved_bytes);
}

void add_ways(const Weights& weights, std::uint64_t chunk_bytes) {
  std::vector<Way> ways = {{}, {.streams = ring_slots + 1}};
  if (chunk_bytes == 64 * kibi) ways.push_back({.streams = ring_slots + 1, .checked = false});
  for (const std::uint64_t batch : {32 * mebi, 64 * mebi})
    ways.push_back({.batch_bytes = batch, .streams = ring_slots, .copied = true});
  for (const auto& way : ways)
    add(name_of(weights, chunk_bytes, way), runs, [weights, chunk_bytes, way](benchmark::State& state) {
      time_decoding(state, weights, chunk_bytes, way);
    });
}

}  // namespace

void add_decoding() {
  for (const std::uint64_t piece : {32, 64})
    add("link/pieces:" + std::to_string(piece), runs,
        [piece](benchmark::State& state) { time_link(state, piece * mebi); });
  for (const auto& weights : synthetic_weights())
    for (const auto chunk : chunk_sizes) add_ways(weights, chunk);
}

}  // namespace ptd::bench
