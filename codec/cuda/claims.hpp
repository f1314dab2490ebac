// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Which of a load's storages are there, which others are bringing, and which it has to bring itself.
#pragma once

#include "cuda/inner.hpp"

namespace ptd::cuda {

/// The storages of one load.
class Claims {
 public:
  Claims(const LoadedModel::Inner& model, const LoadRequest& request, Weights::Inner& out)
      : model_(model), request_(request), out_(out) {}

  /// Claims the storages that have no memory yet. Those to be brought are added to `mine`; their memory has
  /// no address and belongs to the arrival.
  void claim(const std::vector<std::uint32_t>& storages, const ArrivalPtr& arrival,
             std::vector<std::uint32_t>& mine);

  /// Waits for what others bring; their marks are added to the Weights'. A load that was cancelled says
  /// nothing about the file, so what it owed loses its memory again: false then, and the caller claims once
  /// more. Errors: theirs.
  Result<bool> wait_for_others(const std::vector<std::uint32_t>& storages);

  /// Takes back what the state got from this load, if nobody else has found it there yet.
  void withdraw(const ArrivalPtr& arrival);

 private:
  StorageIndex::Claim claim_one(std::uint32_t storage, const ArrivalPtr& arrival,
                                std::weak_ptr<StorageMemory>& known, std::vector<MemoryPtr>& unfit);
  StorageIndex::Claim claim_of_state(std::uint32_t storage, const ArrivalPtr& arrival);
  StorageIndex::Claim claim_of_all(const Storage& storage, const ArrivalPtr& arrival);
  MemoryPtr new_memory(const Storage& storage, const ArrivalPtr& arrival) const;
  void count(const StorageIndex::Claim& claim);
  void forget(const ArrivalPtr& arrival);

  const LoadedModel::Inner& model_;
  const LoadRequest& request_;
  Weights::Inner& out_;
  std::vector<ArrivalPtr> waited_for_;
};

/// Where a storage is to live.
inline int device_of(const Storage& storage, int device) {
  return storage.placement == Placement::host ? host_memory : device;
}

}  // namespace ptd::cuda
