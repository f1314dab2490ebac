// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "cuda/memory.hpp"

#include <new>

#include "wire/checked.hpp"

namespace ptd::cuda {
namespace {

Failure bad_allocator(std::string_view what) {
  return fail(ErrorCode::argument, "", "the allocator's memory " + std::string(what));
}

Result<void> check_allocated(const Device& device, const void* memory, std::uint64_t bytes) {
  if (memory == nullptr)
    return fail(ErrorCode::no_memory, "",
                "the allocator has no " + std::to_string(bytes) + " bytes of device memory");
  if (reinterpret_cast<std::uintptr_t>(memory) % storage_alignment != 0)
    return bad_allocator("is not aligned to 256 bytes");
  if (!device.owns(memory, bytes)) return bad_allocator("is not memory of the device, or not enough of it");
  return {};
}

}  // namespace

Result<ArenaPtr> Arena::make(const DevicePtr& device, std::uint64_t bytes, const Allocator* allocator,
                             LedgerPtr ledger) {
  void* memory = nullptr;
  Release release;
  if (allocator == nullptr) {
    PTD_LET(allocated, device->allocate(bytes));
    memory = allocated;
    release = [device](void* base, std::uint64_t) { device->release(base); };
  } else {
    memory = allocator->allocate(bytes, device->ordinal());
    release = [give_back = allocator->release, ordinal = device->ordinal()](void* base, std::uint64_t size) {
      give_back(base, size, ordinal);
    };
    if (auto good = check_allocated(*device, memory, bytes); !good) {
      if (memory != nullptr) release(memory, bytes);
      return Failure(std::move(good.error()));
    }
  }
  if (ledger)
    ledger->change([&](CacheCounters& now) {
      ++now.arenas;
      now.arena_bytes += bytes;
    });
  return ArenaPtr(new Arena(static_cast<std::byte*>(memory), bytes, std::move(release), std::move(ledger)));
}

Result<ArenaPtr> Arena::make_on_host(std::uint64_t bytes) {
  auto* memory = ::operator new (bytes, std::align_val_t{storage_alignment}, std::nothrow);
  if (memory == nullptr)
    return fail(ErrorCode::no_memory, "",
                "not enough memory for " + std::to_string(bytes) + " bytes of storages");
  const auto release = [](void* base, std::uint64_t) {
    ::operator delete (base, std::align_val_t{storage_alignment});
  };
  return ArenaPtr(new Arena(static_cast<std::byte*>(memory), bytes, release, nullptr));
}

Arena::~Arena() {
  if (mark_) static_cast<void>(mark_->wait());  // nobody is left who could be told of a failure
  release_(base_, bytes_);
  if (!ledger_) return;
  ledger_->change([&](CacheCounters& now) {
    --now.arenas;
    now.arena_bytes -= bytes_;
  });
}

void Arrival::end(Result<MarkPtr> outcome) {
  {
    const std::lock_guard lock(mutex_);
    step_ = outcome ? Step::succeeded : Step::failed;
    outcome_ = std::move(outcome);
  }
  ended_.notify_all();
}

void Arrival::succeed(MarkPtr mark) { end(std::move(mark)); }
void Arrival::fail(const Error& error) { end(Failure(error)); }

Result<MarkPtr> Arrival::wait() const {
  std::unique_lock lock(mutex_);
  ended_.wait(lock, [&] { return outcome_.has_value(); });
  return *outcome_;
}

Block::~Block() {
  if (ledger)
    ledger->change([&](CacheCounters& now) {
      now.storages -= counted_;
      now.storage_bytes -= counted_bytes_;
    });
  if (arena || !arrival || arrival->is_pending()) return;
  // Memory of the caller's: nothing may still be on its way to it.
  if (const auto mark = arrival->wait(); mark && *mark) static_cast<void>((*mark)->wait());
}

Result<std::uint64_t> Block::lay_out() {
  wire::Maybe end = 0;
  for (auto& storage : storages) {
    const auto begin = wire::align_up(end, storage_alignment);
    end = wire::add(begin, storage.bytes);
    storage.offset = begin.value_or(0);
  }
  if (end == 0U) return 0U;
  const auto bytes = wire::align_up(wire::add(end, readable_past_end), storage_alignment);
  if (!bytes)
    return fail(ErrorCode::no_memory, "", "the file's storages are larger together than any memory");
  return *bytes;
}

void Block::place(ArenaPtr in) {
  arena = std::move(in);
  for (auto& storage : storages) storage.data = arena->base() + storage.offset;
}

void Block::count() {
  counted_ = storages.size();
  for (const auto& storage : storages) counted_bytes_ += storage.bytes;
  ledger->change([&](CacheCounters& now) {
    now.storages += counted_;
    now.storage_bytes += counted_bytes_;
  });
}

StorageMemory& Block::add(std::uint32_t of, std::uint64_t bytes) {
  auto& added = storages.emplace_back();
  added.storage = of;
  added.bytes = bytes;
  added.block = this;
  return added;
}

MemoryPtr keep(StorageMemory& memory) {
  // The block is nobody's constant: those who only look at it see it as one.
  const auto block = std::const_pointer_cast<Block>(memory.block->shared_from_this());
  return {block, &memory};
}

}  // namespace ptd::cuda
