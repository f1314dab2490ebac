// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// The kernels. Their names and parameters are known to decoder.cpp, which finds them by name.
#include "cuda/gpu/block.hpp"
#include "cuda/gpu/jobs.hpp"
#include "cuda/gpu/leaves.cuh"
#include "cuda/gpu/restore.cuh"
#include "cuda/gpu/warp.cuh"

namespace ptd::cuda::gpu {
namespace {

// A warp for each block of a frame: blocks are independent, so that a chunk's planes are decoded side by side.
__device__ void decode(const ChunkJob& job, std::uint32_t index, std::uint32_t* status, Room& room) {
  auto* const pieces = reinterpret_cast<Piece*>(job.pieces);
  const auto* const stored = reinterpret_cast<const std::uint8_t*>(job.stored);
  if (job.stored_bytes == job.raw_bytes) {
    for (std::uint32_t i = Warp::rank(); index == 0 && i * block_bytes < job.raw_bytes; i += Warp::size())
      pieces[i] = {stored + i * block_bytes, 0};
    return;
  }
  if (index >= Cut(job.raw_bytes, job.width).blocks) return;
  const FrameView frame{{stored, stored + job.stored_bytes}, job.raw_bytes, job.width};
  Piece piece{};
  const Verdict verdict =
      decode_block(Warp{}, frame, index, room, reinterpret_cast<std::uint8_t*>(job.planes), piece);
  if (Warp::rank() != 0) return;
  if (verdict == Verdict::ok)
    pieces[index] = piece;
  else
    atomicMax(status, static_cast<std::uint32_t>(verdict));
}

}  // namespace
}  // namespace ptd::cuda::gpu

extern "C" {

// From page-locked memory of the host. A copy would have to wait its turn among the copies of stored bytes.
__global__ void __launch_bounds__(ptd::cuda::gpu::fetch_threads)
    ptd_fetch_list(const uint4* list, uint4* to, std::uint32_t count) {
  const std::uint32_t i = blockIdx.x * ptd::cuda::gpu::fetch_threads + threadIdx.x;
  if (i < count) to[i] = list[i];
}

__global__ void __launch_bounds__(32)
    ptd_decode_blocks(const ptd::cuda::gpu::ChunkJob* jobs, std::uint32_t* statuses) {
  __shared__ ptd::cuda::gpu::Room room;
  ptd::cuda::gpu::decode(jobs[blockIdx.x], blockIdx.y, statuses + blockIdx.x, room);
}

__global__ void __launch_bounds__(ptd::cuda::gpu::restore_threads)
    ptd_restore_chunks(const ptd::cuda::gpu::ChunkJob* jobs, std::uint32_t* statuses) {
  using namespace ptd::cuda::gpu;
  __shared__ RoundSums sums;
  const ChunkJob job = jobs[blockIdx.x];
  if (statuses[blockIdx.x] != 0) return;
  const std::uint64_t hash = restore_any(job, sums);
  if (threadIdx.x == 0 && hash != job.hash)
    statuses[blockIdx.x] = static_cast<std::uint32_t>(ChunkStatus::wrong_hash);
}

__global__ void __launch_bounds__(32)
    ptd_hash_leaves(const ptd::cuda::gpu::LeafRun* runs, std::uint32_t count, std::uint64_t leaves) {
  using namespace ptd::cuda::gpu;
  __shared__ Stage stage;
  const std::uint64_t number = std::uint64_t{blockIdx.x} * 32 + threadIdx.x;
  hash_leaves(number < leaves ? find_leaf(runs, count, number) : Leaf{}, stage);
}
}
