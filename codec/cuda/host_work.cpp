// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "cuda/host_work.hpp"

namespace ptd::cuda {

Result<void> HostWork::fill(Worker& worker, const Batch& /*batch*/, const Fill& fill, MutableBytes to) {
  const reader::Checks checks{.stored = false, .raw = check_ != Check::none};
  const auto& segment = file_.segment_of(fill.content);
  const auto size = file_.model().contents[fill.content].size;
  PTD_LET(table, tables_.get(fill.content, worker.source, segment, size));
  PTD_TRY(worker.reader.read_range(segment, *table, fill.begin, to, checks, worker.report));
  return check_ == Check::content ? proofs_.add_raw(fill, to) : Result<void>();
}

Result<MarkPtr> HostWork::send(const BatchPtr& batch, Bytes buffer) {
  for (const auto& copy : batch->copies)
    PTD_TRY(device_.copy(copy.to.address(), buffer.data() + copy.in_buffer, copy.bytes));
  return device_.mark();
}

Result<void> HostWork::finish() { return set_zeros(device_, planner_.zeros()); }

void HostWork::settle() noexcept { settle_queue(device_); }

Result<void> set_zeros(Device& device, std::span<const Zeros> zeros) {
  for (const auto& one : zeros) PTD_TRY(device.set_zero(one.to.address(), one.bytes));
  return {};
}

}  // namespace ptd::cuda
