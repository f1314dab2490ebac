// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "cuda/gpu/decoder.hpp"

#include <algorithm>

#include "cuda/gpu/module.hpp"

namespace ptd::cuda::gpu {
namespace {

constexpr unsigned restore_threads = 128;  // as restore.cuh has it
constexpr unsigned warp_threads = 32;

std::uint32_t most_blocks(std::span<const ChunkJob> jobs) noexcept {
  std::uint64_t most = 0;
  for (const auto& job : jobs) most = std::max(most, pieces_of(job));
  return static_cast<std::uint32_t>(most);
}

}  // namespace

Result<std::shared_ptr<const Decoder>> Decoder::create(CudaApiPtr api, CUcontext context) {
  auto made = std::shared_ptr<Decoder>(new Decoder(std::move(api), context));
  PTD_TRY(made->load());
  return made;
}

Result<void> Decoder::load() {
  const Bytes image = module_image();
  if (image.empty()) return fail(ErrorCode::device, "", "this build of ptd has no kernels for GPUs");
  const CurrentContext current(*api_, context_);
  PTD_TRY(api_->check(current.result(), "using the GPU"));
  PTD_TRY(api_->check(api_->cuModuleLoadData(&module_, image.data()), "loading kernels"));
  PTD_TRY(find(decode_, "ptd_decode_blocks"));
  PTD_TRY(find(restore_, "ptd_restore_chunks"));
  return find(hash_, "ptd_hash_leaves");
}

Result<void> Decoder::find(CUfunction& function, const char* name) const {
  return api_->check(api_->cuModuleGetFunction(&function, module_, name), "finding a kernel");
}

Decoder::~Decoder() {
  if (module_ == nullptr) return;
  const CurrentContext current(*api_, context_);
  api_->cuModuleUnload(module_);
}

Result<ChunkBatch> Decoder::tell_chunks(CUstream stream, std::span<const ChunkJob> jobs,
                                        const Workspace& workspace) const {
  if (jobs.empty()) return ChunkBatch{};
  PTD_TRY(check_batch(jobs, workspace));
  place_jobs(jobs, workspace);
  const CurrentContext current(*api_, context_);
  PTD_TRY(api_->check(current.result(), "using the GPU"));
  PTD_TRY(
      api_->check(api_->cuMemcpyHtoDAsync(workspace.device, workspace.host.data(), jobs.size_bytes(), stream),
                  "telling the GPU about chunks"));
  return ChunkBatch{static_cast<std::uint32_t>(jobs.size()), most_blocks(jobs)};
}

Result<void> Decoder::decode_chunks(CUstream stream, const ChunkBatch& batch,
                                    const Workspace& workspace) const {
  if (batch.chunks == 0) return {};
  const CurrentContext current(*api_, context_);
  PTD_TRY(api_->check(current.result(), "using the GPU"));
  const auto statuses = WorkspaceParts(batch.chunks, 0).statuses;
  CUdeviceptr device_jobs = workspace.device, device_statuses = workspace.device + statuses;
  const std::uint64_t status_bytes = batch.chunks * sizeof(ChunkStatus);
  void* arguments[] = {&device_jobs, &device_statuses};
  PTD_TRY(api_->check(api_->cuMemsetD8Async(device_statuses, 0, status_bytes, stream),
                      "telling the GPU about chunks"));
  PTD_TRY(api_->check(api_->cuLaunchKernel(decode_, batch.chunks, batch.most_blocks, 1, warp_threads, 1, 1, 0,
                                           stream, arguments, nullptr),
                      "decoding on the GPU"));
  PTD_TRY(api_->check(api_->cuLaunchKernel(restore_, batch.chunks, 1, 1, restore_threads, 1, 1, 0, stream,
                                           arguments, nullptr),
                      "merging planes on the GPU"));
  return api_->check(
      api_->cuMemcpyDtoHAsync(workspace.host.data() + statuses, device_statuses, status_bytes, stream),
      "fetching what became of chunks");
}

Result<LeafBatch> Decoder::tell_leaves(CUstream stream, std::span<const LeafRun> runs,
                                       const Workspace& workspace) const {
  if (runs.empty()) return LeafBatch{};
  PTD_TRY(check_runs(runs, workspace));
  const LeafBatch batch{static_cast<std::uint32_t>(runs.size()), place_runs(runs, workspace)};
  const CurrentContext current(*api_, context_);
  PTD_TRY(api_->check(current.result(), "using the GPU"));
  PTD_TRY(
      api_->check(api_->cuMemcpyHtoDAsync(workspace.device, workspace.host.data(), runs.size_bytes(), stream),
                  "telling the GPU about leaves"));
  return batch;
}

Result<void> Decoder::hash_leaves(CUstream stream, const LeafBatch& batch, const Workspace& workspace) const {
  if (batch.runs == 0) return {};
  const CurrentContext current(*api_, context_);
  PTD_TRY(api_->check(current.result(), "using the GPU"));
  CUdeviceptr device_runs = workspace.device;
  auto [count, leaves] = batch;
  void* arguments[] = {&device_runs, &count, &leaves};
  const auto warps = static_cast<unsigned>((leaves + warp_threads - 1) / warp_threads);
  return api_->check(
      api_->cuLaunchKernel(hash_, warps, 1, 1, warp_threads, 1, 1, 0, stream, arguments, nullptr),
      "hashing on the GPU");
}

}  // namespace ptd::cuda::gpu
