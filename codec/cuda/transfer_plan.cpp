// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "cuda/transfer_plan.hpp"

#include <algorithm>
#include <utility>

#include "cuda/memory.hpp"
#include "wire/checked.hpp"

namespace ptd::cuda {
namespace {

// Blanks up to this size travel with their neighbours: a copy of its own would take longer than their bytes
// do.
constexpr std::uint64_t largest_blank = std::uint64_t{64} << 10;

// Raw bytes, in parts, that the stored bytes of one part may become.
constexpr std::uint64_t most_parts = 4;

std::uint64_t content_size(const Model& model, std::uint32_t storage) {
  const auto content = model.storages[storage].content;
  return content == no_index ? 0 : model.contents[content].size;
}

std::uint64_t end_of(const Model& model, const Wanted& wanted) {
  return wanted.is_whole() ? content_size(model, wanted.storage) : wanted.begin + wanted.bytes;
}

bool fits(const GroupSize& size, const GroupSize& most) {
  return size.stored_bytes <= most.stored_bytes && size.coded_bytes <= most.coded_bytes &&
         size.raw_bytes <= most.raw_bytes && size.chunks <= most.chunks;
}

GroupSize sum(const GroupSize& a, const GroupSize& b) {
  return {a.stored_bytes + b.stored_bytes, a.coded_bytes + b.coded_bytes, a.raw_bytes + b.raw_bytes,
          a.chunks + b.chunks};
}

GroupSize smaller(const GroupSize& a, const GroupSize& b) {
  return {std::min(a.stored_bytes, b.stored_bytes), std::min(a.coded_bytes, b.coded_bytes),
          std::min(a.raw_bytes, b.raw_bytes), std::min(a.chunks, b.chunks)};
}

/// Bytes from one place to the other; many if that does not lie behind it.
std::uint64_t gap_between(const Destination& end, const Destination& next) {
  constexpr std::uint64_t many = ~std::uint64_t{0};
  return end.room == next.room && end.offset <= next.offset ? next.offset - end.offset : many;
}

GroupSize size_of(const Fill& fill) {
  return {fill.stored_bytes, fill.is_stored() ? fill.bytes : 0, fill.bytes, fill.chunks};
}

GroupSize size_of(const Segment& segment, std::uint64_t raw) {
  const bool is_stored = is_coded(segment.encoding);
  return {is_stored ? segment.stored_size : 0, is_stored ? raw : 0, raw, segment.chunks};
}

}  // namespace

Result<BatchPtr> Planner::next() {
  batch_ = std::make_shared<Batch>();
  used_ = first_fill_ = task_bytes_ = 0;
  if (std::exchange(group_is_full_, false)) {
    ++group_;
    group_size_ = {};
  }
  batch_->group = group_;
  for (; at_ < wanted_.size(); ++at_) {
    if (!std::exchange(has_begun_, true)) begin();
    PTD_LET(is_complete, add_content());
    if (!is_complete) break;
    if (wanted_[at_].is_whole()) add_tail();
    has_begun_ = false;
  }
  close_task();
  // A group may be full before a batch has begun.
  if (batch_->tasks.empty()) return group_is_full_ ? next() : BatchPtr();
  if (!has_room_for_another()) group_is_full_ = true;
  return BatchPtr(std::move(batch_));
}

/// A group ends with a full buffer: the little that would still go into it would take another for itself.
bool Planner::has_room_for_another() const {
  if (staging_ == nullptr) return true;
  GroupSize batch;
  for (const auto& fill : batch_->fills) batch = sum(batch, size_of(fill));
  return fits(sum(group_size_, batch), staging_->most);
}

void Planner::begin() {
  const auto& model = file_.model();
  const auto& wanted = wanted_[at_];
  current_ = {.end = end_of(model, wanted),
              .done = wanted.begin,
              .may_fill_gap = at_ == 0 || wanted_[at_ - 1].is_padded};
  if (!current_.may_fill_gap || !wanted.is_whole()) ++raw_runs_;
  if (current_.end > current_.done) {
    current_.segment = &file_.segment_of(model.storages[wanted.storage].content);
    current_.part = part_of(current_.segment->chunk_bytes());
    current_.way = way_of(*current_.segment);
  }
  constexpr std::uint64_t stored_run = ~std::uint64_t{0};
  current_.run = current_.way == Way::stored ? stored_run : raw_runs_;
  if (current_.way == Way::left) leave_rest();
}

void Planner::leave_rest() {
  left_.push_back({static_cast<std::uint32_t>(at_), current_.done / current_.segment->chunk_bytes()});
  current_.done = current_.end;
}

/// The device takes chunks that come in one buffer.
Planner::Way Planner::way_of(const Segment& segment) const {
  if (staging_ == nullptr) return Way::raw;
  const bool is_stored = is_coded(segment.encoding);
  if (!is_stored && !staging_->checks) return Way::raw;
  if (segment.chunk_bytes() > sizes_.buffer_bytes || (is_stored && leaves_coded_)) return Way::left;
  return is_stored ? Way::stored : Way::raw;
}

/// Whole chunks, as far as they fit into a part or at least a buffer.
std::uint64_t Planner::part_of(std::uint64_t chunk) const {
  if (chunk <= sizes_.part_bytes) return sizes_.part_bytes / chunk * chunk;
  return chunk <= sizes_.buffer_bytes ? chunk : sizes_.part_bytes;
}

/// False if the batch is full before the content's end.
Result<bool> Planner::add_content() {
  bool has_room = true;
  while (has_room && current_.done < current_.end) {
    PTD_LET(added, add_next());
    has_room = added;
  }
  return has_room;
}

Result<bool> Planner::add_next() {
  if (current_.way == Way::stored && leaves_coded_) {
    leave_rest();
    return true;
  }
  PTD_LET(fill, next_fill());
  if (!add_to_group(fill)) return false;
  if (!add_copy(fill.to, fill.buffer_bytes())) return false;
  fill.first_job = group_size_.chunks;
  group_size_ = sum(group_size_, size_of(fill));
  add(fill);
  return true;
}

Result<Fill> Planner::next_fill() {
  auto fill = current_.way == Way::stored ? next_stored() : Result<Fill>(next_raw());
  if (!fill) return fill;
  fill->content = current_.segment->content;
  fill->wanted = static_cast<std::uint32_t>(at_);
  fill->begin = current_.done;
  return fill;
}

Fill Planner::next_raw() const {
  Fill fill;
  fill.bytes = std::min(current_.part, current_.end - current_.done);
  fill.to = wanted_[at_].to.plus(current_.done);
  if (staging_ != nullptr && staging_->checks)
    fill.chunks = wire::divide_up(fill.bytes, current_.segment->chunk_bytes());
  return fill;
}

/// Chunks whose stored bytes make a part. What is small comes at once, so that its table need not be read
/// before its turn.
Result<Fill> Planner::next_stored() {
  const auto& segment = *current_.segment;
  Fill fill;
  fill.to = {&staging_->places[group_ % staging_->places.size()], group_size_.stored_bytes};
  const auto size = file_.model().contents[segment.content].size;
  const auto most_raw = most_parts * sizes_.part_bytes;
  if (segment.stored_size <= sizes_.part_bytes && size <= most_raw && current_.end - current_.done == size) {
    fill.bytes = size;
    fill.stored_bytes = segment.stored_size;
    fill.chunks = segment.chunks;
    return fill;
  }
  PTD_LET(table, tables_->get(segment.content, *source_, segment, size));
  const auto first = current_.done / segment.chunk_bytes();
  const auto end = wire::divide_up(current_.end, segment.chunk_bytes());
  fill.stored_begin = table->stored_begin(first);
  auto last = first;
  do ++last;
  while (last < end && table->stored_begin(last + 1) - fill.stored_begin <= sizes_.part_bytes &&
         table->raw_end(last) - current_.done <= most_raw);
  fill.bytes = table->raw_end(last - 1) - current_.done;
  fill.stored_bytes = table->stored_begin(last) - fill.stored_begin;
  fill.chunks = last - first;
  return fill;
}

/// False if the group is full without it.
bool Planner::add_to_group(const Fill& fill) {
  if (staging_ == nullptr) return true;
  group_is_full_ = group_size_ != GroupSize{} && !fits(sum(group_size_, size_of(fill)), staging_->most);
  return !group_is_full_;
}

void Planner::add(const Fill& fill) {
  const auto bytes = fill.buffer_bytes();
  if (task_bytes_ > 0 && task_bytes_ + bytes > sizes_.part_bytes) close_task();
  batch_->fills.push_back(fill);
  batch_->fills.back().in_buffer = used_ - bytes;
  batch_->content_bytes += fill.bytes;
  task_bytes_ += bytes;
  current_.done += fill.bytes;
}

void Planner::close_task() {
  if (first_fill_ < batch_->fills.size()) batch_->tasks.push_back({first_fill_, batch_->fills.size()});
  first_fill_ = batch_->fills.size();
  task_bytes_ = 0;
}

/// Room for bytes that are copied: behind the last copy if they follow it, else in a copy of their own. False
/// if the buffer has none; an empty batch has room for a part.
bool Planner::add_copy(const Destination& to, std::uint64_t bytes) {
  auto& copies = batch_->copies;
  if (!copies.empty()) {
    const auto gap = gap_between(copies.back().end(), to);
    const auto widest = current_.may_fill_gap ? storage_alignment : 1;
    const bool is_near = last_run_ == current_.run && gap < widest;
    if (is_near && used_ + gap + bytes <= sizes_.buffer_bytes) {
      extend(gap);
      copies.back().bytes += bytes;
      used_ += bytes;
      return true;
    }
    if (next_place() + bytes > sizes_.buffer_bytes) return false;
  }
  copies.push_back({next_place(), to, bytes});
  used_ = next_place() + bytes;
  last_run_ = current_.run;
  return true;
}

/// Where another copy may begin in the buffer.
std::uint64_t Planner::next_place() const {
  return wire::divide_up(used_, storage_alignment) * storage_alignment;
}

/// Blank bytes behind the last copy.
void Planner::extend(std::uint64_t bytes) {
  if (bytes == 0) return;
  batch_->blanks.push_back({used_, bytes});
  batch_->copies.back().bytes += bytes;
  used_ += bytes;
}

void Planner::add_tail() {
  const auto bytes = file_.model().storages[wanted_[at_].storage].size - current_.end;
  if (bytes == 0) return;
  zero_bytes_ += bytes;
  const auto to = wanted_[at_].to.plus(current_.end);
  if (bytes <= largest_blank && follows(to) && used_ + bytes <= sizes_.buffer_bytes)
    extend(bytes);
  else
    add_zeros(to, bytes);
}

/// True if the place is just where the last copy of the batch ends, and that is the storage's.
bool Planner::follows(const Destination& place) const {
  const auto& copies = batch_->copies;
  return !copies.empty() && last_run_ == current_.run && gap_between(copies.back().end(), place) == 0;
}

void Planner::add_zeros(const Destination& to, std::uint64_t bytes) {
  // What alignment leaves between two runs of zeros may as well be zero.
  const bool joins =
      current_.may_fill_gap && !zeros_.empty() && gap_between(zeros_.back().end(), to) < storage_alignment;
  if (joins)
    zeros_.back().bytes = to.offset - zeros_.back().to.offset + bytes;
  else
    zeros_.push_back({to, bytes});
}

std::uint64_t content_bytes(const Reader& file, std::span<const Wanted> wanted) {
  std::uint64_t bytes = 0;
  for (const auto& one : wanted) bytes += end_of(file.model(), one) - one.begin;
  return bytes;
}

GroupSize first_group(const Reader& file, std::span<const Wanted> wanted, std::uint64_t buffer_bytes,
                      const GroupSize& most, bool has_coded) {
  GroupSize size;
  for (const auto& one : wanted) {
    const auto raw = end_of(file.model(), one) - one.begin;
    if (raw == 0) continue;
    const auto& segment = file.segment_of(file.model().storages[one.storage].content);
    if (segment.chunk_bytes() <= buffer_bytes) size = sum(size, size_of(segment, raw));
    const bool is_coded_full =
        !has_coded || (size.stored_bytes >= most.stored_bytes && size.coded_bytes >= most.coded_bytes);
    if (is_coded_full && size.raw_bytes >= most.raw_bytes && size.chunks >= most.chunks) break;
  }
  return smaller(size, most);
}

}  // namespace ptd::cuda
