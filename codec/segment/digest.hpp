// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// The two digests of the format: XXH3-64 finds damage, the content digest proves identity.
#pragma once

#include <array>
#include <cstdint>
#include <ptd/bytes.hpp>
#include <ptd/model.hpp>  // Digest

namespace ptd::segment {

/// Content digests hash leaves of this many raw bytes; a constant of the format [DIG-2].
inline constexpr std::uint64_t leaf_bytes = 8192;

/// XXH3-64, seed 0 [DIG-1].
std::uint64_t xxh3(Bytes bytes) noexcept;

/// SHA-256 of `bytes` as they are: the model id is this over the model message.
Digest sha256(Bytes bytes);

/// SHA-256 of each leaf of `bytes`, concatenated: the parallel half of a content digest. Every leaf
/// but the last has leaf_bytes bytes. `leaves` must hold 32 bytes for each of ceil(size / leaf_bytes).
void hash_leaves(Bytes bytes, MutableBytes leaves);

/// The sequential half: takes leaf digests in order and gives the root.
/// SHA-256("PTD1SEG\0" | u64 raw size | leaf digests) [DIG-2].
class RootHasher {
 public:
  explicit RootHasher(std::uint64_t raw_size);
  RootHasher(RootHasher&&) noexcept;
  RootHasher& operator=(RootHasher&&) noexcept;
  ~RootHasher();

  void add(Bytes leaf_digests);
  [[nodiscard]] Digest finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The content digest of bytes that lie in memory.
Digest content_digest(Bytes bytes);

/// True if every byte is zero. Stops at the first that is not.
bool all_zero(Bytes bytes) noexcept;

}  // namespace ptd::segment
