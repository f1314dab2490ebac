// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// The bytes of storages, from the file to where they belong on a device.
#pragma once

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

/// Returns once everything has been read and checked and every copy enqueued; gives the mark behind them.
/// Adds to the report. After an error nothing is in flight.
Result<MarkPtr> bring(WeightCache::Inner& cache, const Reader& file, FileScope& scope,
                      const DevicePtr& device, const std::vector<Wanted>& wanted, const BringOptions& options,
                      LoadReport& report);

/// Brings what a state has on its devices once more, in place, and waits for it.
Result<void> reset(State::Inner& state);

}  // namespace ptd::cuda
