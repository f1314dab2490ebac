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

  /// Claims the storages that have no memory yet, all at once. Those to be brought come in blocks, by group;
  /// their memory has no address and belongs to the arrival.
  std::vector<BlockPtr> claim(const std::vector<std::uint32_t>& storages, const ArrivalPtr& arrival);

  /// Waits for what others bring; their marks are added to the Weights'. A load that was cancelled, or had no
  /// memory to load to, says nothing about the file, so what it owed loses its memory again: false then, and
  /// the caller claims once more. Errors: theirs.
  Result<bool> wait_for_others(const std::vector<std::uint32_t>& storages);

  /// Takes back what the state got from this load, if nobody else has found it there yet.
  void withdraw(const ArrivalPtr& arrival);

 private:
  MemoryPtr claim_one(std::uint32_t storage);
  MemoryPtr claim_of_state(std::uint32_t storage);
  MemoryPtr claim_of_all(std::uint32_t storage);
  MemoryPtr find_proven(std::uint32_t storage);
  MemoryPtr make(std::uint32_t storage);
  [[nodiscard]] bool serves(const StorageMemory& memory) const;
  [[nodiscard]] ProvenKey proven_key(std::uint32_t storage) const;
  [[nodiscard]] int device_of(std::uint32_t storage) const;
  FileScope::Places& places_on(int device);
  BlockPtr new_block(int device) const;
  static bool is_its_own(const Error& error);
  void count_found(std::uint32_t storage, const StorageMemory& memory);
  void forget(const ArrivalPtr& arrival);

  const LoadedModel::Inner& model_;
  const LoadRequest& request_;
  Weights::Inner& out_;
  std::vector<ArrivalPtr> waited_for_;
  std::vector<bool> is_awaited_;  ///< by storage: another was still bringing it when it was claimed

  // While claiming.
  ArrivalPtr arrival_;
  std::vector<BlockPtr> blocks_;  ///< by group; null: nothing of it is to be brought
  std::vector<MemoryPtr> unfit_;  ///< what was found and may have lost its last other user meanwhile: it must
                                  ///< not go while locks are held
  FileScope::Places* on_device_ = nullptr;
  FileScope::Places* on_host_ = nullptr;
};

}  // namespace ptd::cuda
