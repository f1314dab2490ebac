// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Loads of files that are not in the page cache, in turns with plain readers of the same stored bytes: disks
// of shared machines change their mind from minute to minute, so only what was measured side by side
// compares.
#include <algorithm>
#include <cstdio>

#include "cuda/deep_reader.hpp"
#include "cuda/gds.hpp"
#include "cuda_device.hpp"
#include "cuda_gds.hpp"
#include "cuda_loads.hpp"
#include "cuda_models.hpp"
#include "cuda_plain.hpp"

namespace ptd::bench {
namespace {

constexpr unsigned plain_threads = 16, plain_depth = 32;
constexpr double most_left = 0.01;  // of a file in the page cache, for a run to count as cold

// What a reader leaves behind, to be dropped when nobody looks at the clock.
using Remains = std::shared_ptr<const void>;

// One way to read a cold file.
struct Way {
  std::string name;
  std::function<Remains()> read;
  Times times = {};
};

class ColdFile {
 public:
  explicit ColdFile(LoadCase load)
      : load_(std::move(load)),
        path_(model_path(load_.shape, load_.compressed)),
        cache_(need(cuda::WeightCache::create(load_.options))) {
    const auto reader = need(Reader::open(path_));
    ranges_ = stored_ranges(reader, storages_of(reader.model(), load_.method));
    for (const auto& range : ranges_) stored_bytes_ += range.end - range.begin;
  }

  [[nodiscard]] std::uint64_t stored_bytes() const { return stored_bytes_; }
  [[nodiscard]] const cuda::LoadReport& report() const { return report_; }

  // The model is opened anew and closed again: what is mapped cannot be dropped from the cache.
  Remains load(cuda::ReadPath path) {
    const auto model = need(cache_.open(path_));
    load_.path = path;
    auto weights = need(model.load(request_of(load_, model.reader().model())));
    need(weights.wait());
    if (path == cuda::ReadPath::direct) report_ = weights.report();
    return std::make_shared<const cuda::Weights>(std::move(weights));
  }

  Remains read_with_threads() const {
    read_directly(path_, ranges_, plain_threads);
    return nullptr;
  }

  Remains read_with_ring() const {
    bench::read_with_ring(path_, ranges_, plain_depth);
    return nullptr;
  }

  Remains read_with_gds() const {
    auto memory = std::make_shared<const DeviceMemory>(stored_bytes_);
    bench::read_with_gds(path_, ranges_, *memory);
    return memory;
  }

  void time(Way& way, benchmark::State& state, bool is_iteration) {
    need_that(evict(path_) < most_left, "the file cannot be dropped from the page cache");
    const Stopwatch watch;
    const auto remains = way.read();
    const auto seconds = watch.seconds();
    is_iteration ? way.times.add(state, seconds) : way.times.add(seconds);
  }

 private:
  LoadCase load_;
  std::filesystem::path path_;
  cuda::WeightCache cache_;
  std::vector<Range> ranges_;
  std::uint64_t stored_bytes_ = 0;
  cuda::LoadReport report_;
};

// A library that is there may yet read no file: that must not stop the rest.
bool has_gds() {
  static const bool found = [] {
    if (cuda::probe_gds().mode == cuda::GdsMode::absent) return false;
    try {
      const DeviceMemory memory(std::uint64_t{1} << 12);
      read_with_gds(model_path("large", false), {{0, std::uint64_t{1} << 12}}, memory);
      return true;
    } catch (const std::exception& error) {
      std::fprintf(stderr, "cold: cuFile is left out: %s\n", error.what());
      return false;
    }
  }();
  return found;
}

std::vector<Way> ways_of(ColdFile& file, const std::vector<std::string>& names) {
  using cuda::ReadPath;
  std::vector<Way> all;
  all.push_back({"plain_threads", [&] { return file.read_with_threads(); }});
  if (cuda::ring_reader(plain_depth)) all.push_back({"plain_ring", [&] { return file.read_with_ring(); }});
  for (const auto path : {ReadPath::direct, ReadPath::buffered, ReadPath::automatic})
    all.push_back({std::string(name_of(path)), [&file, path] { return file.load(path); }});
  if (has_gds()) all.push_back({"gds", [&] { return file.read_with_gds(); }});
  std::erase_if(all, [&](const Way& way) { return std::ranges::find(names, way.name) == names.end(); });
  return all;
}

double best_plain(const std::vector<Way>& ways) {
  double best = 1e9;
  for (const auto& way : ways)
    if (way.name.starts_with("plain")) best = std::min(best, way.times.median());
  return best;
}

// Rates are of stored bytes, which all ways read alike; the row's own time and rate are the direct load's.
void report_ways(benchmark::State& state, const ColdFile& file, const std::vector<Way>& ways) {
  const auto plain = best_plain(ways);
  for (const auto& way : ways) {
    state.counters[way.name + "_stored_GBs"] =
        static_cast<double>(file.stored_bytes()) / way.times.median() / 1e9;
    if (!way.name.starts_with("plain")) state.counters[way.name + "_of_plain"] = plain / way.times.median();
    if (way.name == "direct") way.times.report(state, file.report().loaded_bytes);
  }
  report_load(state, file.report());
}

// The order turns by one from run to run, so that nobody always comes after the same.
void time_cold(benchmark::State& state, const LoadCase& load, const std::vector<std::string>& names) {
  need_gpu();
  ColdFile file(load);
  auto ways = ways_of(file, names);
  static_cast<void>(file.load(cuda::ReadPath::buffered));  // pins the buffers
  std::size_t first = 0;
  for (auto _ : state) {
    for (std::size_t i = 0; i < ways.size(); ++i) {
      auto& way = ways[(first + i) % ways.size()];
      file.time(way, state, way.name == "direct");
    }
    ++first;
  }
  report_ways(state, file, ways);
}

void add_cold(const LoadCase& load, const std::vector<std::string>& names) {
  add("cold/" + load.name().substr(5), load.runs,
      [load, names](benchmark::State& state) { time_cold(state, load, names); });
}

void report_gds(benchmark::State& state) {
  cuda::GdsProbe probe;
  for (auto _ : state) {
    const Stopwatch watch;
    probe = cuda::probe_gds();
    state.SetIterationTime(watch.seconds());
  }
  state.counters["native"] = probe.mode == cuda::GdsMode::native ? 1 : 0;
  state.SetLabel(probe.text);
}

}  // namespace

// Sizes are such that all of it takes about 70 s of a disk that gives 1.9 GB/s. To cuFile a compressed file
// is bytes like any others, so that is asked once.
void add_cold_loads() {
  add("cold/gds", 1, report_gds);
  add_cold({.shape = "large", .lasting = Lasting::cache, .method = "eighth"},
           {"plain_threads", "plain_ring", "direct", "buffered", "automatic", "gds"});
  add_cold({.shape = "large", .compressed = true, .lasting = Lasting::cache, .method = "eighth"},
           {"plain_threads", "plain_ring", "direct", "buffered", "automatic"});
  add_cold({.shape = "small", .lasting = Lasting::cache, .runs = 3}, {"plain_threads", "direct"});
}

}  // namespace ptd::bench
