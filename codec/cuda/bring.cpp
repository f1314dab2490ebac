// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "cuda/bring.hpp"

#include <algorithm>

#include "cuda/transfer.hpp"
#include "file/ordered.hpp"

namespace ptd::cuda {
namespace {

constexpr std::uint64_t kib = std::uint64_t{1} << 10;

/// Parts of more than 1 MiB fall out of a core's cache between copy and hash; those of less than 512 KiB cost
/// more to give out than to fill. Between these, what all threads have in hand is an eighth of the
/// page-locked memory.
std::uint64_t part_bytes(const CacheOptions& options) {
  constexpr std::uint64_t unit = 64 * kib;  // whole leaves of content digests
  const auto share = options.pinned_bytes / 8 / file::thread_count(options.threads);
  return std::clamp(share / unit * unit, 512 * kib, 1024 * kib);
}

/// With little page-locked memory more threads only keep buffers from being full: at most a third of it is in
/// hand (with 16 MiB, 10 threads of 512 KiB moved 39 GB/s, 14 moved 31).
unsigned useful_threads(const CacheOptions& options) {
  const auto most = std::max<std::uint64_t>(options.pinned_bytes / 3 / part_bytes(options), 1);
  return static_cast<unsigned>(std::min<std::uint64_t>(file::thread_count(options.threads), most));
}

}  // namespace

Result<MarkPtr> bring(WeightCache::Inner& cache, const Reader& file, FileScope& scope, Device& device,
                      const std::vector<Wanted>& wanted, const BringOptions& options, LoadReport& report) {
  if (wanted.empty()) return MarkPtr();
  const auto feed = choose_feed(file, scope.tables, wanted, options.path);
  const TransferOptions how{options.check, useful_threads(cache.options), part_bytes(cache.options),
                            options.progress};
  PTD_LET(done, run_transfer(file, scope.tables, feed, wanted, device, cache.pool, how));
  report.loaded_bytes += done.copied_bytes;
  report.stored_bytes += done.stored_bytes;
  report.copies += done.copies;
  report.zero_bytes += done.zero_bytes;
  report.path = feed.path;
  for (const auto& note : feed.notes) report.notes.push_back(note);
  if (cache.pool.counts().pageable_bytes > 0)
    report.notes.emplace_back("memory to copy from could not be page-locked, so copies are slow");
  return device.mark();
}

}  // namespace ptd::cuda
