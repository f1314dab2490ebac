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

std::uint64_t content_size(const Model& model, std::uint32_t storage) {
  const auto content = model.storages[storage].content;
  return content == no_index ? 0 : model.contents[content].size;
}

}  // namespace

std::unique_ptr<Batch> Planner::next() {
  batch_ = std::make_unique<Batch>();
  used_ = first_fill_ = task_bytes_ = 0;
  for (; at_ < wanted_.size(); ++at_) {
    if (!std::exchange(has_begun_, true)) begin();
    if (!add_content()) break;
    add_tail();
    has_begun_ = false;
  }
  close_task();
  return batch_->tasks.empty() ? nullptr : std::move(batch_);
}

void Planner::begin() {
  const auto& model = file_.model();
  const auto storage = wanted_[at_].storage;
  current_ = {.size = content_size(model, storage), .may_fill_gap = at_ == 0 || wanted_[at_ - 1].is_padded};
  if (current_.size > 0)
    current_.part = part_of(file_.segment_of(model.storages[storage].content).chunk_bytes());
}

/// Whole chunks, as far as they fit into a part or at least a buffer.
std::uint64_t Planner::part_of(std::uint64_t chunk) const {
  if (chunk <= part_bytes_) return part_bytes_ / chunk * chunk;
  return chunk <= buffer_bytes_ ? chunk : part_bytes_;
}

/// False if the batch is full before the content's end.
bool Planner::add_content() {
  while (current_.done < current_.size) {
    const auto bytes = std::min(current_.part, current_.size - current_.done);
    if (!add_room(wanted_[at_].address + current_.done, bytes)) return false;
    add_fill(bytes, used_ - bytes);
  }
  return true;
}

void Planner::add_fill(std::uint64_t bytes, std::uint64_t in_buffer) {
  if (task_bytes_ > 0 && task_bytes_ + bytes > part_bytes_) close_task();
  const auto content = file_.model().storages[wanted_[at_].storage].content;
  batch_->fills.push_back({content, static_cast<std::uint32_t>(at_), current_.done, bytes, in_buffer});
  batch_->content_bytes += bytes;
  task_bytes_ += bytes;
  current_.done += bytes;
}

void Planner::close_task() {
  if (first_fill_ < batch_->fills.size()) batch_->tasks.push_back({first_fill_, batch_->fills.size()});
  first_fill_ = batch_->fills.size();
  task_bytes_ = 0;
}

/// Room for bytes that go to the address: behind the last copy if they follow it, else in a copy of their
/// own. False if there is none; an empty batch has room for a part.
bool Planner::add_room(std::byte* address, std::uint64_t bytes) {
  auto& copies = batch_->copies;
  if (!copies.empty()) {
    const auto gap = address - (copies.back().device + copies.back().bytes);
    const auto widest = current_.may_fill_gap ? static_cast<std::ptrdiff_t>(storage_alignment) : 1;
    const bool is_near = gap >= 0 && gap < widest;
    if (is_near && used_ + static_cast<std::uint64_t>(gap) + bytes <= buffer_bytes_) {
      extend(static_cast<std::uint64_t>(gap));
      copies.back().bytes += bytes;
      used_ += bytes;
      return true;
    }
    if (next_place() + bytes > buffer_bytes_) return false;
  }
  copies.push_back({next_place(), address, bytes});
  used_ = next_place() + bytes;
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
  const auto bytes = file_.model().storages[wanted_[at_].storage].size - current_.size;
  if (bytes == 0) return;
  zero_bytes_ += bytes;
  auto* const address = wanted_[at_].address + current_.size;
  if (bytes <= largest_blank && follows(address) && used_ + bytes <= buffer_bytes_)
    extend(bytes);
  else
    add_zeros(address, bytes);
}

/// True if the address is just where the last copy of the batch ends.
bool Planner::follows(const std::byte* address) const {
  const auto& copies = batch_->copies;
  return !copies.empty() && copies.back().device + copies.back().bytes == address;
}

void Planner::add_zeros(std::byte* address, std::uint64_t bytes) {
  // What alignment leaves between two runs of zeros may as well be zero.
  const bool joins =
      current_.may_fill_gap && !zeros_.empty() && address >= zeros_.back().device + zeros_.back().bytes &&
      address - (zeros_.back().device + zeros_.back().bytes) < static_cast<std::ptrdiff_t>(storage_alignment);
  if (joins)
    zeros_.back().bytes = static_cast<std::uint64_t>(address - zeros_.back().device) + bytes;
  else
    zeros_.push_back({address, bytes});
}

std::uint64_t content_bytes(const Reader& file, std::span<const Wanted> wanted) {
  std::uint64_t bytes = 0;
  for (const auto& one : wanted) bytes += content_size(file.model(), one.storage);
  return bytes;
}

}  // namespace ptd::cuda
