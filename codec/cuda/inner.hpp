// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// What the handles of ptd/cuda.hpp refer to.
#pragma once

#include <algorithm>
#include <map>
#include <mutex>
#include <ptd/cuda.hpp>

#include "cuda/device.hpp"
#include "cuda/feed.hpp"
#include "cuda/index.hpp"
#include "cuda/lane_pool.hpp"
#include "cuda/memory.hpp"
#include "cuda/pinned_pool.hpp"

namespace ptd::cuda {

struct WeightCache::Inner {
  CacheOptions options;
  DriverPtr driver;
  LedgerPtr ledger = std::make_shared<Ledger>();
  StorageIndex index;
  PinnedPool pool;
  LanePool lanes;
  GroupSize largest = largest_group;  ///< that a GPU decodes at once; tests have small ones

  Inner(const CacheOptions& with, DriverPtr on)
      : options(with),
        driver(std::move(on)),
        pool(driver, with.buffer_bytes, buffers(with)),
        lanes(driver, lane_sets(with)) {}

 private:
  /// One for each 16 MiB of page-locked memory, of which they have a part: loads that run at once do so on
  /// one link, so that more make nothing faster.
  static std::size_t lane_sets(const CacheOptions& options) {
    return std::clamp<std::size_t>(options.pinned_bytes >> 24, 1, 4);
  }
  static std::uint64_t buffers(const CacheOptions& options) {
    return (options.pinned_bytes - lane_sets(options) * LanePool::set_bytes()) / options.buffer_bytes;
  }
};

using CachePtr = std::shared_ptr<WeightCache::Inner>;

/// A cache over any driver.
Result<CachePtr> make_cache(const CacheOptions& options, DriverPtr driver);

struct LoadedModel::Inner {
  CachePtr cache;
  Reader file;
  ScopePtr scope;

  Inner(CachePtr in, Reader opened);
};

using LoadedModelPtr = std::shared_ptr<const LoadedModel::Inner>;

/// The mutable storages of one session, by device. Their memory is made by whichever load first binds them.
struct State::Inner {
  ScopePtr scope;  ///< of the model that it belongs to
  CachePtr cache;
  Reader file;
  std::mutex mutex;
  std::map<std::pair<int, std::uint32_t>, MemoryPtr> memories;  ///< by device and storage

  Inner(ScopePtr of, CachePtr in, Reader opened)
      : scope(std::move(of)), cache(std::move(in)), file(std::move(opened)) {}
};

using StatePtr = std::shared_ptr<State::Inner>;

struct Weights::Inner {
  Reader file;
  ScopePtr scope;  ///< kept, so that whoever opens the file again finds what is here
  int device = 0;
  std::vector<std::uint32_t> methods;
  StatePtr state;
  std::vector<const StorageMemory*> memories;        ///< by entry of the layout; null: not part of the load
  std::vector<std::shared_ptr<const Block>> blocks;  ///< that they are in
  std::vector<bool> holds_tensor;                    ///< by tensor
  std::vector<MarkPtr> marks;                        ///< behind the copies of everything held
  LoadReport report;

  Inner(Reader opened, ScopePtr of) : file(std::move(opened)), scope(std::move(of)) {}

  /// Keeps a storage's memory as long as this lives.
  void hold(std::size_t entry, const StorageMemory& memory) {
    memories[entry] = &memory;
    const auto is_held = [&](const auto& block) { return block.get() == memory.block; };
    if (!blocks.empty() && is_held(blocks.back())) return;  // mostly
    if (std::ranges::none_of(blocks, is_held)) blocks.push_back(memory.block->shared_from_this());
  }
};

}  // namespace ptd::cuda
