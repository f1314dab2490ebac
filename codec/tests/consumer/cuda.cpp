// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// A runtime of somebody else's, as far as any machine goes: it makes a cache, or is told that there is no
// GPU.
#include <cstdio>
#include <ptd/cuda.hpp>

int main() {
  const auto cache = ptd::cuda::WeightCache::create();
  if (cache) return cache->counters().storages == 0 ? 0 : 1;
  std::printf("%s\n", cache.error().to_string().c_str());
  return cache.error().code == ptd::ErrorCode::device ? 0 : 1;
}
