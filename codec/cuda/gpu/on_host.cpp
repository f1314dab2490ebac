// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "cuda/gpu/on_host.hpp"

#include <algorithm>
#include <cstring>

#include "cuda/gpu/xxh3.hpp"

namespace ptd::cuda::gpu {
namespace {

const std::uint8_t* address(Bytes bytes) { return reinterpret_cast<const std::uint8_t*>(bytes.data()); }

void put(const Piece& piece, std::uint8_t* to, std::uint32_t size) {
  if (piece.bytes == nullptr)
    std::memset(to, static_cast<int>(piece.value), size);
  else if (piece.bytes != to)
    std::memcpy(to, piece.bytes, size);
}

std::uint64_t hash_long(const std::uint8_t* in, std::uint32_t size) {
  using namespace xxh3;
  std::uint64_t accumulators[lanes];
  for (std::uint32_t lane = 0; lane < lanes; ++lane) {
    std::uint64_t& accumulator = accumulators[lane] = first_accumulator(lane);
    for (std::uint32_t block = 0; block < whole_blocks(size); ++block) {
      std::uint64_t sum = 0;
      for (std::uint32_t i = 0; i < hash_block_bytes / stripe_bytes; ++i)
        sum += stripe_term_at(in, block * hash_block_bytes + i * stripe_bytes, lane, stripe_secret(i, lane));
      accumulator = after_block(accumulator, sum, lane);
    }
    accumulator += tail_sum(in, size, lane);
  }
  std::uint64_t terms = 0;
  for (std::uint32_t lane = 0; lane < lanes; lane += 2)
    terms += pair_term(accumulators[lane], accumulators[lane + 1], lane / 2);
  return finished(terms, size);
}

}  // namespace

Verdict decode_on_host(Bytes stored, unsigned width, MutableBytes planes) {
  const auto room = std::make_unique<Room>();
  const FrameView frame{
      {address(stored), address(stored) + stored.size()}, static_cast<std::uint32_t>(planes.size()), width};
  auto* const to = reinterpret_cast<std::uint8_t*>(planes.data());
  const Cut cut(frame.raw_bytes, width);
  Verdict worst = Verdict::ok;
  for (std::uint32_t i = 0; i < cut.blocks; ++i) {
    Piece piece{};
    const Verdict verdict = decode_block(Alone{}, frame, i, *room, to, piece);
    worst = std::max(worst, verdict);
    if (verdict == Verdict::ok) put(piece, to + cut.begin_of(i), cut.size_of(i));
  }
  return worst;
}

std::uint64_t xxh3_on_host(Bytes bytes) {
  const auto size = static_cast<std::uint32_t>(bytes.size());
  return size > xxh3::short_bytes ? hash_long(address(bytes), size) : xxh3::hash_short(address(bytes), size);
}

}  // namespace ptd::cuda::gpu
