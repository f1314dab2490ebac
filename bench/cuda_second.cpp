// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// What a second method costs once the first is loaded.
#include "cuda_device.hpp"
#include "cuda_loads.hpp"
#include "cuda_models.hpp"

namespace ptd::bench {
namespace {

struct SecondCase {
  std::string shape, first, second;
  bool shares_all = true;
};

void time_second(benchmark::State& state, const SecondCase& second) {
  need_gpu();
  LoadCase load{.shape = second.shape, .method = second.first};
  Loader loader(load);
  const auto first = loader.load();
  load.method = second.second;
  const auto& model = loader.model().reader().model();
  const auto tensors = static_cast<double>(tensors_of(model, second.second).size());
  auto request = request_of(load, model);
  const auto caches = first.weights.state();
  request.state = &caches;  // mutable storages are shared too
  const auto arenas = loader.cache().counters().arena_bytes;
  const auto free = free_device_bytes();
  Times times;
  for (auto _ : state) {
    const Stopwatch watch;
    const auto weights = need(loader.model().load(request));
    need(weights.wait());
    times.add(state, watch.seconds());
    const auto added = loader.cache().counters().arena_bytes - arenas;
    need_that(!second.shares_all || added == 0, "a method that shares everything took device memory");
    state.counters["arena_added_MiB"] = static_cast<double>(added) / MiB;
    state.counters["device_added_MiB"] =
        (static_cast<double>(free) - static_cast<double>(free_device_bytes())) / MiB;
    report_load(state, weights.report());
  }
  times.report(state, 0);
  state.counters["tensors"] = tensors;
  state.counters["ms_per_10000"] = times.median() * 1e3 / tensors * 10000;
}

void add_second(const SecondCase& second) {
  add("second/" + second.shape + "/" + second.second, 10,
      [second](benchmark::State& state) { time_second(state, second); });
}

}  // namespace

void add_second_methods() {
  add_second({"small", "forward", "other"});
  add_second({"moe", "forward", "other"});
  add_second({"two", "prefill", "decode", false});
}

}  // namespace ptd::bench
