// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "cuda/claims.hpp"

#include <algorithm>

namespace ptd::cuda {

void Claims::claim(const std::vector<std::uint32_t>& storages, const ArrivalPtr& arrival,
                   std::vector<std::uint32_t>& mine) {
  // Memory that turns out to be unfit may have lost its last other user: it must not go while the lock is
  // held.
  std::vector<MemoryPtr> unfit;
  const std::lock_guard lock(model_.known_mutex);
  auto& known = model_.known[request_.device];
  known.resize(out_.memories.size());
  for (const auto storage : storages) {
    if (out_.memories[storage]) continue;
    auto found = claim_one(storage, arrival, known[storage], unfit);
    count(found);
    if (found.is_mine) mine.push_back(storage);
    out_.memories[storage] = std::move(found.memory);
  }
}

StorageIndex::Claim Claims::claim_one(std::uint32_t storage, const ArrivalPtr& arrival,
                                      std::weak_ptr<StorageMemory>& known, std::vector<MemoryPtr>& unfit) {
  const auto& spec = model_.file.model().storages[storage];
  if (spec.access == Access::mutable_) return claim_of_state(storage, arrival);
  if (auto memory = known.lock()) {
    if (memory->check >= request_.check && !memory->arrival->has_failed()) return {std::move(memory), false};
    unfit.push_back(std::move(memory));
  }
  auto found = claim_of_all(spec, arrival);
  known = found.memory;
  return found;
}

void Claims::count(const StorageIndex::Claim& claim) {
  auto& report = out_.report;
  if (claim.is_mine) return;
  ++report.reused_storages;
  report.reused_bytes += claim.memory->bytes;
  if (claim.memory->arrival->is_pending()) ++report.awaited_storages;
}

MemoryPtr Claims::new_memory(const Storage& storage, const ArrivalPtr& arrival) const {
  return make_memory(storage.size, device_of(storage, request_.device), request_.check, arrival,
                     model_.cache->ledger);
}

StorageIndex::Claim Claims::claim_of_all(const Storage& storage, const ArrivalPtr& arrival) {
  StorageKey key;
  key.scope = model_.scope;
  key.bytes = storage.size;
  key.device = device_of(storage, request_.device);
  if (storage.content != no_index) {
    key.digest = model_.file.model().contents[storage.content].digest;
    key.content_bytes = model_.file.model().contents[storage.content].size;
  }
  return model_.cache->index.claim(key, request_.check, [&] { return new_memory(storage, arrival); });
}

StorageIndex::Claim Claims::claim_of_state(std::uint32_t storage, const ArrivalPtr& arrival) {
  const auto& spec = model_.file.model().storages[storage];
  const std::lock_guard lock(out_.state->mutex);
  auto& memory = out_.state->memories[{device_of(spec, request_.device), storage}];
  const bool is_there = memory && !memory->arrival->has_failed();
  if (!is_there) memory = new_memory(spec, arrival);
  return {memory, !is_there};
}

Result<bool> Claims::wait_for_others(const std::vector<std::uint32_t>& storages) {
  bool is_complete = true;
  for (const auto storage : storages) {
    const auto& memory = out_.memories[storage];
    if (!memory || std::ranges::find(waited_for_, memory->arrival) != waited_for_.end()) continue;
    const auto arrival = waited_for_.emplace_back(memory->arrival);
    const auto mark = arrival->wait();
    if (mark) {
      if (*mark) out_.marks.push_back(*mark);
    } else if (mark.error().code == ErrorCode::cancelled) {
      is_complete = false;
      forget(arrival);
    } else {
      return Failure(mark.error());
    }
  }
  return is_complete;
}

void Claims::forget(const ArrivalPtr& arrival) {
  for (auto& memory : out_.memories) {
    if (!memory || memory->arrival != arrival) continue;
    --out_.report.reused_storages;
    --out_.report.awaited_storages;  // it has ended since it was claimed
    out_.report.reused_bytes -= memory->bytes;
    memory = nullptr;
  }
}

void Claims::withdraw(const ArrivalPtr& arrival) {
  constexpr long state_and_load = 2;
  const std::lock_guard lock(out_.state->mutex);
  std::erase_if(out_.state->memories, [&](const auto& entry) {
    const auto& memory = entry.second;
    return memory && memory->arrival == arrival &&
           (arrival->has_failed() || memory.use_count() <= state_and_load);
  });
}

}  // namespace ptd::cuda
