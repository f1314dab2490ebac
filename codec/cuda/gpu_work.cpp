// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "cuda/gpu_work.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "cuda/host_work.hpp"
#include "cuda/patience.hpp"

namespace ptd::cuda {
namespace {

std::uint64_t number_of(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }

/// Bytes of the source, wherever it has them.
Result<void> read(const ByteSource& source, std::uint64_t offset, MutableBytes to) {
  const Bytes all = source.in_memory();
  if (all.empty()) return source.read(offset, to);
  std::memcpy(to.data(), all.data() + offset, to.size());
  return {};
}

}  // namespace

Result<std::unique_ptr<GpuWork>> GpuWork::make(const Reader& file, TableStore& tables,
                                               const ByteSource& source, std::span<const Wanted> wanted,
                                               const DevicePtr& device, LanePool& lanes,
                                               const Options& options) {
  PTD_LET(set, lanes.take(*device));
  auto work =
      std::unique_ptr<GpuWork>(new GpuWork(file, tables, source, wanted, device, options, std::move(set)));
  if (work->scratch_bytes() > options.most_scratch)
    return ptd::fail(ErrorCode::no_memory, "", "the load may not allocate the memory for it");
  return work;
}

GpuWork::GpuWork(const Reader& file, TableStore& tables, const ByteSource& source,
                 std::span<const Wanted> wanted, DevicePtr device, const Options& options, LaneSetPtr lanes)
    : file_(file),
      tables_(tables),
      wanted_(wanted),
      device_(std::move(device)),
      check_(options.check),
      lanes_(std::move(lanes)),
      parts_(slot_parts(options.most, check_ == Check::content)),
      allocator_(options.allocator),
      staging_{.places = {}, .most = options.most, .checks = options.check != Check::none},
      planner_(file, wanted, options.sizes, staging_, tables, source),
      proofs_(file, wanted, options.check == Check::content) {
  for (std::size_t i = 0; i < slots; ++i) slots_[i].lane = lanes_->lanes[i].get();
}

Result<void> GpuWork::take_scratch() {
  PTD_LET(scratch, Arena::make(device_, scratch_bytes(), allocator_, nullptr));
  scratch_ = scratch;
  place_slots();
  return {};
}

void GpuWork::place_slots() {
  for (std::size_t i = 0; i < slots; ++i) {
    auto& slot = slots_[i];
    auto* const device = scratch_->base() + i * parts_.device_bytes;
    const auto host = lanes_->host[i];
    staging_.places[i].base = device + parts_.stored;
    slot.jobs_room = {number_of(device + parts_.device_jobs), parts_.device_runs - parts_.device_jobs,
                      host.subspan(parts_.host_jobs, parts_.host_runs - parts_.host_jobs)};
    slot.runs_room = {number_of(device + parts_.device_runs), parts_.device_leaves - parts_.device_runs,
                      host.subspan(parts_.host_runs, parts_.host_leaves - parts_.host_runs)};
    slot.device_leaves = device + parts_.device_leaves;
    slot.host_leaves = host.subspan(parts_.host_leaves, parts_.host_bytes - parts_.host_leaves);
  }
}

// --- planning ------------------------------------------------------------------------------------------

Result<BatchPtr> GpuWork::next() {
  PTD_LET(batch, planner_.next());
  if (!batch || batch->group >= begun_) PTD_TRY(close_group());
  if (!batch) return batch;
  if (batch->group >= begun_) {
    PTD_LET(is_open, open_group(batch->group));
    if (!is_open) return BatchPtr();
  }
  const std::lock_guard lock(mutex_);
  auto& group = group_of(batch->group);
  ++group.open_batches;
  group.batches.push_back(batch);
  group.job_count = batch->fills.back().first_job + batch->fills.back().chunks;
  return batch;
}

/// False if the transfer has failed.
Result<bool> GpuWork::open_group(std::uint64_t number) {
  std::unique_lock lock(mutex_);
  if (number >= slots)
    changed_.wait(lock, [&] { return is_stopped_ || group_of(number - slots).step != Group::Step::filling; });
  if (is_stopped_) return false;
  begun_ = number + 1;
  group_of(number).step = Group::Step::filling;
  group_of(number).jobs.resize(staging_.most.chunks);
  return true;
}

Result<void> GpuWork::close_group() {
  if (begun_ == 0) return {};
  auto& group = group_of(begun_ - 1);
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(group.is_planned, true) || group.open_batches > 0) return {};
  }
  return enqueue(begun_ - 1);
}

void GpuWork::stop() noexcept {
  {
    const std::lock_guard lock(mutex_);
    is_stopped_ = true;
  }
  changed_.notify_all();
}

// --- filling -------------------------------------------------------------------------------------------

Result<void> GpuWork::fill(Worker& worker, const Batch& batch, const Fill& fill, MutableBytes to) {
  PTD_TRY(prove());
  const auto& segment = file_.segment_of(fill.content);
  const auto size = file_.model().contents[fill.content].size;
  PTD_LET(table, tables_.get(fill.content, worker.source, segment, size));
  const auto begin = fill.is_stored() ? fill.stored_begin : fill.begin;
  PTD_TRY(read(worker.source, segment.offset + begin, to));
  worker.report.stored_bytes += to.size();
  if (fill.chunks > 0) add_jobs(group_of(batch.group), fill, segment, *table);
  return {};
}

void GpuWork::add_jobs(Group& group, const Fill& fill, const Segment& segment,
                       const reader::ChunkTable& table) {
  const auto first = fill.begin / segment.chunk_bytes();
  const auto raw = wanted_[fill.wanted].to.offset;
  gpu::ChunkJob job;
  job.width = plane_width(segment.encoding);
  job.rotated = sign_rotated(segment.encoding) ? 1 : 0;
  job.checked = check_ != Check::none ? 1 : 0;
  for (std::uint64_t i = 0; i < fill.chunks; ++i) {
    const auto chunk = first + i;
    const auto stored = table.stored_begin(chunk);
    job.raw = raw + table.raw_begin(chunk);
    job.raw_bytes = static_cast<std::uint32_t>(table.raw_end(chunk) - table.raw_begin(chunk));
    job.stored = fill.is_stored() ? fill.to.offset + stored - fill.stored_begin : job.raw;
    job.stored_bytes = static_cast<std::uint32_t>(table.stored_begin(chunk + 1) - stored);
    job.hash = table.raw_hash(chunk);
    group.jobs[fill.first_job + i] = job;
  }
}

Result<MarkPtr> GpuWork::send(const BatchPtr& batch, Bytes buffer) {
  auto& copies = *lanes_->copies;
  PTD_TRY(await_place(*batch));
  for (const auto& copy : batch->copies)
    PTD_TRY(copies.copy(copy.to.address(), buffer.data() + copy.in_buffer, copy.bytes));
  PTD_LET(mark, copies.mark());
  bool is_last = false;
  {
    const std::lock_guard lock(mutex_);
    auto& group = group_of(batch->group);
    is_last = --group.open_batches == 0 && group.is_planned;
  }
  if (is_last) PTD_TRY(enqueue(batch->group));
  return mark;
}

/// Stored bytes come to where those of another group may still be being decoded.
Result<void> GpuWork::await_place(const Batch& batch) {
  if (batch.group < slots || std::ranges::none_of(batch.fills, &Fill::is_stored)) return {};
  MarkPtr decoded;
  {
    const std::lock_guard lock(mutex_);
    decoded = group_of(batch.group - slots).decoded;
  }
  return decoded ? lanes_->copies->wait_for(decoded) : Result<void>();
}

// --- groups --------------------------------------------------------------------------------------------

/// All copies of the group are on their way: what is marked now is behind them, and copies of the next group
/// may be on their way while the thread waits. What was in the slot before must be known: its lists are
/// written anew.
Result<void> GpuWork::enqueue(std::uint64_t number) {
  PTD_LET(copied, lanes_->copies->mark());
  // That is some time away, as a rule: to ask for it again and again would slow the copies.
  if (number >= slots) PTD_TRY(settle(number - slots, group_of(number - slots).done->wait()));
  auto& group = group_of(number);
  const auto& slot = slot_of(number);
  add_addresses(group);
  PTD_TRY(slot.lane->wait_for(copied));
  PTD_TRY(slot.lane->decode(std::span(group.jobs).first(group.job_count), slot.jobs_room));
  PTD_LET(decoded, slot.lane->mark());
  PTD_TRY(hash_leaves(group, slot));
  PTD_LET(done, slot.lane->mark());
  {
    const std::lock_guard lock(mutex_);
    group.decoded = std::move(decoded);
    group.done = std::move(done);
    group.step = Group::Step::enqueued;
  }
  changed_.notify_all();
  return {};
}

void GpuWork::add_addresses(Group& group) {
  for (const auto& batch : group.batches)
    for (const auto& fill : batch->fills)
      for (auto& job : std::span(group.jobs).subspan(fill.first_job, fill.chunks)) {
        job.raw += number_of(wanted_[fill.wanted].to.room->base);
        job.stored += number_of(fill.to.room->base);
      }
}

/// A run of leaves a fill.
Result<void> GpuWork::hash_leaves(const Group& group, const Slot& slot) {
  if (check_ != Check::content) return {};
  std::vector<gpu::LeafRun> runs;
  std::uint64_t bytes = 0;
  for (const auto& batch : group.batches)
    for (const auto& fill : batch->fills) {
      runs.push_back({.bytes = number_of(wanted_[fill.wanted].to.plus(fill.begin).address()),
                      .size = fill.bytes,
                      .digests = number_of(slot.device_leaves + bytes)});
      bytes += leaves_bytes(fill);
    }
  PTD_TRY(slot.lane->hash_leaves(runs, slot.runs_room));
  return slot.lane->fetch(slot.host_leaves.data(), slot.device_leaves, bytes);
}

/// Looks at what became of a group, once it has been decoded.
Result<void> GpuWork::settle(std::uint64_t number, const Result<void>& reached) {
  PTD_TRY(reached);
  auto& group = group_of(number);
  look_at_statuses(group, slot_of(number));
  if (check_ == Check::content) take_leaves(group, slot_of(number));
  const std::lock_guard lock(mutex_);
  group.step = Group::Step::settled;
  group.job_count = 0;
  group.batches.clear();
  group.is_planned = false;
  group.decoded = nullptr;
  group.done = nullptr;
  return {};
}

void GpuWork::look_at_statuses(const Group& group, const Slot& slot) {
  const auto statuses = gpu::statuses(slot.jobs_room, group.job_count);
  std::uint64_t coded = 0;
  std::uint64_t refused = 0;
  const std::lock_guard lock(mutex_);
  for (const auto& batch : group.batches)
    for (const auto& fill : batch->fills) {
      if (fill.is_stored()) coded += fill.chunks;
      for (std::uint64_t i = 0; i < fill.chunks; ++i) {
        if (statuses[fill.first_job + i] == gpu::ChunkStatus::ok) continue;
        if (fill.is_stored()) ++refused;
        left_.push_back({fill.wanted, fill.begin / file_.segment_of(fill.content).chunk_bytes() + i});
        if (check_ == Check::content) proofs_.leave(fill.wanted);
      }
    }
  given_chunks_ += statuses.size();
  // Whoever wrote this file does not write for GPUs: no use to send what has to be read again.
  if (refused > coded / 2) planner_.leave_coded();
}

void GpuWork::take_leaves(const Group& group, const Slot& slot) {
  std::uint64_t bytes = 0;
  for (const auto& batch : group.batches)
    for (const auto& fill : batch->fills) bytes += leaves_bytes(fill);
  const auto digests = slot.host_leaves.first(bytes);
  Leaves leaves = spare_leaves();
  leaves.batches = group.batches;
  leaves.digests.assign(digests.begin(), digests.end());
  const std::lock_guard lock(mutex_);
  due_.push_back(std::move(leaves));
  ++due_count_;
}

/// Memory that was used before: to get new pages and give them back again and again holds up all threads.
GpuWork::Leaves GpuWork::spare_leaves() {
  const std::lock_guard lock(mutex_);
  if (spare_.empty()) return {};
  Leaves leaves = std::move(spare_.back());
  spare_.pop_back();
  return leaves;
}

/// Looks at the leaves of groups; done by whichever threads come by.
Result<void> GpuWork::prove() {
  while (due_count_ > 0) {
    Leaves leaves;
    {
      const std::lock_guard lock(mutex_);
      if (due_.empty()) return {};
      leaves = std::move(due_.back());
      due_.pop_back();
      --due_count_;
    }
    auto digests = Bytes(leaves.digests);
    for (const auto& batch : leaves.batches)
      for (const auto& fill : batch->fills) {
        PTD_TRY(proofs_.add_leaves(fill, digests.first(leaves_bytes(fill))));
        digests = digests.subspan(leaves_bytes(fill));
      }
    const std::lock_guard lock(mutex_);
    spare_.push_back(std::move(leaves));
  }
  return {};
}

// --- the end -------------------------------------------------------------------------------------------

Result<void> GpuWork::finish() {
  for (auto i = begun_ > slots ? begun_ - slots : 0; i < begun_; ++i)
    PTD_TRY(settle(i, wait_actively(*group_of(i).done)));
  PTD_TRY(prove());
  return set_zeros(*device_, planner_.zeros());
}

void GpuWork::settle() noexcept {
  settle_queue(*device_);
  settle_queue(*lanes_->copies);
  for (const auto& slot : slots_) settle_queue(*slot.lane);
}

const Segment& GpuWork::segment_of(std::uint32_t wanted) const {
  return file_.segment_of(file_.model().storages[wanted_[wanted].storage].content);
}

std::uint64_t GpuWork::left_chunks() const {
  std::uint64_t chunks = left_.size();
  for (const auto& rest : planner_.left()) chunks += segment_of(rest.wanted).chunks - rest.first_chunk;
  return chunks;
}

std::vector<GpuWork::ChunkOf> GpuWork::left_in_order() const {
  auto chunks = left_;
  for (const auto& rest : planner_.left())
    for (auto i = rest.first_chunk; i < segment_of(rest.wanted).chunks; ++i)
      chunks.push_back({rest.wanted, i});
  std::ranges::sort(chunks);
  return chunks;
}

/// A content is proven as a whole, so with one chunk of it all are left.
Wanted GpuWork::part_of(const ChunkOf& one) const {
  const auto& segment = segment_of(one.wanted);
  const auto size = file_.model().contents[segment.content].size;
  Wanted part = wanted_[one.wanted];
  part.begin = check_ == Check::content ? 0 : one.chunk * segment.chunk_bytes();
  part.bytes = check_ == Check::content ? size : std::min(segment.chunk_bytes(), size - part.begin);
  return part;
}

std::vector<Wanted> GpuWork::left() const {
  std::vector<Wanted> left;
  std::uint32_t last = 0;
  for (const auto& one : left_in_order()) {
    const auto part = part_of(one);
    const bool joins =
        !left.empty() && last == one.wanted && left.back().begin + left.back().bytes >= part.begin;
    if (joins)
      left.back().bytes = part.begin + part.bytes - left.back().begin;
    else
      left.push_back(part);
    last = one.wanted;
  }
  return left;
}

std::uint64_t GpuWork::again_bytes() const {
  std::uint64_t never = 0;
  for (const auto& rest : planner_.left()) {
    const auto& segment = segment_of(rest.wanted);
    never += file_.model().contents[segment.content].size - rest.first_chunk * segment.chunk_bytes();
  }
  return content_bytes(file_, left()) - never;
}

}  // namespace ptd::cuda
