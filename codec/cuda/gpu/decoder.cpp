// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "cuda/gpu/decoder.hpp"

#include <algorithm>
#include <cstring>

#include "cuda/gpu/block.hpp"
#include "cuda/gpu/module.hpp"
#include "segment/digest.hpp"

namespace ptd::cuda::gpu {
namespace {

static_assert(gpu_leaf_bytes == segment::leaf_bytes);

constexpr std::uint64_t alignment = 256;
constexpr std::uint64_t planes_alignment = 16;
constexpr unsigned restore_threads = 128;  // as restore.cuh has it
constexpr unsigned warp_threads = 32;

constexpr std::uint64_t aligned(std::uint64_t size, std::uint64_t to) noexcept {
  return (size + to - 1) / to * to;
}

bool is_coded(const ChunkJob& job) noexcept { return job.stored_bytes != job.raw_bytes; }

std::uint64_t pieces_of(const ChunkJob& job) noexcept {
  return Cut(job.raw_bytes, is_coded(job) ? job.width : 1).blocks;
}

/// The parts of a workspace, in this order.
struct Parts {
  std::uint64_t jobs = 0;
  std::uint64_t statuses;
  std::uint64_t pieces;
  std::uint64_t planes;

  Parts(std::uint64_t count, std::uint64_t piece_count) noexcept
      : statuses(aligned(count * sizeof(ChunkJob), alignment)),
        pieces(aligned(statuses + count * sizeof(ChunkStatus), alignment)),
        planes(aligned(pieces + piece_count * sizeof(Piece), alignment)) {}

  /// The host has jobs and statuses only.
  [[nodiscard]] WorkspaceNeeds needs(std::uint64_t plane_bytes) const noexcept {
    return {planes + plane_bytes, pieces};
  }
};

std::uint64_t count_pieces(std::span<const ChunkJob> jobs) noexcept {
  std::uint64_t pieces = 0;
  for (const auto& job : jobs) pieces += pieces_of(job);
  return pieces;
}

Failure bad(std::string_view what) { return fail(ErrorCode::argument, "", std::string(what)); }

Result<void> check_job(const ChunkJob& job) {
  const auto width = job.width;
  if (width != 1 && width != 2 && width != 4 && width != 8) return bad("elements have 1, 2, 4 or 8 bytes");
  if (job.raw_bytes == 0 || job.raw_bytes > max_raw_bytes || job.raw_bytes % width != 0)
    return bad("a chunk has 1 to 16,777,216 raw bytes, a multiple of the elements'");
  if (job.stored_bytes == 0 || job.stored_bytes > job.raw_bytes)
    return bad("a chunk has no more stored bytes than raw ones, and at least one");
  return {};
}

Result<void> check_workspace(const Workspace& workspace, const WorkspaceNeeds& needs) {
  if (workspace.device % alignment != 0 || workspace.device_bytes < needs.device_bytes ||
      workspace.host.size() < needs.host_bytes || !is_aligned(workspace.host.data(), alignof(ChunkJob)))
    return bad("the workspace is too small for the batch, or not aligned");
  return {};
}

std::uint32_t most_blocks(std::span<const ChunkJob> jobs) noexcept {
  std::uint64_t most = 0;
  for (const auto& job : jobs) most = std::max(most, pieces_of(job));
  return static_cast<std::uint32_t>(most);
}

/// Copies the jobs to where the GPU will fetch them, with their places in the workspace.
void place_jobs(std::span<const ChunkJob> jobs, const Parts& parts, const Workspace& workspace) noexcept {
  auto pieces = workspace.device + parts.pieces, planes = workspace.device + parts.planes;
  std::byte* to = workspace.host.data();
  for (auto job : jobs) {
    job.pieces = pieces;
    job.planes = planes;
    pieces += pieces_of(job) * sizeof(Piece);
    if (is_coded(job)) planes += aligned(job.raw_bytes, planes_alignment);
    std::memcpy(to, &job, sizeof job);
    to += sizeof job;
  }
}

}  // namespace

WorkspaceNeeds workspace_bound(std::uint64_t chunks, std::uint64_t raw_bytes) noexcept {
  constexpr std::uint64_t widest = 8;
  const std::uint64_t pieces = chunks * widest + raw_bytes / block_bytes;
  return Parts(chunks, pieces).needs(raw_bytes + chunks * planes_alignment);
}

WorkspaceNeeds workspace_needs(std::span<const ChunkJob> jobs) noexcept {
  std::uint64_t planes = 0;
  for (const auto& job : jobs)
    if (is_coded(job)) planes += aligned(job.raw_bytes, planes_alignment);
  return Parts(jobs.size(), count_pieces(jobs)).needs(planes);
}

WorkspaceNeeds leaves_needs(std::size_t runs) noexcept {
  return {runs * sizeof(LeafRun), runs * sizeof(LeafRun)};
}

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

Result<void> Decoder::enqueue(CUstream stream, std::span<const ChunkJob> jobs,
                              const Workspace& workspace) const {
  if (jobs.empty()) return {};
  for (const auto& job : jobs) PTD_TRY(check_job(job));
  PTD_TRY(check_workspace(workspace, workspace_needs(jobs)));
  const Parts parts(jobs.size(), count_pieces(jobs));
  place_jobs(jobs, parts, workspace);
  const CurrentContext current(*api_, context_);
  PTD_TRY(api_->check(current.result(), "using the GPU"));
  CUdeviceptr device_jobs = workspace.device, device_statuses = workspace.device + parts.statuses;
  const auto count = static_cast<unsigned>(jobs.size());
  const std::uint64_t status_bytes = count * sizeof(ChunkStatus);
  void* arguments[] = {&device_jobs, &device_statuses};
  PTD_TRY(api_->check(
      api_->cuMemcpyHtoDAsync(device_jobs, workspace.host.data(), jobs.size() * sizeof(ChunkJob), stream),
      "telling the GPU about chunks"));
  PTD_TRY(api_->check(api_->cuMemsetD8Async(device_statuses, 0, status_bytes, stream),
                      "telling the GPU about chunks"));
  PTD_TRY(api_->check(api_->cuLaunchKernel(decode_, count, most_blocks(jobs), 1, warp_threads, 1, 1, 0,
                                           stream, arguments, nullptr),
                      "decoding on the GPU"));
  PTD_TRY(api_->check(
      api_->cuLaunchKernel(restore_, count, 1, 1, restore_threads, 1, 1, 0, stream, arguments, nullptr),
      "merging planes on the GPU"));
  return api_->check(
      api_->cuMemcpyDtoHAsync(workspace.host.data() + parts.statuses, device_statuses, status_bytes, stream),
      "fetching what became of chunks");
}

std::span<const ChunkStatus> Decoder::statuses(const Workspace& workspace, std::size_t jobs) noexcept {
  const std::byte* const at = workspace.host.data() + Parts(jobs, 0).statuses;
  return {reinterpret_cast<const ChunkStatus*>(at), jobs};
}

Result<void> Decoder::enqueue_leaves(CUstream stream, std::span<const LeafRun> runs,
                                     const Workspace& workspace) const {
  if (runs.empty()) return {};
  const auto needs = leaves_needs(runs.size());
  PTD_TRY(check_workspace(workspace, needs));
  std::uint64_t leaves = 0;
  std::byte* to = workspace.host.data();
  for (auto run : runs) {
    if (run.size == 0) return bad("a run of leaves has at least a byte");
    run.first_leaf = leaves;
    leaves += (run.size + gpu_leaf_bytes - 1) / gpu_leaf_bytes;
    std::memcpy(to, &run, sizeof run);
    to += sizeof run;
  }
  const CurrentContext current(*api_, context_);
  PTD_TRY(api_->check(current.result(), "using the GPU"));
  CUdeviceptr device_runs = workspace.device;
  auto count = static_cast<std::uint32_t>(runs.size());
  void* arguments[] = {&device_runs, &count, &leaves};
  const auto warps = static_cast<unsigned>((leaves + warp_threads - 1) / warp_threads);
  PTD_TRY(api_->check(api_->cuMemcpyHtoDAsync(device_runs, workspace.host.data(), needs.device_bytes, stream),
                      "telling the GPU about leaves"));
  return api_->check(
      api_->cuLaunchKernel(hash_, warps, 1, 1, warp_threads, 1, 1, 0, stream, arguments, nullptr),
      "hashing on the GPU");
}

}  // namespace ptd::cuda::gpu
