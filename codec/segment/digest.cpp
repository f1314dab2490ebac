// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// OpenSSL's low-level SHA-256 rather than EVP: it neither allocates nor fails, and a fetched EVP_MD
// costs 2 to 5 % more on 8 KiB leaves. It is deprecated in name only; both run the same code.
#define OPENSSL_SUPPRESS_DEPRECATED
#include "segment/digest.hpp"

#include <openssl/sha.h>

#include <algorithm>
#include <array>

#include "segment/uniform.hpp"
#include "wire/endian.hpp"  // hashing the size as it lies in memory needs a little-endian host
#include "wire/hash.hpp"

namespace ptd::segment {
namespace {

constexpr std::size_t digest_bytes = std::tuple_size_v<Digest>;
constexpr char root_tag[8] = {'P', 'T', 'D', '1', 'S', 'E', 'G', '\0'};

void finish_into(SHA256_CTX& context, std::byte* digest) noexcept {
  SHA256_Final(reinterpret_cast<unsigned char*>(digest), &context);
}

void sha256_into(Bytes bytes, std::byte* digest) noexcept {
  SHA256_CTX context;
  SHA256_Init(&context);
  SHA256_Update(&context, bytes.data(), bytes.size());
  finish_into(context, digest);
}

}  // namespace

std::uint64_t xxh3(Bytes bytes) noexcept { return wire::xxh3(bytes); }

Digest sha256(Bytes bytes) {
  Digest digest;
  sha256_into(bytes, digest.data());
  return digest;
}

void hash_leaves(Bytes bytes, MutableBytes leaves) {
  while (!bytes.empty()) {
    const Bytes leaf = bytes.first(std::min<std::size_t>(bytes.size(), leaf_bytes));
    sha256_into(leaf, leaves.first(digest_bytes).data());
    bytes = bytes.subspan(leaf.size());
    leaves = leaves.subspan(digest_bytes);
  }
}

struct RootHasher::State {
  SHA256_CTX context;
};

RootHasher::RootHasher(std::uint64_t raw_size) : state_(std::make_unique<State>()) {
  SHA256_Init(&state_->context);
  SHA256_Update(&state_->context, root_tag, sizeof root_tag);
  SHA256_Update(&state_->context, &raw_size, sizeof raw_size);
}

RootHasher::RootHasher(RootHasher&&) noexcept = default;
RootHasher& RootHasher::operator=(RootHasher&&) noexcept = default;
RootHasher::~RootHasher() = default;

void RootHasher::add(Bytes leaf_digests) {
  SHA256_Update(&state_->context, leaf_digests.data(), leaf_digests.size());
}

Digest RootHasher::finish() {
  Digest digest;
  finish_into(state_->context, digest.data());
  return digest;
}

Digest content_digest(Bytes bytes) {
  constexpr std::size_t batch_leaves = 64;
  std::array<std::byte, batch_leaves * digest_bytes> leaves;
  RootHasher root(bytes.size());
  while (!bytes.empty()) {
    const Bytes batch = bytes.first(std::min<std::size_t>(bytes.size(), batch_leaves * leaf_bytes));
    hash_leaves(batch, leaves);
    root.add(Bytes(leaves).first((batch.size() + leaf_bytes - 1) / leaf_bytes * digest_bytes));
    bytes = bytes.subspan(batch.size());
  }
  return root.finish();
}

bool all_zero(Bytes bytes) noexcept {
  return bytes.empty() || (bytes.front() == std::byte{0} && is_uniform(bytes));
}

}  // namespace ptd::segment
