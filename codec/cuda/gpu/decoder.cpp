// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "cuda/gpu/decoder.hpp"

#include <algorithm>

#include "cuda/gpu/module.hpp"
#include "wire/checked.hpp"

namespace ptd::cuda::gpu {
namespace {

constexpr unsigned restore_threads = 128;  // as restore.cuh has it
constexpr unsigned warp_threads = 32;

std::uint32_t most_blocks(std::span<const ChunkJob> jobs) noexcept {
  std::uint64_t most = 0;
  for (const auto& job : jobs) most = std::max(most, pieces_of(job));
  return static_cast<std::uint32_t>(most);
}

unsigned blocks_for(std::uint64_t items, unsigned threads) noexcept {
  return static_cast<unsigned>(wire::divide_up(items, threads));
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
  PTD_TRY(find(fetch_, "ptd_fetch_list"));
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

Result<void> Decoder::launch(CUstream stream, CUfunction function, const Grid& grid, void** arguments,
                             std::string_view doing) const {
  return api_->check(
      api_->cuLaunchKernel(function, grid.x, grid.y, 1, grid.threads, 1, 1, 0, stream, arguments, nullptr),
      doing);
}

Result<void> Decoder::fetch_list(CUstream stream, const Workspace& workspace, std::uint64_t bytes) const {
  auto* list = workspace.host.data();
  auto to = workspace.device;
  auto count = static_cast<std::uint32_t>(bytes / fetch_bytes);
  void* arguments[] = {&list, &to, &count};
  return launch(stream, fetch_, {blocks_for(count, fetch_threads), 1, fetch_threads}, arguments,
                "telling the GPU what to do");
}

Result<void> Decoder::decode_chunks(CUstream stream, std::span<const ChunkJob> jobs,
                                    const Workspace& workspace) const {
  if (jobs.empty()) return {};
  PTD_TRY(check_batch(jobs, workspace));
  place_jobs(jobs, workspace);
  const CurrentContext current(*api_, context_);
  PTD_TRY(api_->check(current.result(), "using the GPU"));
  PTD_TRY(fetch_list(stream, workspace, jobs.size_bytes()));
  const auto chunks = static_cast<unsigned>(jobs.size());
  const auto statuses = WorkspaceParts(chunks, 0).statuses;
  CUdeviceptr device_jobs = workspace.device, device_statuses = workspace.device + statuses;
  const std::uint64_t status_bytes = chunks * sizeof(ChunkStatus);
  void* arguments[] = {&device_jobs, &device_statuses};
  PTD_TRY(api_->check(api_->cuMemsetD8Async(device_statuses, 0, status_bytes, stream),
                      "telling the GPU about chunks"));
  PTD_TRY(
      launch(stream, decode_, {chunks, most_blocks(jobs), warp_threads}, arguments, "decoding on the GPU"));
  PTD_TRY(launch(stream, restore_, {chunks, 1, restore_threads}, arguments, "merging planes on the GPU"));
  return api_->check(
      api_->cuMemcpyDtoHAsync(workspace.host.data() + statuses, device_statuses, status_bytes, stream),
      "fetching what became of chunks");
}

Result<void> Decoder::hash_leaves(CUstream stream, std::span<const LeafRun> runs,
                                  const Workspace& workspace) const {
  if (runs.empty()) return {};
  PTD_TRY(check_runs(runs, workspace));
  auto leaves = place_runs(runs, workspace);
  const CurrentContext current(*api_, context_);
  PTD_TRY(api_->check(current.result(), "using the GPU"));
  PTD_TRY(fetch_list(stream, workspace, runs.size_bytes()));
  CUdeviceptr device_runs = workspace.device;
  auto count = static_cast<std::uint32_t>(runs.size());
  void* arguments[] = {&device_runs, &count, &leaves};
  return launch(stream, hash_, {blocks_for(leaves, warp_threads), 1, warp_threads}, arguments,
                "hashing on the GPU");
}

}  // namespace ptd::cuda::gpu
