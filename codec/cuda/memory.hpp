// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Device memory and who keeps it: storages keep arenas, loads and states keep storages.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <ptd/cuda.hpp>

#include "cuda/device.hpp"
#include "cuda/ledger.hpp"

namespace ptd::cuda {

/// One allocation, for all storages that come and go together. Released with its last storage.
class Arena {
 public:
  /// From the allocator, or the device's own memory. Errors: `no_memory`, naming the bytes; `argument` if an
  /// allocator gives memory that is not aligned to 256 bytes or not the device's.
  static Result<std::shared_ptr<Arena>> make(const DevicePtr& device, std::uint64_t bytes,
                                             const Allocator* allocator, LedgerPtr ledger);
  /// In host memory.
  static Result<std::shared_ptr<Arena>> make_on_host(std::uint64_t bytes);
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena();

  /// Copies to it that were enqueued end with the mark: it is not released before.
  void set_mark(MarkPtr mark) noexcept { mark_ = std::move(mark); }

  [[nodiscard]] std::byte* base() const noexcept { return base_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  using Release = std::function<void(void*, std::uint64_t)>;
  Arena(std::byte* base, std::uint64_t bytes, Release release, LedgerPtr ledger)
      : base_(base), bytes_(bytes), release_(std::move(release)), ledger_(std::move(ledger)) {}

  std::byte* base_;
  std::uint64_t bytes_;
  Release release_;
  LedgerPtr ledger_;  ///< null in host memory
  MarkPtr mark_;
};

using ArenaPtr = std::shared_ptr<Arena>;

/// Whether what one load brings has come. Others wait for it.
class Arrival {
 public:
  void succeed(MarkPtr mark);
  void fail(const Error& error);

  /// Blocks until the load has ended; gives the mark behind its copies (null: nothing to wait for), or its
  /// error.
  [[nodiscard]] Result<MarkPtr> wait() const;

  // Asked for every storage of a load, so without a lock.
  [[nodiscard]] bool has_failed() const noexcept { return step_ == Step::failed; }
  [[nodiscard]] bool is_pending() const noexcept { return step_ == Step::pending; }

 private:
  enum class Step : std::uint8_t { pending, succeeded, failed };
  void end(Result<MarkPtr> outcome);

  std::atomic<Step> step_ = Step::pending;
  mutable std::mutex mutex_;
  mutable std::condition_variable ended_;
  std::optional<Result<MarkPtr>> outcome_;
};

using ArrivalPtr = std::shared_ptr<Arrival>;

/// One storage's memory on one device.
struct StorageMemory {
  std::byte* data = nullptr;
  std::uint64_t bytes = 0;
  int device = 0;               ///< host_memory: in host memory
  Check check = Check::chunks;  ///< how its bytes were checked
  ArenaPtr arena;               ///< null: the caller's memory, or none at all
  ArrivalPtr arrival;
  LedgerPtr ledger;  ///< that counts it; null: it is not the cache's

  StorageMemory() = default;
  StorageMemory(const StorageMemory&) = delete;
  StorageMemory& operator=(const StorageMemory&) = delete;
  ~StorageMemory();
};

inline constexpr int host_memory = -1;

using MemoryPtr = std::shared_ptr<StorageMemory>;

/// Memory that has no address yet. With a ledger it is counted there for as long as it lives.
MemoryPtr make_memory(std::uint64_t bytes, int device, Check check, ArrivalPtr arrival, LedgerPtr ledger);

}  // namespace ptd::cuda
