// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// What the loader needs of GPUs. cuda_driver.cpp gives the real ones; tests put others in their place, which
// fail when they are told to and copy late.
#pragma once

#include <memory>
#include <ptd/cuda.hpp>

#include "cuda/gpu/workspace.hpp"

namespace ptd::cuda {

/// A point in the work that was enqueued on a device.
class Mark {
 public:
  virtual ~Mark() = default;
  /// True once all work before it is done.
  [[nodiscard]] virtual bool is_reached() const = 0;
  /// Blocks until then. Errors of that work appear here.
  [[nodiscard]] virtual Result<void> wait() const = 0;
  /// Lets a stream's further work wait for it.
  [[nodiscard]] virtual Result<void> make_wait(Stream stream) const = 0;
};

using MarkPtr = std::shared_ptr<const Mark>;

/// A queue of a device, for chunks to be decoded and checked there beside what other queues do. Thread-safe.
/// These enqueue: memory of the host must stay as it is until a later mark is reached.
class Lane {
 public:
  virtual ~Lane() = default;
  [[nodiscard]] virtual Result<void> copy(void* device, const void* host, std::uint64_t bytes) = 0;
  /// Copies back.
  [[nodiscard]] virtual Result<void> fetch(void* host, const void* device, std::uint64_t bytes) = 0;
  /// What comes after it waits for the mark, of any queue of the device.
  [[nodiscard]] virtual Result<void> wait_for(const MarkPtr& mark) = 0;

  // Lists are put into the workspace before the call returns. Errors: `argument`, `device`.

  /// Decodes and checks chunks; gpu::statuses tells what became of them.
  [[nodiscard]] virtual Result<void> decode(std::span<const gpu::ChunkJob> jobs,
                                            const gpu::Workspace& workspace) = 0;
  [[nodiscard]] virtual Result<void> hash_leaves(std::span<const gpu::LeafRun> runs,
                                                 const gpu::Workspace& workspace) = 0;
  [[nodiscard]] virtual Result<MarkPtr> mark() = 0;
};

using LanePtr = std::unique_ptr<Lane>;

/// One GPU, with a queue of its own for what the loader does. Thread-safe. No call changes what is current.
class Device {
 public:
  virtual ~Device() = default;
  [[nodiscard]] virtual int ordinal() const noexcept = 0;

  /// Aligned to 256 bytes. Errors: `no_memory`, `device`.
  [[nodiscard]] virtual Result<void*> allocate(std::uint64_t bytes) = 0;
  virtual void release(void* memory) noexcept = 0;

  // These enqueue. `host` must stay as it is until a later mark is reached.
  [[nodiscard]] virtual Result<void> copy(void* device, const void* host, std::uint64_t bytes) = 0;
  [[nodiscard]] virtual Result<void> set_zero(void* device, std::uint64_t bytes) = 0;
  [[nodiscard]] virtual Result<MarkPtr> mark() = 0;

  /// Error `device` if chunks cannot be decoded there.
  [[nodiscard]] virtual Result<LanePtr> make_lane() = 0;

  /// True if the address is memory of this device that has so many bytes from there on.
  [[nodiscard]] virtual bool owns(const void* memory, std::uint64_t bytes) const = 0;
};

using DevicePtr = std::shared_ptr<Device>;

/// The driver: devices by ordinal, and host memory that they copy from at full speed.
class Driver {
 public:
  virtual ~Driver() = default;

  /// The same object each time. Errors: `argument` for an ordinal that does not exist; `device`.
  [[nodiscard]] virtual Result<DevicePtr> device(int ordinal) = 0;

  /// Page-locked memory that all devices can copy from. Needs a device to have been asked for.
  [[nodiscard]] virtual Result<void*> pin(std::uint64_t bytes) = 0;
  virtual void unpin(void* memory) noexcept = 0;
};

using DriverPtr = std::shared_ptr<Driver>;

/// The machine's own. Error `device` if there is no driver or no GPU.
Result<DriverPtr> cuda_driver();

}  // namespace ptd::cuda
