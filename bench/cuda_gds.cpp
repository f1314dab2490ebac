// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "cuda_gds.hpp"

#include "cuda/gds.hpp"

namespace ptd::bench {
namespace {

struct Block {
  std::uint64_t in_file = 0, in_memory = 0, bytes = 0;
};

std::vector<Block> blocks_of(const std::vector<Range>& ranges) {
  constexpr std::uint64_t most = std::uint64_t{4} << 20;
  std::vector<Block> blocks;
  std::uint64_t in_memory = 0;
  for (const auto& range : ranges)
    for (auto at = range.begin; at < range.end; at += most) {
      const auto bytes = std::min(most, range.end - at);
      blocks.push_back({at, in_memory, bytes});
      in_memory += bytes;
    }
  return blocks;
}

}  // namespace

void read_with_gds(const std::filesystem::path& path, const std::vector<Range>& ranges,
                   const DeviceMemory& memory) {
  constexpr unsigned threads = 16;
  const auto file = need(cuda::GdsFile::open(path));
  const auto blocks = blocks_of(ranges);
  auto* const base = static_cast<std::byte*>(memory.get());
  parallel(blocks.size(), threads, [&](std::uint64_t i) {
    thread_local const bool has_device = (need_gpu(), true);
    static_cast<void>(has_device);
    const auto& block = blocks[i];
    need(file.read(base + block.in_memory, block.bytes, block.in_file));
  });
  cuda_check(cudaDeviceSynchronize(), "reading with cuFile");
}

}  // namespace ptd::bench
