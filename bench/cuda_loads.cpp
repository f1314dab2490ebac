// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "cuda_loads.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include "cuda_device.hpp"
#include "cuda_models.hpp"

namespace ptd::bench {
namespace {

constexpr std::uint64_t mebi = std::uint64_t{1} << 20;

// After memory was freed the driver is busy with it for about 100 ms, and copies are a tenth slower. A load
// that follows another one's end so closely has rows of its own.
void settle() { std::this_thread::sleep_for(std::chrono::milliseconds(200)); }

// Bytes that nobody checks or decodes are no work for the GPU.
bool gpu_has_work(const LoadCase& load) { return load.compressed || load.check != cuda::Check::none; }

// The time of each run is that of a load into memory that is new; dropping it is not in it.
void time_loads(benchmark::State& state, const LoadCase& load) {
  need_gpu();
  const auto link = link_rate();
  warm_up(model_path(load.shape, load.compressed));
  Loader loader(load);
  if (load.lasting != Lasting::nothing) (void)loader.load();
  Times times;
  cuda::LoadReport report;
  start_peak();
  for (auto _ : state) {
    if (!load.at_once) settle();
    const auto free_before = free_device_bytes();
    const auto loaded = loader.load();
    times.add(state, loaded.seconds);
    report = loaded.weights.report();
    need_that(report.reused_storages == 0, "the load found storages that should be gone");
    need_that(report.engine == load.engine || !gpu_has_work(load), "the load was not done by what was asked");
    need_that(report.fallback_chunks == 0, "the GPU's decoder did not take what the writer wrote");
    const auto counters = loader.cache().counters();
    state.counters["pinned_MiB"] = static_cast<double>(counters.pinned_bytes) / MiB;
    state.counters["arena_MiB"] = static_cast<double>(counters.arena_bytes) / MiB;
    state.counters["device_MiB"] =
        (static_cast<double>(free_before) - static_cast<double>(free_device_bytes())) / MiB;
    report_memory(state);
  }
  times.report(state, report.loaded_bytes);
  state.counters["of_link"] = static_cast<double>(report.loaded_bytes) / times.median() / link;
  report_load(state, report);
}

void add_load(const LoadCase& load) {
  add(load.name(), load.runs, [load](benchmark::State& state) { time_loads(state, load); });
}

LoadCase large_raw(cuda::Check check = cuda::Check::chunks) { return {.shape = "large", .check = check}; }

void add_checks(const std::string& shape, bool compressed, const std::vector<Lasting>& lastings) {
  for (const auto check : {cuda::Check::none, cuda::Check::chunks, cuda::Check::content})
    for (const auto lasting : lastings)
      add_load({.shape = shape, .compressed = compressed, .check = check, .lasting = lasting});
}

void add_buffers(LoadCase load, std::uint64_t pinned, const std::vector<std::uint64_t>& sizes) {
  for (const auto size : sizes) {
    load.options.pinned_bytes = pinned * mebi;
    load.options.buffer_bytes = size * mebi;
    load.more = "/pinned:" + std::to_string(pinned) + "/buffer:" + std::to_string(size);
    add_load(load);
  }
}

void add_threads(LoadCase load) {
  for (const unsigned threads : {4U, 8U, 12U}) {
    load.options.threads = threads;
    auto one = load;
    one.more += "/threads:" + std::to_string(threads);
    add_load(one);
  }
}

LoadCase by_host(LoadCase load) {
  load.engine = cuda::Engine::host;
  load.more = "/engine:host" + load.more;
  return load;
}

// Decoded and checked by the processor's cores.
void add_host() {
  for (const bool compressed : {false, true})
    for (const auto check : {cuda::Check::chunks, cuda::Check::content})
      add_load(by_host({.shape = "large", .compressed = compressed, .check = check, .runs = 3}));
  add_load(by_host({.shape = "small"}));
  add_load(by_host({.shape = "small", .compressed = true}));
}

void add_at_once() {
  auto load = large_raw();
  load.at_once = true;
  load.more = "/at-once";
  add_load(load);
}

// Warm files read past the page cache cost what cold ones do, so that one is a quarter.
void add_paths() {
  for (const auto path : {cuda::ReadPath::mapped, cuda::ReadPath::buffered, cuda::ReadPath::direct}) {
    auto load = large_raw();
    load.path = path;
    load.more = "/path:" + std::string(name_of(path));
    if (path == cuda::ReadPath::direct) {
      load.method = "quarter";
      load.runs = 2;
    }
    add_load(load);
  }
}

}  // namespace

std::string_view name_of(Lasting lasting) {
  constexpr std::string_view names[] = {"first", "reopened", "again"};
  return names[static_cast<unsigned>(lasting)];
}

std::string_view name_of(cuda::Check check) {
  constexpr std::string_view names[] = {"none", "chunks", "content"};
  return names[static_cast<unsigned>(check)];
}

std::string_view name_of(cuda::ReadPath path) {
  constexpr std::string_view names[] = {"automatic", "mapped", "direct", "buffered"};
  return names[static_cast<unsigned>(path)];
}

std::string_view name_of(cuda::Engine engine) {
  constexpr std::string_view names[] = {"gpu", "host"};
  return names[static_cast<unsigned>(engine)];
}

std::string LoadCase::name() const {
  return "load/" + shape + (compressed ? "/compressed" : "/raw") + "/check:" + std::string(name_of(check)) +
         "/" + std::string(name_of(lasting)) + (method.empty() ? "" : "/method:" + method) + more;
}

cuda::LoadRequest request_of(const LoadCase& load, const Model& model) {
  cuda::LoadRequest request;
  request.methods = method_list(model, load.method);
  request.check = load.check;
  request.path = load.path;
  request.engine = load.engine;
  return request;
}

Loader::Loader(const LoadCase& load) : load_(load) {}

Loaded Loader::load() {
  if (load_.lasting != Lasting::model) model_.reset();
  if (load_.lasting == Lasting::nothing) cache_.reset();
  const Stopwatch watch;
  if (!cache_) cache_ = need(cuda::WeightCache::create(load_.options));
  if (!model_) model_ = need(cache_->open(model_path(load_.shape, load_.compressed)));
  auto weights = need(model_->load(request_of(load_, model_->reader().model())));
  need(weights.wait());
  return {std::move(weights), watch.seconds()};
}

void report_load(benchmark::State& state, const cuda::LoadReport& report) {
  state.counters["copies"] = static_cast<double>(report.copies);
  state.counters["claim_ms"] = report.claim_seconds * 1e3;
  state.counters["allocate_ms"] = report.allocate_seconds * 1e3;
  state.counters["bring_ms"] = report.bring_seconds * 1e3;
  state.counters["storages"] = static_cast<double>(report.storages);
  state.counters["loaded_GB"] = static_cast<double>(report.loaded_bytes) / 1e9;
  state.counters["stored_GB"] = static_cast<double>(report.stored_bytes) / 1e9;
  state.counters["gpu_chunks"] = static_cast<double>(report.gpu_chunks);
  state.counters["fallback_chunks"] = static_cast<double>(report.fallback_chunks);
  state.counters["scratch_MiB"] = static_cast<double>(report.scratch_bytes) / MiB;
  std::string label(name_of(report.path));
  label += "; " + std::string(name_of(report.engine));
  for (const auto& note : report.notes) label += "; " + note;
  state.SetLabel(label);
}

void add_loads() {
  add_checks("large", false, {Lasting::nothing, Lasting::model, Lasting::cache});
  add_checks("large", true, {Lasting::nothing, Lasting::model, Lasting::cache});
  add_buffers(large_raw(), 16, {2, 4});
  add_buffers(large_raw(), 32, {4, 8});
  add_buffers(large_raw(), 64, {4, 16});
  add_buffers(large_raw(), 128, {8, 32});
  for (const std::uint64_t pinned : {32U, 128U})
    add_buffers({.shape = "large", .compressed = true}, pinned, {8});
  add_threads(large_raw());
  add_threads(by_host({.shape = "large", .compressed = true, .method = "quarter", .runs = 3}));
  add_paths();
  add_at_once();
  add_host();
  for (const auto* shape : {"small", "moe", "two"})
    for (const bool compressed : {false, true}) {
      add_checks(shape, compressed, {Lasting::model});
      add_load({.shape = shape, .compressed = compressed, .lasting = Lasting::nothing});
    }
}

}  // namespace ptd::bench
