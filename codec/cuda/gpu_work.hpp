// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// A transfer whose chunks are decoded and checked on the device: stored bytes travel, in groups that take
// three slots there in turn, so that one is copied while others are decoded.
#pragma once

#include <condition_variable>
#include <mutex>

#include "cuda/content_proofs.hpp"
#include "cuda/lane_pool.hpp"
#include "cuda/memory.hpp"
#include "cuda/transfer.hpp"

namespace ptd::cuda {

class GpuWork final : public BatchWork {
 public:
  struct Options {
    Check check = Check::chunks;
    Planner::Sizes sizes;
    GroupSize most;                        ///< of a group
    const Allocator* allocator = nullptr;  ///< for the slots
    std::uint64_t most_scratch = 0;        ///< bytes that they may take
  };

  /// All that is given outlives it. Errors: `device` if the device cannot decode, `no_memory` if the slots
  /// would take more than they may.
  static Result<std::unique_ptr<GpuWork>> make(const Reader& file, TableStore& tables,
                                               const ByteSource& source, std::span<const Wanted> wanted,
                                               const DevicePtr& device, LanePool& lanes,
                                               const Options& options);

  /// Allocates the slots; before anything is sent, and once. Error `no_memory`.
  Result<void> take_scratch();

  Result<BatchPtr> next() override;
  Result<void> fill(Worker& worker, const Batch& batch, const Fill& fill, MutableBytes to) override;
  Result<MarkPtr> send(const BatchPtr& batch, Bytes buffer) override;
  Result<MarkPtr> mark(const Batch& /*batch*/) override { return lanes_->copies->mark(); }
  void stop() noexcept override;
  Result<void> finish() override;
  void settle() noexcept override;

  // After it has finished:

  /// What the host has still to bring, in the order of what is wanted: chunks that the device did not take,
  /// or did not find to be what they should be.
  [[nodiscard]] std::vector<Wanted> left() const;
  [[nodiscard]] std::uint64_t left_chunks() const;
  [[nodiscard]] std::uint64_t done_chunks() const noexcept { return given_chunks_ - left_.size(); }
  /// Bytes of what is left that the device had been given.
  [[nodiscard]] std::uint64_t again_bytes() const;
  [[nodiscard]] std::uint64_t zero_bytes() const noexcept { return planner_.zero_bytes(); }
  [[nodiscard]] std::uint64_t scratch_bytes() const noexcept { return parts_.device_bytes * slots; }

 private:
  /// A chunk of what is wanted.
  struct ChunkOf {
    std::uint32_t wanted = 0;
    std::uint64_t chunk = 0;
    friend auto operator<=>(const ChunkOf&, const ChunkOf&) = default;
  };

  /// Where a group is decoded.
  struct Slot {
    Lane* lane = nullptr;
    gpu::Workspace jobs_room, runs_room;
    std::byte* device_leaves = nullptr;
    MutableBytes host_leaves;
  };

  struct Group {
    enum class Step : std::uint8_t { filling, enqueued, settled };
    std::vector<gpu::ChunkJob> jobs;  ///< each written by the fill that it belongs to, when there may be no
                                      ///< memory yet: addresses count from their room until it is enqueued

    // With the lock, while it is filled.
    Step step = Step::settled;
    std::uint64_t job_count = 0;
    std::vector<BatchPtr> batches;
    std::uint64_t open_batches = 0;  ///< not yet sent
    bool is_planned = false;         ///< no batch comes any more
    MarkPtr decoded;                 ///< its stored bytes are not needed any more
    MarkPtr done;                    ///< and all is known
  };

  /// The digests of a group's leaves.
  struct Leaves {
    std::vector<BatchPtr> batches;
    std::vector<std::byte> digests;
  };

  // A group is enqueued when that before it in its slot has been settled, and planned when that one has been
  // enqueued: so there are never more at once.
  static constexpr std::uint64_t most_groups = 2 * slots;

  GpuWork(const Reader& file, TableStore& tables, const ByteSource& source, std::span<const Wanted> wanted,
          DevicePtr device, const Options& options, LaneSetPtr lanes);

  [[nodiscard]] Slot& slot_of(std::uint64_t group) { return slots_[group % slots]; }
  [[nodiscard]] Group& group_of(std::uint64_t group) { return groups_[group % most_groups]; }
  void place_slots();

  Result<bool> open_group(std::uint64_t number);
  Result<void> close_group();
  void add_jobs(Group& group, const Fill& fill, const Segment& segment, const reader::ChunkTable& table);

  Result<void> await_place(const Batch& batch);
  Result<void> enqueue(std::uint64_t number);
  void add_addresses(Group& group);
  Result<void> hash_leaves(const Group& group, const Slot& slot);
  Result<void> settle(std::uint64_t number, const Result<void>& reached);
  void look_at_statuses(const Group& group, const Slot& slot);
  void take_leaves(const Group& group, const Slot& slot);
  Leaves spare_leaves();
  Result<void> prove();

  [[nodiscard]] const Segment& segment_of(std::uint32_t wanted) const;
  [[nodiscard]] std::vector<ChunkOf> left_in_order() const;
  [[nodiscard]] Wanted part_of(const ChunkOf& one) const;

  const Reader& file_;
  TableStore& tables_;
  const std::span<const Wanted> wanted_;
  const DevicePtr device_;
  const Check check_;
  const LaneSetPtr lanes_;
  const SlotParts parts_;
  const Allocator* const allocator_;
  ArenaPtr scratch_;
  Staging staging_;
  Planner planner_;
  ContentProofs proofs_;
  std::array<Slot, slots> slots_;
  std::uint64_t begun_ = 0;  ///< groups; of the thread that plans

  std::mutex mutex_;
  std::condition_variable changed_;
  std::array<Group, most_groups> groups_;
  bool is_stopped_ = false;
  std::vector<ChunkOf> left_;
  std::uint64_t given_chunks_ = 0;  ///< to the device
  std::vector<Leaves> due_;         ///< not looked at yet
  std::atomic<std::size_t> due_count_ = 0;
  std::vector<Leaves> spare_;
};

}  // namespace ptd::cuda
