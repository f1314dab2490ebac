// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// The bytes of storages, from the file to where they belong on a device.
#pragma once

#include "cuda/allocation.hpp"
#include "cuda/inner.hpp"
#include "cuda/transfer_plan.hpp"

namespace ptd::cuda {

struct BringOptions {
  Check check = Check::chunks;
  Engine engine = Engine::gpu;
  ReadPath path = ReadPath::automatic;
  Progress progress;
  const Allocator* allocator = nullptr;  ///< for what is needed meanwhile; null: the device's own
  std::uint64_t most_scratch = ~std::uint64_t{0};
};

/// An allocator is called from the thread that loads.
inline Allocation::Where where_to_allocate(const Allocator* allocator) noexcept {
  return allocator == nullptr ? Allocation::Where::background : Allocation::Where::here;
}

/// Returns once everything has been read and checked and every copy enqueued; gives the mark behind them.
/// `memory` is what the bytes go to; its error comes before any other. Adds to the report. After an error
/// nothing is in flight.
Result<MarkPtr> bring(WeightCache::Inner& cache, const Reader& file, FileScope& scope,
                      const DevicePtr& device, const std::vector<Wanted>& wanted, const Allocation& memory,
                      const BringOptions& options, LoadReport& report);

/// Brings what a state has on its devices once more, in place, and waits for it.
Result<void> reset(State::Inner& state);

}  // namespace ptd::cuda
