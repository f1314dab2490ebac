// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "cuda_turns.hpp"

#include <algorithm>

namespace ptd::bench {
namespace {

double run_one(Turn& turn) { return turn.seconds.emplace_back(turn.run()); }

void report(benchmark::State& state, const Turn& turn) {
  Times times;
  for (const double seconds : turn.seconds) times.add(seconds);
  const auto bytes = static_cast<double>(turn.bytes);
  state.counters[turn.name + "_GBs"] = bytes / times.median() / 1e9;
  state.counters[turn.name + "_best_GBs"] = bytes / std::ranges::min(turn.seconds) / 1e9;
}

}  // namespace

void take_turns(benchmark::State& state, std::span<Turn> turns) {
  for (auto _ : state) {
    double all = 0;
    for (auto& turn : turns) all += run_one(turn);
    state.SetIterationTime(all);
  }
  for (const auto& turn : turns) report(state, turn);
}

}  // namespace ptd::bench
