// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "cuda/bring.hpp"
#include "file/failure.hpp"

namespace ptd::cuda {
namespace {

using Here = std::vector<std::pair<std::uint32_t, MemoryPtr>>;  ///< storages of one device

std::map<int, Here> by_device(State::Inner& state) {
  const std::lock_guard lock(state.mutex);
  std::map<int, Here> devices;
  for (const auto& [key, memory] : state.memories) devices[key.first].emplace_back(key.second, memory);
  return devices;
}

Result<void> reset_on_host(const Reader& file, const Here& storages) {
  for (const auto& [storage, memory] : storages)
    PTD_TRY(file.read_storage(storage, 0, {memory->data, memory->bytes}));
  return {};
}

Result<void> reset_on_device(State::Inner& state, const DevicePtr& device, const Here& storages) {
  std::vector<Room> rooms;
  rooms.reserve(storages.size());  // others point into it
  std::vector<Wanted> wanted;
  for (const auto& [storage, memory] : storages)
    wanted.push_back({storage, {&rooms.emplace_back(Room{memory->data}), 0}, false});
  const Allocation there([] { return Result<void>(); }, Allocation::Where::here);
  LoadReport report;
  PTD_LET(mark, bring(*state.cache, state.file, *state.scope, device, wanted, there, {}, report));
  return mark ? mark->wait() : Result<void>();
}

Result<void> reset_all(State::Inner& state) {
  for (const auto& [ordinal, storages] : by_device(state)) {
    for (const auto& [storage, memory] : storages) PTD_TRY(memory->block->arrival->wait());
    if (ordinal == host_memory) {
      PTD_TRY(reset_on_host(state.file, storages));
      continue;
    }
    PTD_LET(device, state.cache->driver->device(ordinal));
    PTD_TRY(reset_on_device(state, device, storages));
  }
  return {};
}

}  // namespace

Result<void> reset(State::Inner& state) {
  return file::guarded([&] { return reset_all(state); });
}

}  // namespace ptd::cuda
