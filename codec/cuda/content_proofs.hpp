// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Content digests of what a load brings, from leaves that come in any order.
#pragma once

#include <atomic>
#include <mutex>
#include <ptd/reader.hpp>
#include <span>
#include <vector>

#include "cuda/transfer_plan.hpp"

namespace ptd::cuda {

/// A proof for each content that is wanted. Thread-safe. Fills begin with a leaf.
class ContentProofs {
 public:
  /// With `is_wanted` false there is nothing to prove, and nothing is asked of it.
  ContentProofs(const Reader& file, std::span<const Wanted> wanted, bool is_wanted);

  /// Hashes raw bytes; with the last ones of a content compares its digest. Error `content_digest`.
  Result<void> add_raw(const Fill& fill, Bytes raw);

  /// The same with the digests of the fill's leaves.
  Result<void> add_leaves(const Fill& fill, Bytes leaves);

  /// Leaves of this are not what they should be, and somebody else will see to it: nothing is compared.
  void leave(std::uint32_t wanted) noexcept { proofs_[wanted].is_left = true; }

 private:
  struct Proof {
    std::atomic<bool> is_left = false;

    // If its content comes in several fills, from the first of them on.
    std::once_flag made;
    std::atomic<std::uint64_t> missing = 0;  ///< bytes of the content
    std::vector<std::byte> leaves;
  };

  [[nodiscard]] std::uint64_t size_of(const Fill& fill) const {
    return file_.model().contents[fill.content].size;
  }
  MutableBytes room(Proof& proof, const Fill& fill) const;
  Result<void> count(Proof& proof, const Fill& fill);
  Result<void> compare(const Proof& proof, const Fill& fill, Bytes leaves) const;

  const Reader& file_;
  std::vector<Proof> proofs_;  ///< by wanted; in one piece, as there may be many small ones
};

/// Bytes of the digests of a fill's leaves.
std::uint64_t leaves_bytes(const Fill& fill) noexcept;

}  // namespace ptd::cuda
