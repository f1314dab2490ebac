// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "cuda/claims.hpp"

#include <algorithm>
#include <utility>

namespace ptd::cuda {

std::vector<BlockPtr> Claims::claim(const std::vector<std::uint32_t>& storages, const ArrivalPtr& arrival) {
  arrival_ = arrival;
  is_awaited_.resize(out_.memories.size());
  blocks_.assign(model_.scope->layout.groups, nullptr);
  {
    auto& index = model_.cache->index;
    const std::scoped_lock lock(index.mutex(), out_.state->mutex);
    on_device_ = &places_on(request_.device);
    on_host_ = &places_on(host_memory);
    for (const auto storage : storages)
      if (auto& memory = out_.memories[storage]; !memory) memory = claim_one(storage);
  }
  unfit_.clear();
  std::erase(blocks_, nullptr);
  for (const auto& block : blocks_) block->count();
  return std::exchange(blocks_, {});
}

FileScope::Places& Claims::places_on(int device) {
  auto& places = model_.scope->places[device];
  places.resize(out_.memories.size());
  return places;
}

int Claims::device_of(std::uint32_t storage) const {
  const bool is_on_host = model_.file.model().storages[storage].placement == Placement::host;
  return is_on_host ? host_memory : request_.device;
}

MemoryPtr Claims::claim_one(std::uint32_t storage) {
  const bool is_mutable = model_.file.model().storages[storage].access == Access::mutable_;
  return is_mutable ? claim_of_state(storage) : claim_of_all(storage);
}

MemoryPtr Claims::claim_of_state(std::uint32_t storage) {
  auto& memory = out_.state->memories[{device_of(storage), storage}];
  if (!memory || memory->block->arrival->has_failed()) return memory = make(storage);
  memory->is_shared = true;
  count_found(storage, *memory);
  return memory;
}

MemoryPtr Claims::claim_of_all(std::uint32_t storage) {
  const auto twin = model_.scope->layout.twin[storage];
  auto& place = (device_of(storage) == host_memory ? *on_host_ : *on_device_)[twin];
  auto memory = place.lock();
  if (memory && !serves(*memory)) unfit_.push_back(std::move(memory));
  if (!memory) place = memory = find_proven(storage);
  if (memory) {
    count_found(storage, *memory);
    return memory;
  }
  place = memory = make(storage);
  const bool will_be_proven = request_.check == Check::content;
  if (will_be_proven) model_.cache->index.enter_proven(proven_key(storage), memory);
  return memory;
}

MemoryPtr Claims::find_proven(std::uint32_t storage) {
  auto& index = model_.cache->index;
  if (!index.has_proven()) return nullptr;
  auto memory = index.find_proven(proven_key(storage));
  if (memory && !serves(*memory)) unfit_.push_back(std::move(memory));
  return memory;
}

bool Claims::serves(const StorageMemory& memory) const {
  return memory.block->check >= request_.check && !memory.block->arrival->has_failed();
}

ProvenKey Claims::proven_key(std::uint32_t storage) const {
  const auto& model = model_.file.model();
  const auto& spec = model.storages[storage];
  ProvenKey key{.bytes = spec.size, .device = device_of(storage)};
  if (spec.content != no_index) {
    key.digest = model.contents[spec.content].digest;
    key.content_bytes = model.contents[spec.content].size;
  }
  return key;
}

MemoryPtr Claims::make(std::uint32_t storage) {
  auto& block = blocks_[model_.scope->layout.group[storage]];
  if (!block) block = new_block(device_of(storage));
  return add_storage(block, storage, model_.file.model().storages[storage].size);
}

BlockPtr Claims::new_block(int device) const {
  auto block = std::make_shared<Block>();
  block->device = device;
  block->check = request_.check;
  block->arrival = arrival_;
  block->ledger = model_.cache->ledger;
  return block;
}

void Claims::count_found(std::uint32_t storage, const StorageMemory& memory) {
  auto& report = out_.report;
  ++report.reused_storages;
  report.reused_bytes += memory.bytes;
  const auto& arrival = memory.block->arrival;
  is_awaited_[storage] = arrival != arrival_ && arrival->is_pending();
  if (is_awaited_[storage]) ++report.awaited_storages;
}

/// Errors that come of what a load asked for, or of the moment: another load may fare better.
bool Claims::is_its_own(const Error& error) {
  return error.code == ErrorCode::cancelled || error.code == ErrorCode::no_memory ||
         error.code == ErrorCode::argument;
}

Result<bool> Claims::wait_for_others(const std::vector<std::uint32_t>& storages) {
  bool is_complete = true;
  const Arrival* last = nullptr;  // most have the same as the one before
  for (const auto storage : storages) {
    const auto& memory = out_.memories[storage];
    if (!memory || memory->block->arrival.get() == last) continue;
    const auto arrival = memory->block->arrival;
    last = arrival.get();
    if (std::ranges::find(waited_for_, arrival) != waited_for_.end()) continue;
    waited_for_.push_back(arrival);
    const auto mark = arrival->wait();
    if (mark) {
      if (*mark) out_.marks.push_back(*mark);
    } else if (is_its_own(mark.error())) {
      is_complete = false;
      forget(arrival);
    } else {
      return Failure(mark.error());
    }
  }
  return is_complete;
}

void Claims::forget(const ArrivalPtr& arrival) {
  for (std::size_t i = 0; i < out_.memories.size(); ++i) {
    auto& memory = out_.memories[i];
    if (!memory || memory->block->arrival != arrival) continue;
    --out_.report.reused_storages;
    if (is_awaited_[i]) --out_.report.awaited_storages;
    out_.report.reused_bytes -= memory->bytes;
    memory = nullptr;
  }
}

void Claims::withdraw(const ArrivalPtr& arrival) {
  const std::lock_guard lock(out_.state->mutex);
  std::erase_if(out_.state->memories, [&](const auto& entry) {
    const auto& memory = entry.second;
    return memory && memory->block->arrival == arrival && (arrival->has_failed() || !memory->is_shared);
  });
}

}  // namespace ptd::cuda
