// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "reader/runs.hpp"

#include <algorithm>

namespace ptd::reader {

RunWalk::RunWalk(const Tensor& tensor, std::span<const Slice> region) {
  const std::uint64_t bits = dtype_bits(tensor.dtype);
  run_ = {tensor.storage_offset * bits, 0, bits};
  add_axes(tensor, region);
  // Broadcast dimensions repeat all that is inside them, so they come outermost: stride 0 wraps to the
  // largest key.
  std::ranges::stable_sort(axes_, {}, [](const Axis& axis) { return axis.from - 1; });
  join_inner_axes();
}

void RunWalk::add_axes(const Tensor& tensor, std::span<const Slice> region) {
  std::uint64_t to = run_.bits;
  for (std::size_t i = region.size(); i-- > 0;) {
    const auto& [start, stop, step] = region[i];
    const std::uint64_t count = region[i].count();
    if (count == 0) done_ = true;
    if (done_) return;
    // Inside the view, so inside 2^63 bits; a stride that is never stepped over may be anything.
    if (start > 0) run_.from += start * tensor.strides[i] * dtype_bits(tensor.dtype);
    if (count > 1) axes_.push_back({count, step * tensor.strides[i] * dtype_bits(tensor.dtype), to});
    to *= count;
  }
}

// Axes that continue the run on both sides make it longer.
void RunWalk::join_inner_axes() {
  auto axis = axes_.begin();
  while (axis != axes_.end() && axis->from == run_.bits && axis->to == run_.bits) {
    run_.bits *= axis->count;
    ++axis;
  }
  axes_.erase(axes_.begin(), axis);
}

void RunWalk::step() {
  for (auto& axis : axes_) {
    run_.from += axis.from;
    run_.to += axis.to;
    if (++axis.at < axis.count) return;
    run_.from -= axis.from * axis.count;
    run_.to -= axis.to * axis.count;
    axis.at = 0;
  }
  done_ = true;
}

bool RunWalk::next(std::vector<Run>& runs, std::size_t most) {
  runs.clear();
  while (!done_ && runs.size() < most) {
    runs.push_back(run_);
    step();
  }
  // Overlapping dimensions may step back.
  if (!std::ranges::is_sorted(runs, {}, &Run::from)) std::ranges::sort(runs, {}, &Run::from);
  return !runs.empty();
}

}  // namespace ptd::reader
