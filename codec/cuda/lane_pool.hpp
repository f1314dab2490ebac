// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Lanes of devices with the page-locked memory that belongs to them: few, kept across loads.
//
// All copies of stored bytes are in one lane, so that groups come one after the other: copies in several
// lanes take turns, and then the last of a group comes when that of the next does. Other lanes copy nothing
// to the device: the smallest copy there waits until the first lane stands still.
#pragma once

#include <array>
#include <condition_variable>
#include <mutex>
#include <vector>

#include "cuda/decode_slot.hpp"
#include "cuda/device.hpp"

namespace ptd::cuda {

/// A lane for copies to the device; and one for each slot, with its page-locked memory.
struct LaneSet {
  int device = 0;
  LanePtr copies;
  std::array<LanePtr, slots> lanes;
  std::array<MutableBytes, slots> host;
};

class LanePool;

/// Gives the set back; nothing may be in flight on its lanes.
struct LaneReturn {
  LanePool* pool = nullptr;
  void operator()(LaneSet* set) const noexcept;
};

using LaneSetPtr = std::unique_ptr<LaneSet, LaneReturn>;

/// Thread-safe.
class LanePool {
 public:
  /// `most` sets at once, over all devices.
  LanePool(DriverPtr driver, std::size_t most);
  LanePool(const LanePool&) = delete;
  LanePool& operator=(const LanePool&) = delete;
  ~LanePool();

  /// A set of the device that nobody has; else a new one; else the next to come back. Blocks for that. Error
  /// `device` if it cannot decode chunks, `no_memory` if memory cannot be page-locked.
  Result<LaneSetPtr> take(Device& device);

  [[nodiscard]] std::uint64_t pinned_bytes() const;

  /// Page-locked bytes of a set.
  [[nodiscard]] static std::uint64_t set_bytes();

 private:
  friend struct LaneReturn;
  std::unique_ptr<LaneSet> find_idle(int device);
  Result<std::unique_ptr<LaneSet>> make(Device& device);
  void destroy(LaneSet& set) noexcept;
  void put(std::unique_ptr<LaneSet> set) noexcept;

  const DriverPtr driver_;
  const std::size_t most_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::unique_ptr<LaneSet>> idle_;
  std::size_t made_ = 0;
};

}  // namespace ptd::cuda
