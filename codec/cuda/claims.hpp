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

  /// Claims memory for those of these entries of the layout that have none yet, all at once. What is to be
  /// brought comes in blocks, by group; its memory has no address and belongs to the arrival.
  std::vector<BlockPtr> claim(const std::vector<std::uint32_t>& entries, const ArrivalPtr& arrival);

  /// Waits for what others bring; their marks are added to the Weights'. A load that was cancelled, or had no
  /// memory to load to, says nothing about the file, so what it owed loses its memory again: false then, and
  /// the caller claims once more. Errors: theirs.
  Result<bool> wait_for_others();

  /// Takes back what the state got from this load, if nobody else has found it there yet.
  void withdraw(const ArrivalPtr& arrival);

 private:
  /// The places of one device, with the blocks that live, which are kept while they are looked at.
  class Here {
   public:
    Here(Places& places, std::size_t entries);
    /// Null if nothing is there any more.
    StorageMemory* find(std::uint32_t entry);
    void put(std::uint32_t entry, StorageMemory& memory);

   private:
    Places& places_;
    std::map<std::uint64_t, BlockPtr> live_;
    std::uint64_t last_ = 0;  ///< that was asked for: most are in the same block as the one before
    bool is_last_live_ = false;
  };

  StorageMemory& claim_of_state(const Entry& entry);
  StorageMemory& claim_of_all(const Entry& entry, Here& here);
  StorageMemory* find_proven(const Entry& entry, Here& here);
  void enter_proven();
  [[nodiscard]] ContentName name_of(std::uint32_t storage) const;
  StorageMemory& make(const Entry& entry);
  [[nodiscard]] bool serves(const StorageMemory& memory) const;
  /// Of what has content: there is nothing to prove of zeros.
  [[nodiscard]] ProvenKey proven_key(const Entry& entry) const;
  [[nodiscard]] bool has_content(const Entry& entry) const;
  [[nodiscard]] int device_of(const Entry& entry) const;
  BlockPtr new_block(int device) const;
  static bool is_its_own(const Error& error);
  void count_found(const Entry& entry, const StorageMemory& memory);
  void forget(const ArrivalPtr& arrival);

  const LoadedModel::Inner& model_;
  const LoadRequest& request_;
  Weights::Inner& out_;
  std::vector<ArrivalPtr> waited_for_;
  std::vector<bool> is_awaited_;  ///< by entry: another was still bringing it when it was claimed

  // While claiming.
  ArrivalPtr arrival_;
  std::vector<BlockPtr> blocks_;  ///< by group; null: nothing of it is to be brought
  std::vector<MemoryPtr> found_;  ///< among the proven ones; kept until the locks are gone
  bool may_be_proven_ = false;    ///< there are some, of other files
};

}  // namespace ptd::cuda
