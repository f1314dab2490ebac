// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "cuda/bring.hpp"

#include <algorithm>

#include "cuda/gpu_work.hpp"
#include "cuda/host_work.hpp"
#include "file/ordered.hpp"

namespace ptd::cuda {
namespace {

constexpr std::uint64_t kib = std::uint64_t{1} << 10;

/// Parts of more than 1 MiB fall out of a core's cache between copy and hash; of 512 KiB they are decoded a
/// tenth slower, and smaller ones cost more to give out than to fill. Between these, what all threads have in
/// hand is a quarter of the page-locked memory.
std::uint64_t part_bytes(const CacheOptions& options) {
  constexpr std::uint64_t unit = 64 * kib;  // whole leaves of content digests
  const auto share = options.pinned_bytes / 4 / file::thread_count(options.threads);
  return std::clamp(share / unit * unit, 512 * kib, 1024 * kib);
}

/// With little page-locked memory more threads only keep buffers from being full: at most a third of it is in
/// hand (with 16 MiB, 10 threads of 512 KiB moved 39 GB/s, 14 moved 31).
unsigned useful_threads(const CacheOptions& options) {
  const auto most = std::max<std::uint64_t>(options.pinned_bytes / 3 / part_bytes(options), 1);
  return static_cast<unsigned>(std::min<std::uint64_t>(file::thread_count(options.threads), most));
}

/// Threads that only copy are fastest with cores to spare for the driver and for whoever else there is: with
/// 12 of 16 small tensors came at 48.6 GB/s, with 16 at 47.4.
unsigned copying_threads(const CacheOptions& options) {
  const auto most = useful_threads(options);
  if (options.threads != 0) return most;
  const auto cores = file::thread_count(0);
  return std::min(most, cores - cores / 4);
}

/// Errors that say nothing about the file: to read it again would not help.
bool is_final(ErrorCode code) {
  return code == ErrorCode::cancelled || code == ErrorCode::no_memory || code == ErrorCode::device;
}

class Bringing {
 public:
  Bringing(WeightCache::Inner& cache, const Reader& file, FileScope& scope, const DevicePtr& device,
           const Allocation& memory, const BringOptions& options, LoadReport& report)
      : cache_(cache),
        file_(file),
        scope_(scope),
        device_(device),
        memory_(memory),
        options_(options),
        report_(report),
        sizes_{cache.pool.buffer_bytes(), part_bytes(cache.options)} {}

  Result<void> run(std::span<const Wanted> wanted) {
    const auto feed = choose_feed(file_, scope_.tables, wanted, options_.path);
    report_.path = feed.path;
    for (const auto& note : feed.notes) report_.notes.push_back(note);
    auto work = make_gpu_work(*feed.source, wanted);
    return work ? by_gpu(*feed.source, wanted, std::move(work))
                : by_host(*feed.source, wanted, options_.progress);
  }

 private:
  /// Null if the host is to do it, or has to.
  std::unique_ptr<GpuWork> make_gpu_work(const ByteSource& source, std::span<const Wanted> wanted) {
    if (options_.engine == Engine::host) return nullptr;
    const auto work =
        first_group(file_, wanted, sizes_.buffer_bytes, cache_.largest, scope_.layout.has_coded);
    const bool has_work = work.coded_bytes > 0 || (work.chunks > 0 && options_.check != Check::none);
    if (!has_work) {
      if (work.chunks == 0 && content_bytes(file_, wanted) > 0)
        report_.notes.emplace_back(
            "every chunk is larger than a buffer to copy from, so the host decodes and checks them");
      return nullptr;
    }
    auto made = GpuWork::make(file_, scope_.tables, source, wanted, device_, cache_.lanes,
                              {options_.check, sizes_, work, options_.allocator, options_.most_scratch});
    if (made) return std::move(*made);
    note_host(made.error());
    return nullptr;
  }

  void note_host(const Error& error) {
    report_.notes.push_back(error.message + ", so chunks are decoded and checked on the host");
  }

  Result<void> by_gpu(const ByteSource& source, std::span<const Wanted> wanted,
                      std::unique_ptr<GpuWork> work) {
    // After the memory that the bytes go to: if not both can be had, the host does without.
    const auto take_scratch = [&]() -> Result<void> {
      PTD_TRY(memory_.wait());
      return work->take_scratch();
    };
    const Allocation scratch(take_scratch, where_to_allocate(options_.allocator));
    auto done = transfer(*work, source, wanted, scratch, copying_threads(cache_.options), options_.progress);
    PTD_TRY(memory_.wait());
    if (const auto there = scratch.wait(); !there) {
      note_host(there.error());
      return again_by_host(wanted, std::move(work), options_.progress);
    }
    // The host has the last word on what is wrong with a file, and where it is wrong first.
    if (!done && !is_final(done.error().code)) {
      PTD_TRY(again_by_host(wanted, std::move(work), at_the_end()));
      report_.notes.push_back("by the GPU the load failed (" + done.error().message +
                              "), so the host did it");
      return {};
    }
    PTD_TRY(done);
    report_work(*work);
    const auto left = work->left();
    return left.empty() ? Result<void>() : again_by_host(left, std::move(work), at_the_end());
  }

  void report_work(const GpuWork& work) {
    report_.engine = Engine::gpu;
    report_.gpu_chunks += work.done_chunks();
    report_.fallback_chunks += work.left_chunks();
    report_.scratch_bytes = std::max(report_.scratch_bytes, work.scratch_bytes());
    report_.zero_bytes += work.zero_bytes();
    report_.loaded_bytes -= work.again_bytes();
  }

  /// What is left of the load. The work gives back what it holds first.
  Result<void> again_by_host(std::span<const Wanted> wanted, std::unique_ptr<GpuWork> work,
                             const Progress& progress) {
    work.reset();
    const auto feed = choose_feed(file_, scope_.tables, wanted, ReadPath::buffered);
    return by_host(*feed.source, wanted, progress);
  }

  /// For what has been counted once.
  [[nodiscard]] Progress at_the_end() const {
    if (!options_.progress) return {};
    return [this](std::uint64_t, std::uint64_t total) { return options_.progress(total, total); };
  }

  Result<void> by_host(const ByteSource& source, std::span<const Wanted> wanted, const Progress& progress) {
    HostWork work(file_, scope_.tables, wanted, *device_, options_.check, sizes_);
    PTD_TRY(transfer(work, source, wanted, memory_, useful_threads(cache_.options), progress));
    report_.zero_bytes += work.zero_bytes();
    return {};
  }

  Result<void> transfer(BatchWork& work, const ByteSource& source, std::span<const Wanted> wanted,
                        const Allocation& memory, unsigned most_threads, const Progress& progress) {
    const auto bytes = progress ? content_bytes(file_, wanted) : 0;
    PTD_LET(done, run_transfer(work, source, cache_.pool, memory,
                               {threads_for(wanted, most_threads), bytes, progress}));
    report_.loaded_bytes += done.copied_bytes;
    report_.stored_bytes += done.stored_bytes;
    report_.copies += done.copies;
    return {};
  }

  /// One for each part, as far as there are so many.
  [[nodiscard]] unsigned threads_for(std::span<const Wanted> wanted, unsigned most) const {
    if (wanted.size() >= most) return most;
    const auto parts = content_bytes(file_, wanted) / sizes_.part_bytes + wanted.size();
    return static_cast<unsigned>(std::min<std::uint64_t>(most, parts));
  }

  WeightCache::Inner& cache_;
  const Reader& file_;
  FileScope& scope_;
  const DevicePtr& device_;
  const Allocation& memory_;
  const BringOptions& options_;
  LoadReport& report_;
  const Planner::Sizes sizes_;
};

}  // namespace

Result<MarkPtr> bring(WeightCache::Inner& cache, const Reader& file, FileScope& scope,
                      const DevicePtr& device, const std::vector<Wanted>& wanted, const Allocation& memory,
                      const BringOptions& options, LoadReport& report) {
  if (wanted.empty()) {
    PTD_TRY(memory.wait());
    return MarkPtr();
  }
  PTD_TRY(Bringing(cache, file, scope, device, memory, options, report).run(wanted));
  if (cache.pool.counts().pageable_bytes > 0)
    report.notes.emplace_back("memory to copy from could not be page-locked, so copies are slow");
  return device->mark();
}

}  // namespace ptd::cuda
