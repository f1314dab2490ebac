// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "cuda/claims.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace ptd::cuda {

Claims::Here::Here(Places& places, std::size_t entries) : places_(places) {
  places_.of.resize(entries);
  std::erase_if(places_.blocks, [&](const auto& entry) {
    auto block = entry.second.lock();
    if (block) live_.emplace(entry.first, std::move(block));
    return !live_.contains(entry.first);
  });
}

StorageMemory* Claims::Here::find(std::uint32_t entry) {
  const auto& place = places_.of[entry];
  if (place.block != last_) {
    last_ = place.block;
    is_last_live_ = live_.contains(last_);
  }
  return is_last_live_ ? place.memory : nullptr;
}

void Claims::Here::put(std::uint32_t entry, StorageMemory& memory) {
  const auto number = memory.block->number;
  places_.of[entry] = {number, &memory};
  if (is_last_live_ && number == last_) return;
  if (!live_.contains(number)) {
    auto block = std::const_pointer_cast<Block>(memory.block->shared_from_this());
    places_.blocks.emplace(number, block);
    live_.emplace(number, std::move(block));
  }
  last_ = number;
  is_last_live_ = true;
}

std::vector<BlockPtr> Claims::claim(const std::vector<std::uint32_t>& entries, const ArrivalPtr& arrival) {
  const auto& layout = model_.scope->layout;
  arrival_ = arrival;
  is_awaited_.resize(layout.entries.size());
  blocks_.assign(layout.group_sizes.size(), nullptr);
  {
    auto& index = model_.cache->index;
    // What they keep may have lost its last other user: it must not go while locks are held.
    std::optional<Here> on_device;
    std::optional<Here> on_host;
    std::vector<BlockPtr> looked_at;
    const std::scoped_lock lock(index.mutex(), out_.state->mutex);
    may_be_proven_ = index.list_proven(model_.scope, looked_at);
    on_device.emplace(model_.scope->places[request_.device], layout.entries.size());
    on_host.emplace(model_.scope->places[host_memory], layout.entries.size());
    for (const auto number : entries) {
      if (out_.memories[number] != nullptr) continue;
      const auto& entry = layout.entries[number];
      out_.hold(number, entry.is_mutable ? claim_of_state(entry)
                                         : claim_of_all(entry, entry.is_on_host ? *on_host : *on_device));
    }
    if (request_.check == Check::content) enter_proven();
  }
  found_.clear();
  std::erase(blocks_, nullptr);
  for (const auto& block : blocks_) block->count();
  return std::exchange(blocks_, {});
}

int Claims::device_of(const Entry& entry) const { return entry.is_on_host ? host_memory : request_.device; }

StorageMemory& Claims::claim_of_state(const Entry& entry) {
  auto& memory = out_.state->memories[{device_of(entry), entry.storage}];
  if (!memory || memory->block->arrival->has_failed()) {
    memory = keep(make(entry));
    return *memory;
  }
  memory->is_shared = true;
  count_found(entry, *memory);
  return *memory;
}

StorageMemory& Claims::claim_of_all(const Entry& entry, Here& here) {
  auto* memory = here.find(entry.twin);
  if (memory == nullptr || !serves(*memory)) memory = find_proven(entry, here);
  if (memory != nullptr) {
    count_found(entry, *memory);
    return *memory;
  }
  auto& made = make(entry);
  here.put(entry.twin, made);
  return made;
}

StorageMemory* Claims::find_proven(const Entry& entry, Here& here) {
  auto& index = model_.cache->index;
  if (!may_be_proven_ || !has_content(entry)) return nullptr;
  auto found = index.find_proven(proven_key(entry));
  if (!found) return nullptr;
  auto* const memory = found.get();
  const bool fits = serves(*memory);
  if (fits) here.put(entry.twin, *memory);
  found_.push_back(std::move(found));
  return fits ? memory : nullptr;
}

/// What is to be brought and shared: a group is mutable as a whole or not at all.
void Claims::enter_proven() {
  const auto& layout = model_.scope->layout;
  for (const auto& block : blocks_) {
    if (!block) continue;
    const auto first = layout.entry_of_storage[block->storages.front().storage];
    if (layout.entries[first].is_mutable) continue;
    block->proven.reserve(block->storages.size());
    for (const auto& memory : block->storages) block->proven.push_back(name_of(memory.storage));
    model_.cache->index.enter_proven({block, model_.scope});
  }
}

ContentName Claims::name_of(std::uint32_t storage) const {
  const auto& model = model_.file.model();
  const auto content = model.storages[storage].content;
  return content == no_index ? ContentName{}
                             : ContentName{model.contents[content].digest, model.contents[content].size};
}

bool Claims::serves(const StorageMemory& memory) const {
  return memory.block->check >= request_.check && !memory.block->arrival->has_failed();
}

ProvenKey Claims::proven_key(const Entry& entry) const {
  const auto name = name_of(entry.storage);
  return {name.digest, name.bytes, entry.bytes, device_of(entry)};
}

bool Claims::has_content(const Entry& entry) const {
  return model_.file.model().storages[entry.storage].content != no_index;
}

StorageMemory& Claims::make(const Entry& entry) {
  auto& block = blocks_[entry.group];
  if (!block) {
    block = new_block(device_of(entry));
    block->make_room(model_.scope->layout.group_sizes[entry.group]);
  }
  return block->add(entry.storage, entry.bytes);
}

BlockPtr Claims::new_block(int device) const {
  auto block = std::make_shared<Block>();
  block->number = model_.cache->index.new_block_number();
  block->device = device;
  block->check = request_.check;
  block->arrival = arrival_;
  block->ledger = model_.cache->ledger;
  return block;
}

void Claims::count_found(const Entry& entry, const StorageMemory& memory) {
  auto& report = out_.report;
  ++report.reused_storages;
  report.reused_bytes += memory.bytes;
  const auto& arrival = memory.block->arrival;
  if (arrival == arrival_ || !arrival->is_pending()) return;
  ++report.awaited_storages;
  is_awaited_[model_.scope->layout.entry_of_storage[entry.storage]] = true;
}

/// Errors that come of what a load asked for, or of the moment: another load may fare better.
bool Claims::is_its_own(const Error& error) {
  return error.code == ErrorCode::cancelled || error.code == ErrorCode::no_memory ||
         error.code == ErrorCode::argument;
}

Result<bool> Claims::wait_for_others() {
  bool is_complete = true;
  const auto blocks = out_.blocks;  // some may have to be forgotten
  for (const auto& block : blocks) {
    const auto& arrival = block->arrival;
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
    if (memory == nullptr || memory->block->arrival != arrival) continue;
    --out_.report.reused_storages;
    if (is_awaited_[i]) --out_.report.awaited_storages;
    is_awaited_[i] = false;
    out_.report.reused_bytes -= memory->bytes;
    memory = nullptr;
  }
  std::erase_if(out_.blocks, [&](const auto& block) { return block->arrival == arrival; });
}

void Claims::withdraw(const ArrivalPtr& arrival) {
  const std::lock_guard lock(out_.state->mutex);
  std::erase_if(out_.state->memories, [&](const auto& entry) {
    const auto& memory = entry.second;
    return memory && memory->block->arrival == arrival && (arrival->has_failed() || !memory->is_shared);
  });
}

}  // namespace ptd::cuda
