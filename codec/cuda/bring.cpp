// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "cuda/bring.hpp"

#include "cuda/transfer.hpp"

namespace ptd::cuda {

Result<MarkPtr> bring(WeightCache::Inner& cache, const Reader& file, Device& device,
                      const std::vector<Wanted>& wanted, const BringOptions& options, LoadReport& report) {
  // Half a MiB to 2 MiB stays in a core's cache between copy and hash; a buffer should occupy several
  // threads.
  constexpr std::uint64_t part_bytes = std::uint64_t{1} << 20;
  if (wanted.empty()) return MarkPtr();
  const auto feed = choose_feed(file, options.path);
  const auto plan = plan_transfer(file, wanted, cache.pool.buffer_bytes(), part_bytes);
  PTD_LET(done, run_transfer(file, feed, plan, device, cache.pool,
                             {options.check, cache.options.threads, options.progress}));
  report.loaded_bytes += done.copied_bytes;
  report.stored_bytes += done.stored_bytes;
  report.copies += done.copies;
  report.zero_bytes += plan.zero_bytes;
  report.path = feed.path;
  for (const auto& note : feed.notes) report.notes.push_back(note);
  if (cache.pool.counts().pageable_bytes > 0)
    report.notes.emplace_back("memory to copy from could not be page-locked, so copies are slow");
  return device.mark();
}

}  // namespace ptd::cuda
