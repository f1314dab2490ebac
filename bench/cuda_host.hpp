// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// What the GPU benchmarks need of the machine, and of each other, that is not CUDA.
#pragma once

#include <benchmark/benchmark.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <filesystem>
#include <functional>
#include <ptd/ptd.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace ptd::bench {

constexpr double MiB = 1024.0 * 1024.0;

/// What the command line and the environment said.
struct Setup {
  std::filesystem::path folder;  ///< of the models
  double scale = 1;              ///< of the models' sizes
  unsigned cores = std::thread::hardware_concurrency();
};
Setup& setup();

/// The models' sizes, and whatever else is a fixed number of bytes, follow the scale.
std::uint64_t scaled(std::uint64_t bytes, std::uint64_t multiple);

/// A benchmark that fails is skipped with a message; the others run on.
template <class T>
T need(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().to_string());
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}
void need_that(bool condition, const std::string& message);

/// True once any benchmark of this process has failed.
std::atomic<bool>& has_failed();

/// Registers a benchmark that times itself. What it throws becomes its error message.
using Body = std::function<void(benchmark::State&)>;
void add(const std::string& name, int runs, Body body);

class Stopwatch {
 public:
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// The seconds of each run. Machines are shared, so the median is what counts, and the spread is told.
class Times {
 public:
  void add(double seconds) { seconds_.push_back(seconds); }
  /// And it is this iteration's.
  void add(benchmark::State& state, double seconds);
  [[nodiscard]] double median() const;
  /// Adds the median rate (of no bytes: none) and the fastest and slowest run to what is printed.
  void report(benchmark::State& state, std::uint64_t bytes) const;

 private:
  std::vector<double> seconds_;
};

/// Calls work(0) .. work(count - 1) on so many threads, each taking the next. Throws what the first of them
/// threw.
void parallel(std::uint64_t count, unsigned threads, const std::function<void(std::uint64_t)>& work);

/// A file as memory.
class Mapping {
 public:
  explicit Mapping(const std::filesystem::path& path);
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping();
  [[nodiscard]] Bytes bytes() const noexcept { return {data_, size_}; }
  /// What part of it is in the page cache.
  [[nodiscard]] double resident() const;

 private:
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Drops a file from the page cache, and says what part of it stayed there. Nobody may have it mapped.
double evict(const std::filesystem::path& path);
/// Brings it there.
void warm_up(const std::filesystem::path& path);

/// Bytes [begin, end) of a file.
struct Range {
  std::uint64_t begin = 0, end = 0;
};

/// Reads the ranges past the page cache, in blocks of 1 MiB, with so many threads, and drops them: what a
/// disk can do.
void read_directly(const std::filesystem::path& path, const std::vector<Range>& ranges, unsigned threads);

/// Peak memory of this process since the last call of start_peak, mapped files included, and anonymous memory
/// now.
void start_peak();
void report_memory(benchmark::State& state);

/// Storages that the tensors of a method (empty: of all) view, each once, ascending.
std::vector<std::uint32_t> storages_of(const Model& model, std::string_view method);
/// Indices of these tensors.
std::vector<std::uint32_t> tensors_of(const Model& model, std::string_view method);
/// The method's index as loads want it; nothing for all tensors.
std::vector<std::uint32_t> method_list(const Model& model, std::string_view method);
/// Where the stored bytes of these storages lie.
std::vector<Range> stored_ranges(const Reader& reader, const std::vector<std::uint32_t>& storages);

// Each file registers its benchmarks.
void add_link(const std::string& when);
void add_loads();
void add_cold_loads();
void add_second_methods();
void add_rivals();
void add_results();
void add_decoding();
void add_hashes();
void add_sweep();
void add_profiles();
void add_nvcomp();

}  // namespace ptd::bench
