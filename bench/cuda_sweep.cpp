// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// What the size of chunks costs and gains: the ratio, one core's decoder, and the GPU's in each of the ways
// that matter.
#include "cuda_batches.hpp"
#include "cuda_turns.hpp"

namespace ptd::bench {
namespace {

constexpr int runs = 5;

double seconds_on_cpu(const Coded& coded, MutableBytes raw) {
  const Stopwatch watch;
  decode_on_cpu(coded, raw);
  return watch.seconds();
}

Turn turn_of(std::string name, Passes& passes) {
  return {std::move(name), passes.way().bytes_of_a_run(), [&passes] { return passes.run(); }};
}

void sweep(benchmark::State& state, const Weights& weights, std::uint64_t chunk_bytes) {
  const Coded& coded = coded_sample(weights, chunk_bytes);
  Buffer raw(sample_bytes);
  decode_on_cpu(coded, raw);
  compare_with_sample(coded, raw);
  need_gpu();
  const Region region(coded);
  Passes one(region, {}), four(region, {.streams = 4}), ring(region, {.streams = 3, .copied = true});
  Turn turns[] = {{"cpu", sample_bytes, [&] { return seconds_on_cpu(coded, raw); }},
                  turn_of("resident_1", one),
                  turn_of("resident_4", four),
                  turn_of("ring", ring)};
  take_turns(state, turns);
  state.counters["ratio"] = coded.ratio;
}

}  // namespace

void add_sweep() {
  for (const auto& weights : all_weights())
    for (const auto chunk : chunk_sizes)
      add("sweep/" + weights.name + "/chunk:" + std::to_string(chunk / kibi), runs,
          [weights, chunk](benchmark::State& state) { sweep(state, weights, chunk); });
}

}  // namespace ptd::bench
