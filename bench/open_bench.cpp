// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// What opening a file costs: O(manifest), whatever the payload.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <ptd/ptd.hpp>

namespace {

using namespace ptd;

void abort_on(const Error& error) {
  std::fprintf(stderr, "%s\n", error.to_string().c_str());
  std::abort();
}

template <class T>
T need(Result<T> result) {
  if (!result) abort_on(result.error());
  return std::move(*result);
}

// A model of `count` tensors as large models name them, each with 16 bytes of its own.
void write_model(const std::filesystem::path& path, std::uint64_t count) {
  Writer writer;
  const auto method = need(writer.add_method("forward"));
  for (std::uint64_t i = 0; i < count; ++i) {
    std::vector<std::byte> bytes(16);
    const std::uint64_t value = i + 1;
    std::memcpy(bytes.data(), &value, sizeof value);
    StorageSpec storage{
        16, own_memory(std::move(bytes)), Access::immutable, Origin::stored, Placement::any, "bench"};
    TensorSpec tensor;
    tensor.name =
        "model.layers." + std::to_string(i / 100) + ".mlp.experts." + std::to_string(i % 100) + ".weight";
    tensor.dtype = DType::float32;
    tensor.storage = need(writer.add_storage(std::move(storage)));
    tensor.sizes = {2, 2};
    tensor.strides = {2, 1};
    const auto id = need(writer.add_tensor(std::move(tensor)));
    if (auto bound = writer.bind(method, id); !bound) abort_on(bound.error());
  }
  need(writer.write(path));
}

void open_again_and_again(benchmark::State& state, const std::filesystem::path& path) {
  std::uint64_t tensors = 0;
  for (auto _ : state) {
    const auto file = need(Reader::open(path));
    tensors = file.model().tensors.size();
    benchmark::DoNotOptimize(tensors);
  }
  state.counters["tensors"] = static_cast<double>(tensors);
  state.counters["time_per_tensor"] =
      benchmark::Counter(static_cast<double>(tensors),
                         benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void open_tensors(benchmark::State& state) {
  const auto path =
      std::filesystem::temp_directory_path() / ("ptd-open-bench-" + std::to_string(state.range(0)) + ".ptd");
  write_model(path, static_cast<std::uint64_t>(state.range(0)));
  open_again_and_again(state, path);
  std::filesystem::remove(path);
}
BENCHMARK(open_tensors)->RangeMultiplier(10)->Range(1000, 1000000)->Unit(benchmark::kMillisecond);

// A file from elsewhere: bench/compare.py uses this to set it beside other readers.
void open_file_of_environment(benchmark::State& state) {
  const char* path = std::getenv("PTD_BENCH_FILE");
  if (path == nullptr) {
    state.SkipWithError("PTD_BENCH_FILE names no file");
    return;
  }
  open_again_and_again(state, path);
}
BENCHMARK(open_file_of_environment)->Unit(benchmark::kMillisecond);

}  // namespace
