// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// What the literals profile costs and gains beside frames with matches, as libzstd's levels make them of the
// same plane bytes: the ratio, and one core's decoding. Needs no GPU.
#include <algorithm>
#include <memory>

#include "cuda_frames.hpp"
#include "cuda_turns.hpp"

namespace ptd::bench {
namespace {

constexpr int runs = 5;
constexpr int levels[] = {1, 3};

template <class Decode>
Turn turn_of(std::string name, MutableBytes raw, Decode decode) {
  return {std::move(name), sample_bytes, [raw, decode = std::move(decode)] {
            const Stopwatch watch;
            decode(raw);
            return watch.seconds();
          }};
}

void check(const Coded& coded, Turn& turn, MutableBytes raw) {
  std::ranges::fill(raw, std::byte{0xA5});
  (void)turn.run();
  compare_with_sample(coded, raw);
}

void compare_profiles(benchmark::State& state, const Weights& weights, std::uint64_t chunk_bytes) {
  const Coded& coded = coded_sample(weights, chunk_bytes);
  Buffer raw(sample_bytes);
  std::vector<Turn> turns = {turn_of("literals", raw, [&](MutableBytes to) { decode_on_cpu(coded, to); })};
  state.counters["literals_ratio"] = coded.ratio;
  const Buffer planes = planes_of(coded);
  for (const int level : levels) {
    const auto frames = std::make_shared<Frames>(ordinary_frames(coded, planes, level));
    const std::string name = "level" + std::to_string(level);
    turns.push_back(turn_of(name, raw, [&, frames](MutableBytes to) { decode_on_cpu(coded, *frames, to); }));
    state.counters[name + "_ratio"] = ratio_of(*frames, sample(weights).distinct);
  }
  for (auto& turn : turns) check(coded, turn, raw);
  take_turns(state, turns);
}

}  // namespace

void add_profiles() {
  for (const auto& weights : all_weights())
    for (const auto chunk : chunk_sizes)
      add("profile/" + weights.name + "/chunk:" + std::to_string(chunk / kibi), runs,
          [weights, chunk](benchmark::State& state) { compare_profiles(state, weights, chunk); });
}

}  // namespace ptd::bench
