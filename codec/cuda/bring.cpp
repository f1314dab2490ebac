// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "cuda/bring.hpp"

#include <algorithm>

#include "cuda/transfer.hpp"
#include "file/ordered.hpp"

namespace ptd::cuda {
namespace {

/// What all threads have in hand together is an eighth of the page-locked memory, so that most of it is on
/// its way to the device; parts of more than 1 MiB fall out of a core's cache between copy and hash, and very
/// small ones cost more to give out than to fill.
std::uint64_t part_bytes(const CacheOptions& options) {
  constexpr std::uint64_t least = std::uint64_t{128} << 10, most = std::uint64_t{1} << 20;
  constexpr std::uint64_t unit = std::uint64_t{64} << 10;  // whole leaves of content digests
  const auto share = options.pinned_bytes / 8 / file::thread_count(options.threads);
  return std::clamp(share / unit * unit, least, most);
}

}  // namespace

Result<MarkPtr> bring(WeightCache::Inner& cache, const Reader& file, FileScope& scope, Device& device,
                      const std::vector<Wanted>& wanted, const BringOptions& options, LoadReport& report) {
  if (wanted.empty()) return MarkPtr();
  const auto feed = choose_feed(file, scope.tables, wanted, options.path);
  const TransferOptions how{options.check, cache.options.threads, part_bytes(cache.options),
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
