// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Host buffers to copy from: few, shared by all loads, kept.
#pragma once

#include <condition_variable>
#include <mutex>
#include <vector>

#include "cuda/device.hpp"

namespace ptd::cuda {

class PinnedPool;

/// A buffer while somebody fills it; goes back when dropped.
class PinnedBuffer {
 public:
  PinnedBuffer() = default;
  PinnedBuffer(PinnedBuffer&& other) noexcept;
  PinnedBuffer& operator=(PinnedBuffer&& other) noexcept;
  ~PinnedBuffer();

  [[nodiscard]] MutableBytes bytes() const noexcept { return bytes_; }
  [[nodiscard]] explicit operator bool() const noexcept { return pool_ != nullptr; }

  /// Gives it back; nobody gets it before the copies from it that end with the mark are done.
  void give_back(MarkPtr copied) noexcept;

 private:
  friend class PinnedPool;
  PinnedBuffer(PinnedPool* pool, MutableBytes bytes) : pool_(pool), bytes_(bytes) {}
  PinnedPool* pool_ = nullptr;
  MutableBytes bytes_;
};

/// Buffers of one size, made one by one when none is free, up to a number. Pinning takes time (0.7 ms a MiB
/// was measured), so the first copies run while later buffers are still being made. Thread-safe.
class PinnedPool {
 public:
  /// At least 2 buffers.
  PinnedPool(DriverPtr driver, std::uint64_t buffer_bytes, std::uint64_t buffers);
  PinnedPool(const PinnedPool&) = delete;
  PinnedPool& operator=(const PinnedPool&) = delete;
  ~PinnedPool();

  /// A buffer whose copies are done; else a new one; else the next to become free. Blocks for that. Error
  /// `no_memory` if not even ordinary memory can be had.
  Result<PinnedBuffer> take();

  [[nodiscard]] std::uint64_t buffer_bytes() const noexcept { return buffer_bytes_; }

  struct Counts {
    std::uint64_t pinned_bytes = 0;
    std::uint64_t pageable_bytes = 0;  ///< what could not be pinned; copies from it are slow
  };
  [[nodiscard]] Counts counts() const;

 private:
  friend class PinnedBuffer;
  struct Copied {
    MutableBytes bytes;
    MarkPtr mark;
  };

  PinnedBuffer take_ready();
  void settle_reached();
  Result<void> watch_oldest(std::unique_lock<std::mutex>& lock);
  Result<PinnedBuffer> make(std::unique_lock<std::mutex>& lock);
  void put(MutableBytes bytes, MarkPtr copied) noexcept;
  void destroy(const MutableBytes& bytes) noexcept;

  const DriverPtr driver_;
  const std::uint64_t buffer_bytes_;
  const std::uint64_t most_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<MutableBytes> ready_;  ///< the last given back at the end: it may still be in a CPU's cache
  std::vector<Copied> in_flight_;    ///< the first given back at the front: its copies end first
  bool is_watched_ = false;          ///< somebody asks whether the front has come
  std::vector<const std::byte*> pageable_;  ///< buffers that are not pinned
  std::uint64_t made_ = 0;
};

}  // namespace ptd::cuda
