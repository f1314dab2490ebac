// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "cuda_host.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>

namespace ptd::bench {
namespace {

constexpr std::uint64_t page = 4096;
constexpr std::uint64_t block = std::uint64_t{1} << 20;

[[noreturn]] void fail_with_errno(const std::string& doing, const std::filesystem::path& path) {
  throw std::runtime_error(doing + " " + path.string() + ": " + std::strerror(errno));
}

class Descriptor {
 public:
  Descriptor(const std::filesystem::path& path, int flags) : value_(::open(path.c_str(), flags | O_CLOEXEC)) {
    if (value_ < 0) fail_with_errno("opening", path);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { ::close(value_); }
  [[nodiscard]] int get() const noexcept { return value_; }

 private:
  int value_;
};

struct Freed {
  void operator()(std::byte* memory) const { std::free(memory); }
};
using Aligned = std::unique_ptr<std::byte, Freed>;

Aligned aligned_block() { return Aligned(static_cast<std::byte*>(std::aligned_alloc(page, block))); }

std::vector<Range> blocks_of(const std::vector<Range>& ranges) {
  std::vector<Range> blocks;
  for (const auto& range : ranges)
    for (auto at = range.begin / page * page; at < range.end; at += block) blocks.push_back({at, at + block});
  return blocks;
}

// "VmHWM:   1234 kB" of /proc/self/status, in MiB.
double status_MiB(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(key + ":")) return std::stod(line.substr(key.size() + 1)) / 1024;
  return 0;
}

}  // namespace

Setup& setup() {
  static Setup the_setup;
  return the_setup;
}

std::uint64_t scaled(std::uint64_t bytes, std::uint64_t multiple) {
  const auto wanted = static_cast<double>(bytes) * setup().scale / static_cast<double>(multiple);
  return std::max(std::uint64_t{1}, static_cast<std::uint64_t>(std::llround(wanted))) * multiple;
}

void need_that(bool condition, const std::string& message) {
  if (!condition) throw std::runtime_error(message);
}

std::atomic<bool>& has_failed() {
  static std::atomic<bool> failed = false;
  return failed;
}

void add(const std::string& name, int runs, Body body) {
  const auto guarded = [body = std::move(body)](benchmark::State& state) {
    try {
      body(state);
    } catch (const std::exception& error) {
      has_failed() = true;
      state.SkipWithError(error.what());
    }
  };
  benchmark::RegisterBenchmark(name.c_str(), guarded)
      ->Iterations(runs)
      ->UseManualTime()
      ->Unit(benchmark::kMillisecond);
}

void Times::add(benchmark::State& state, double seconds) {
  add(seconds);
  state.SetIterationTime(seconds);
}

double Times::median() const {
  if (seconds_.empty()) return 0;
  auto sorted = seconds_;
  std::ranges::sort(sorted);
  return (sorted[sorted.size() / 2] + sorted[(sorted.size() - 1) / 2]) / 2;
}

void Times::report(benchmark::State& state, std::uint64_t bytes) const {
  need_that(!seconds_.empty(), "nothing was timed");
  if (bytes > 0) {
    state.SetBytesProcessed(static_cast<std::int64_t>(bytes * seconds_.size()));
    state.counters["median_GBs"] = static_cast<double>(bytes) / median() / 1e9;
  }
  state.counters["median_ms"] = median() * 1e3;
  state.counters["run1_ms"] = seconds_.front() * 1e3;
  state.counters["best_ms"] = *std::ranges::min_element(seconds_) * 1e3;
  state.counters["worst_ms"] = *std::ranges::max_element(seconds_) * 1e3;
}

void parallel(std::uint64_t count, unsigned threads, const std::function<void(std::uint64_t)>& work) {
  std::atomic<std::uint64_t> next = 0;
  std::exception_ptr error;
  std::mutex mutex;
  const auto run = [&] {
    try {
      for (auto i = next++; i < count; i = next++) work(i);
    } catch (...) {
      next = count;
      const std::lock_guard lock(mutex);
      if (!error) error = std::current_exception();
    }
  };
  std::vector<std::jthread> workers;
  for (unsigned i = 0; i < std::max(1U, threads); ++i) workers.emplace_back(run);
  workers.clear();
  if (error) std::rethrow_exception(error);
}

Mapping::Mapping(const std::filesystem::path& path) : size_(std::filesystem::file_size(path)) {
  const Descriptor file(path, O_RDONLY);
  void* const mapped = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, file.get(), 0);
  if (mapped == MAP_FAILED) fail_with_errno("mapping", path);
  data_ = static_cast<const std::byte*>(mapped);
}

Mapping::~Mapping() { ::munmap(const_cast<std::byte*>(data_), size_); }

double Mapping::resident() const {
  std::vector<unsigned char> pages((size_ + page - 1) / page);
  if (::mincore(const_cast<std::byte*>(data_), size_, pages.data()) != 0) return -1;
  const auto there = std::ranges::count_if(pages, [](unsigned char state) { return (state & 1) != 0; });
  return static_cast<double>(there) / static_cast<double>(pages.size());
}

double evict(const std::filesystem::path& path) {
  const Descriptor file(path, O_RDONLY);
  if (::fsync(file.get()) != 0) fail_with_errno("flushing", path);
  if (::posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED) != 0) fail_with_errno("evicting", path);
  return Mapping(path).resident();
}

void warm_up(const std::filesystem::path& path) {
  if (Mapping(path).resident() == 1) return;
  const Descriptor file(path, O_RDONLY);
  const auto size = std::filesystem::file_size(path);
  const auto blocks = blocks_of({{0, size}});
  parallel(blocks.size(), setup().cores, [&](std::uint64_t i) {
    thread_local const auto buffer = aligned_block();
    if (::pread(file.get(), buffer.get(), block, static_cast<off_t>(blocks[i].begin)) < 0)
      fail_with_errno("reading", path);
  });
}

void read_directly(const std::filesystem::path& path, const std::vector<Range>& ranges, unsigned threads) {
  const Descriptor file(path, O_RDONLY | O_DIRECT);
  const auto blocks = blocks_of(ranges);
  parallel(blocks.size(), threads, [&](std::uint64_t i) {
    thread_local const auto buffer = aligned_block();
    if (::pread(file.get(), buffer.get(), block, static_cast<off_t>(blocks[i].begin)) < 0)
      fail_with_errno("reading", path);
  });
}

void start_peak() { std::ofstream("/proc/self/clear_refs") << "5"; }

void report_memory(benchmark::State& state) {
  state.counters["peak_rss_MiB"] = status_MiB("VmHWM");
  state.counters["anon_rss_MiB"] = status_MiB("RssAnon");
}

std::vector<std::uint32_t> method_list(const Model& model, std::string_view method) {
  if (method.empty()) return {};
  const auto index = model.find_method(method);
  need_that(index.has_value(), "the model has no method " + std::string(method));
  return {*index};
}

std::vector<std::uint32_t> tensors_of(const Model& model, std::string_view method) {
  if (!method.empty()) {
    const auto bound = model.methods[method_list(model, method).front()].tensors;
    return {bound.begin(), bound.end()};
  }
  std::vector<std::uint32_t> all(model.tensors.size());
  for (std::uint32_t i = 0; i < all.size(); ++i) all[i] = i;
  return all;
}

std::vector<std::uint32_t> storages_of(const Model& model, std::string_view method) {
  std::vector<std::uint32_t> storages;
  for (const auto tensor : tensors_of(model, method)) storages.push_back(model.tensors[tensor].storage);
  std::ranges::sort(storages);
  storages.erase(std::unique(storages.begin(), storages.end()), storages.end());
  return storages;
}

std::vector<Range> stored_ranges(const Reader& reader, const std::vector<std::uint32_t>& storages) {
  std::vector<Range> ranges;
  for (const auto index : storages) {
    const auto content = reader.model().storages[index].content;
    if (content == no_index) continue;
    const auto& segment = reader.segment_of(content);
    ranges.push_back({segment.offset, segment.offset + segment.stored_size});
  }
  std::ranges::sort(ranges, {}, &Range::begin);
  // Neighbours become one, so that small ones are not read one by one.
  std::vector<Range> merged;
  for (const auto& range : ranges)
    if (!merged.empty() && range.begin <= merged.back().end + page)
      merged.back().end = std::max(merged.back().end, range.end);
    else
      merged.push_back(range);
  return merged;
}

}  // namespace ptd::bench
