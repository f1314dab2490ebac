// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// nvCOMP's zstd decoder beside the library's, on the same frames in the GPU's memory. nvCOMP gives plane
// bytes, which it neither merges nor hashes.
#include <cstdlib>

#include "cuda_nvcomp_passes.hpp"
#include "cuda_turns.hpp"

namespace ptd::bench {
namespace {

constexpr int runs = 7;
constexpr int ordinary_level = 3;

Turn turn_of(std::string name, Passes& passes) {
  return {std::move(name), passes.way().bytes_of_a_run(), [&passes] { return passes.run(); }};
}
Turn turn_of(std::string name, NvcompPasses& passes) {
  return {std::move(name), passes.bytes_of_a_run(), [&passes] { return passes.run(); }};
}

// Numbers in names are MiB of a batch.
void decode_both(benchmark::State& state, const Weights& weights, std::uint64_t chunk_bytes) {
  need_gpu();
  const Region region(coded_sample(weights, chunk_bytes));
  Passes one_64(region, {}), four_64(region, {.streams = 4}), one_256(region, {.batch_bytes = region_bytes});
  Passes bare_256(region, {.batch_bytes = region_bytes, .checked = false});
  const Buffer planes = planes_of(region.coded());
  const auto literals = literal_frames(region.coded());
  const auto ordinary = ordinary_frames(region.coded(), planes, ordinary_level);
  NvcompPasses nvcomp_64(literals, planes, 1), nvcomp_256(literals, planes, 4),
      nvcomp_1024(literals, planes, 16);
  NvcompPasses ordinary_256(ordinary, planes, 4);
  Turn turns[] = {turn_of("nvcomp_64", nvcomp_64),     turn_of("nvcomp_256", nvcomp_256),
                  turn_of("nvcomp_1024", nvcomp_1024), turn_of("nvcomp_ordinary_256", ordinary_256),
                  turn_of("ptd_64", one_64),           turn_of("ptd_4_of_64", four_64),
                  turn_of("ptd_256", one_256),         turn_of("ptd_unchecked_256", bare_256)};
  take_turns(state, turns);
  for (const auto* const passes : {&nvcomp_64, &nvcomp_256, &nvcomp_1024, &ordinary_256})
    passes->check_statuses();
  state.counters["ratio"] = region.coded().ratio;
  state.counters["ordinary_ratio"] = ratio_of(ordinary, sample(weights).distinct);
}

void report_library(benchmark::State& state) {
  state.SetLabel("nvCOMP " + Nvcomp::get().version());
  for (auto _ : state) state.SetIterationTime(0);
}

/// Why nvCOMP cannot be used; nothing if it can.
std::string absence() {
  try {
    (void)Nvcomp::get();
    return {};
  } catch (const std::exception& error) {
    return error.what();
  }
}

void report_absence(benchmark::State& state, const std::string& why) {
  state.SetLabel(why + "; nothing is compared with it");
  for (auto _ : state) state.SetIterationTime(0);
}

std::vector<Weights> compared_weights() {
  std::vector<Weights> some;
  for (const auto& weights : all_weights())
    if (const auto extension = weights.file.extension(); weights.name == "bf16-rotated" ||
                                                         weights.name == "fp16" || weights.name == "fp8" ||
                                                         extension == ".bf16")
      some.push_back(weights);
  return some;
}

}  // namespace

void add_nvcomp() {
  // Who names a library wants it: without it that row fails.
  const auto why = std::getenv("PTD_NVCOMP") == nullptr ? absence() : std::string();
  if (!why.empty()) {
    add("nvcomp/library", 1, [why](benchmark::State& state) { report_absence(state, why); });
    return;
  }
  add("nvcomp/library", 1, report_library);
  for (const auto& weights : compared_weights())
    for (const std::uint64_t chunk : {16, 64, 256})
      add("nvcomp/" + weights.name + "/chunk:" + std::to_string(chunk), runs,
          [weights, chunk](benchmark::State& state) { decode_both(state, weights, chunk * kibi); });
}

}  // namespace ptd::bench
