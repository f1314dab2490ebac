// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Device memory and who keeps it: storages keep arenas, loads and states keep storages.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <ptd/cuda.hpp>
#include <vector>

#include "cuda/device.hpp"
#include "cuda/ledger.hpp"

namespace ptd::cuda {

/// One allocation, for all storages that come and go together. Released with its last storage.
class Arena {
 public:
  /// From the allocator, or the device's own memory. Errors: `no_memory`, naming the bytes; `argument` if an
  /// allocator gives memory that is not aligned to 256 bytes or not the device's. The ledger counts it; null:
  /// it holds no weights.
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
  LedgerPtr ledger_;  ///< null: it is not counted
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

inline constexpr int host_memory = -1;

struct Block;

/// What names the bytes of a content.
struct ContentName {
  Digest digest{};
  std::uint64_t bytes = 0;  ///< 0: there is no content
};

/// One storage's memory on one device.
struct StorageMemory {
  std::byte* data = nullptr;
  std::uint64_t bytes = 0;
  std::uint64_t offset = 0;   ///< in the arena
  std::uint32_t storage = 0;  ///< index into the Model::storages of the file that it was first loaded from
  bool is_shared = false;     ///< found by a load that did not bring it; only for what a state holds, whose
                              ///< lock guards it
  const Block* block = nullptr;
};

/// Keeps the whole block.
using MemoryPtr = std::shared_ptr<StorageMemory>;

/// Storages that come and go together: one load brings them to one arena, which stays until the last of them
/// has no user any more.
struct Block : std::enable_shared_from_this<Block> {
  std::uint64_t number = 0;     ///< never another's; 0 for the caller's memory
  int device = 0;               ///< host_memory: in host memory
  Check check = Check::chunks;  ///< how their bytes were checked
  ArrivalPtr arrival;
  ArenaPtr arena;                       ///< null: the caller's memory, or none at all
  LedgerPtr ledger;                     ///< that counts them; null: they are not the cache's
  std::vector<StorageMemory> storages;  ///< never moved, as others point into it
  std::vector<ContentName> proven;      ///< of each storage, if the load that brings it hashes contents

  Block() = default;
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  ~Block();

  /// Makes room for so many storages; once, before any is added.
  void make_room(std::size_t most) { storages.reserve(most); }
  /// Another storage, without an address. The reference stays valid: there must be room.
  StorageMemory& add(std::uint32_t of, std::uint64_t bytes);

  /// Gives each storage its offset. The bytes of the arena that they need: bases are aligned to 256 bytes,
  /// and 256 bytes past the last are readable; 0 if they have no byte. Error `no_memory` if they are larger
  /// than 64 bits count: sizes are the file's word.
  Result<std::uint64_t> lay_out();

  /// Gives them addresses.
  void place(ArenaPtr in);

  /// Counts them in the ledger for as long as the block lives; once all are in.
  void count();

 private:
  std::uint64_t counted_ = 0;
  std::uint64_t counted_bytes_ = 0;
};

using BlockPtr = std::shared_ptr<Block>;

/// Memory of a block, kept with it.
MemoryPtr keep(StorageMemory& memory);

inline constexpr std::uint64_t storage_alignment = 256;
inline constexpr std::uint64_t readable_past_end = 256;

}  // namespace ptd::cuda
