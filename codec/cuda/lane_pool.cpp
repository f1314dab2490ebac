// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "cuda/lane_pool.hpp"

#include <algorithm>
#include <utility>

#include "file/failure.hpp"

namespace ptd::cuda {
namespace {

std::uint64_t slot_bytes() {
  static const std::uint64_t bytes = slot_parts(largest_group, true).host_bytes;
  return bytes;
}

}  // namespace

void LaneReturn::operator()(LaneSet* set) const noexcept { pool->put(std::unique_ptr<LaneSet>(set)); }

LanePool::LanePool(DriverPtr driver, std::size_t most) : driver_(std::move(driver)), most_(most) {
  idle_.reserve(most_);  // so that giving back never allocates
}

LanePool::~LanePool() {
  for (const auto& set : idle_) destroy(*set);
}

std::uint64_t LanePool::set_bytes() { return slot_bytes() * slots; }

std::uint64_t LanePool::pinned_bytes() const {
  const std::lock_guard lock(mutex_);
  return made_ * set_bytes();
}

void LanePool::destroy(LaneSet& set) noexcept {
  set.copies.reset();
  for (auto& lane : set.lanes) lane.reset();
  if (!set.host.front().empty()) driver_->unpin(set.host.front().data());
}

std::unique_ptr<LaneSet> LanePool::find_idle(int device) {
  const auto found = std::ranges::find_if(idle_, [&](const auto& set) { return set->device == device; });
  if (found == idle_.end()) return nullptr;
  auto set = std::move(*found);
  idle_.erase(found);
  return set;
}

Result<LaneSetPtr> LanePool::take(Device& device) {
  std::unique_lock lock(mutex_);
  while (true) {
    if (auto set = find_idle(device.ordinal())) return LaneSetPtr(set.release(), {this});
    if (made_ < most_) break;
    if (!idle_.empty()) {
      // Another device's: it makes room.
      destroy(*idle_.back());
      idle_.pop_back();
      --made_;
      break;
    }
    changed_.wait(lock);
  }
  ++made_;
  lock.unlock();
  auto made = file::guarded([&] { return make(device); });
  if (made) return LaneSetPtr(made->release(), {this});
  lock.lock();
  --made_;
  changed_.notify_all();
  return Failure(std::move(made.error()));
}

Result<std::unique_ptr<LaneSet>> LanePool::make(Device& device) {
  auto set = std::make_unique<LaneSet>();
  set->device = device.ordinal();
  PTD_LET(copies, device.make_lane());
  set->copies = std::move(copies);
  for (auto& lane : set->lanes) {
    PTD_LET(made, device.make_lane());
    lane = std::move(made);
  }
  PTD_LET(pinned, driver_->pin(set_bytes()));
  for (std::size_t i = 0; i < slots; ++i)
    set->host[i] = {static_cast<std::byte*>(pinned) + i * slot_bytes(), slot_bytes()};
  return set;
}

void LanePool::put(std::unique_ptr<LaneSet> set) noexcept {
  {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(set));
  }
  changed_.notify_all();
}

}  // namespace ptd::cuda
