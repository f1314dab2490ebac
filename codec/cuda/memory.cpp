// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "cuda/memory.hpp"

#include <new>

namespace ptd::cuda {
namespace {

constexpr std::uint64_t alignment = 256;

Failure bad_allocator(std::string_view what) {
  return fail(ErrorCode::argument, "", "the allocator's memory " + std::string(what));
}

Result<void> check_allocated(const Device& device, const void* memory, std::uint64_t bytes) {
  if (memory == nullptr)
    return fail(ErrorCode::no_memory, "",
                "the allocator has no " + std::to_string(bytes) + " bytes of device memory");
  if (reinterpret_cast<std::uintptr_t>(memory) % alignment != 0)
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
  ledger->change([&](CacheCounters& now) {
    ++now.arenas;
    now.arena_bytes += bytes;
  });
  return ArenaPtr(new Arena(static_cast<std::byte*>(memory), bytes, std::move(release), std::move(ledger)));
}

Result<ArenaPtr> Arena::make_on_host(std::uint64_t bytes) {
  auto* memory = ::operator new (bytes, std::align_val_t{alignment}, std::nothrow);
  if (memory == nullptr)
    return fail(ErrorCode::no_memory, "",
                "not enough memory for " + std::to_string(bytes) + " bytes of storages");
  const auto release = [](void* base, std::uint64_t) {
    ::operator delete (base, std::align_val_t{alignment});
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

StorageMemory::~StorageMemory() {
  if (ledger)
    ledger->change([&](CacheCounters& now) {
      --now.storages;
      now.storage_bytes -= bytes;
    });
  if (arena || !arrival || arrival->is_pending()) return;
  // Memory of the caller's: nothing may still be on its way to it.
  if (const auto mark = arrival->wait(); mark && *mark) static_cast<void>((*mark)->wait());
}

MemoryPtr make_memory(std::uint64_t bytes, int device, Check check, ArrivalPtr arrival, LedgerPtr ledger) {
  auto memory = std::make_shared<StorageMemory>();
  memory->bytes = bytes;
  memory->device = device;
  memory->check = check;
  memory->arrival = std::move(arrival);
  memory->ledger = std::move(ledger);
  if (memory->ledger)
    memory->ledger->change([&](CacheCounters& now) {
      ++now.storages;
      now.storage_bytes += bytes;
    });
  return memory;
}

}  // namespace ptd::cuda
