// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// A transfer whose chunks are decoded and checked on the host, on their way into the pinned buffers.
#pragma once

#include "cuda/content_proofs.hpp"
#include "cuda/transfer.hpp"
#include "file/failure.hpp"

namespace ptd::cuda {

class HostWork final : public BatchWork {
 public:
  /// `device`, and all else, outlives it.
  HostWork(const Reader& file, TableStore& tables, std::span<const Wanted> wanted, Device& device,
           Check check, const Planner::Sizes& sizes)
      : file_(file),
        tables_(tables),
        device_(device),
        check_(check),
        proofs_(file, wanted, check == Check::content),
        planner_(file, wanted, sizes) {}

  Result<BatchPtr> next() override { return planner_.next(); }
  Result<void> fill(Worker& worker, const Batch& batch, const Fill& fill, MutableBytes to) override;
  Result<MarkPtr> send(const BatchPtr& batch, Bytes buffer) override;
  Result<MarkPtr> mark(const Batch&) override { return device_.mark(); }
  Result<void> finish() override;
  void settle() noexcept override;

  [[nodiscard]] std::uint64_t zero_bytes() const noexcept { return planner_.zero_bytes(); }

 private:
  const Reader& file_;
  TableStore& tables_;
  Device& device_;
  const Check check_;
  ContentProofs proofs_;
  Planner planner_;
};

/// Sets on the device what is not copied.
Result<void> set_zeros(Device& device, std::span<const Zeros> zeros);

/// Waits for all that was enqueued on a device's own queue, or on a lane.
template <class Queue>
void settle_queue(Queue& queue) noexcept {
  // If there was an error, another is told already.
  static_cast<void>(file::guarded([&]() -> Result<void> {
    PTD_LET(mark, queue.mark());
    return mark->wait();
  }));
}

}  // namespace ptd::cuda
