// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Loads of files that are not in the page cache, in turns with a plain reader of the same stored bytes: disks
// of shared machines change their mind from minute to minute.
#include <algorithm>

#include "cuda_device.hpp"
#include "cuda_loads.hpp"
#include "cuda_models.hpp"

namespace ptd::bench {
namespace {

constexpr unsigned plain_threads = 16;

// What the file says that the case has to read.
std::vector<Range> ranges_of(const LoadCase& load, const std::filesystem::path& path) {
  const auto reader = need(Reader::open(path));
  return stored_ranges(reader, storages_of(reader.model(), load.method));
}

std::uint64_t bytes_of(const std::vector<Range>& ranges) {
  std::uint64_t bytes = 0;
  for (const auto& range : ranges) bytes += range.end - range.begin;
  return bytes;
}

double time_plain(const std::filesystem::path& path, const std::vector<Range>& ranges) {
  evict(path);
  const Stopwatch watch;
  read_directly(path, ranges, plain_threads);
  return watch.seconds();
}

void time_cold_loads(benchmark::State& state, const LoadCase& load) {
  need_gpu();
  const auto path = model_path(load.shape, load.compressed);
  const auto ranges = ranges_of(load, path);
  const auto stored = static_cast<double>(bytes_of(ranges));
  Loader loader(load);
  (void)loader.load();  // pins the buffers
  Times times;
  std::vector<double> plain;
  cuda::LoadReport report;
  double resident = 0;
  for (auto _ : state) {
    loader.close_model();  // what is mapped cannot be evicted
    resident = std::max(resident, evict(path));
    const auto loaded = loader.load();
    times.add(state, loaded.seconds);
    report = loaded.weights.report();
    loader.close_model();
    plain.push_back(time_plain(path, ranges));
  }
  std::ranges::sort(plain);
  const auto plain_median = plain[plain.size() / 2];
  times.report(state, report.loaded_bytes);
  state.counters["stored_GBs"] = stored / times.median() / 1e9;
  state.counters["plain_GBs"] = stored / plain_median / 1e9;
  state.counters["of_plain"] = plain_median / times.median();
  state.counters["resident_after_evict"] = resident;
  report_load(state, report);
}

void add_cold(LoadCase load) {
  load.lasting = Lasting::cache;
  load.more = "/path:" + std::string(name_of(load.path));
  add("cold/" + load.name(), load.runs, [load](benchmark::State& state) { time_cold_loads(state, load); });
}

}  // namespace

void add_cold_loads() {
  add_cold({.shape = "large", .method = "quarter"});
  add_cold({.shape = "large", .compressed = true});
  add_cold({.shape = "small"});
  for (const auto path : {cuda::ReadPath::direct, cuda::ReadPath::buffered, cuda::ReadPath::mapped})
    add_cold({.shape = "large", .path = path, .method = "quarter", .runs = 3});
}

}  // namespace ptd::bench
