// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// The speed limit of a conversion that proves what it writes: both digests of every byte, on all cores.
#include <benchmark/benchmark.h>

#include <thread>
#include <vector>

#include "segment/digest.hpp"
#include "wire/hash.hpp"

namespace {

using namespace ptd;

void hash_on_all_cores(benchmark::State& state) {
  constexpr std::size_t piece = std::size_t{1} << 20, chunk = std::size_t{64} << 10, pieces = 64;
  std::vector<std::byte> raw(piece * pieces), leaves(piece / segment::leaf_bytes * sizeof(Digest));
  for (std::size_t i = 0; i < raw.size(); ++i) raw[i] = static_cast<std::byte>(i * 2654435761U >> 24);
  for (auto _ : state)
    for (std::size_t at = 0; at < raw.size(); at += piece) {
      const auto part = Bytes(raw).subspan(at, piece);
      segment::hash_leaves(part, leaves);
      for (std::size_t i = 0; i < piece; i += chunk)
        benchmark::DoNotOptimize(wire::xxh3(part.subspan(i, chunk)));
      benchmark::DoNotOptimize(leaves.data());
    }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) *
                          static_cast<std::int64_t>(raw.size()));
}
BENCHMARK(hash_on_all_cores)->Threads(static_cast<int>(std::thread::hardware_concurrency()))->UseRealTime();

}  // namespace
