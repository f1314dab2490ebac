// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Ways to do one thing, timed in turns, so that a machine that slows down does so for all of them.
#pragma once

#include <span>

#include "cuda_host.hpp"

namespace ptd::bench {

struct Turn {
  std::string name;
  std::uint64_t bytes;          ///< of a run
  std::function<double()> run;  ///< gives its seconds
  std::vector<double> seconds = {};
};

/// In each iteration one run of each. Adds NAME_GBs, the median, and NAME_best_GBs to what is printed.
void take_turns(benchmark::State& state, std::span<Turn> turns);

}  // namespace ptd::bench
