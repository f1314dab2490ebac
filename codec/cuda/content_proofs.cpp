// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "cuda/content_proofs.hpp"

#include <algorithm>

#include "segment/digest.hpp"
#include "wire/checked.hpp"

namespace ptd::cuda {

std::uint64_t leaves_bytes(const Fill& fill) noexcept {
  return wire::divide_up(fill.bytes, segment::leaf_bytes) * sizeof(Digest);
}

ContentProofs::ContentProofs(const Reader& file, std::span<const Wanted> wanted, bool is_wanted)
    : file_(file), proofs_(is_wanted ? wanted.size() : 0) {}

/// Where the fill's leaves belong.
MutableBytes ContentProofs::room(Proof& proof, const Fill& fill) const {
  std::call_once(proof.made, [&] {
    proof.missing = size_of(fill);
    proof.leaves.resize(wire::divide_up(size_of(fill), segment::leaf_bytes) * sizeof(Digest));
  });
  return MutableBytes(proof.leaves)
      .subspan(fill.begin / segment::leaf_bytes * sizeof(Digest), leaves_bytes(fill));
}

Result<void> ContentProofs::add_raw(const Fill& fill, Bytes raw) {
  auto& proof = proofs_[fill.wanted];
  segment::hash_leaves(raw, room(proof, fill));
  return count(proof, fill);
}

Result<void> ContentProofs::add_leaves(const Fill& fill, Bytes leaves) {
  auto& proof = proofs_[fill.wanted];
  if (fill.bytes == size_of(fill)) return compare(proof, fill, leaves);
  std::ranges::copy(leaves, room(proof, fill).begin());
  return count(proof, fill);
}

Result<void> ContentProofs::count(Proof& proof, const Fill& fill) {
  if (proof.missing.fetch_sub(fill.bytes) != fill.bytes) return {};
  const auto leaves = std::move(proof.leaves);
  return compare(proof, fill, leaves);
}

Result<void> ContentProofs::compare(const Proof& proof, const Fill& fill, Bytes leaves) const {
  if (proof.is_left) return {};
  segment::RootHasher root(size_of(fill));
  root.add(leaves);
  if (root.finish() == file_.model().contents[fill.content].digest) return {};
  return fail_at(ErrorCode::content_digest, "DIG-2", file_.segment_of(fill.content).offset,
                 "a content does not have the digest that the model gives it; do not use this file");
}

}  // namespace ptd::cuda
