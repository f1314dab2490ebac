// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "cuda/gpu/workspace.hpp"

#include <cstring>

#include "cuda/gpu/block.hpp"
#include "segment/digest.hpp"

namespace ptd::cuda::gpu {
namespace {

static_assert(gpu_leaf_bytes == segment::leaf_bytes);

constexpr std::uint64_t alignment = 256;
constexpr std::uint64_t planes_alignment = 16;

constexpr std::uint64_t aligned(std::uint64_t size, std::uint64_t to) noexcept {
  return (size + to - 1) / to * to;
}

bool is_coded(const ChunkJob& job) noexcept { return job.stored_bytes != job.raw_bytes; }

std::uint64_t count_pieces(std::span<const ChunkJob> jobs) noexcept {
  std::uint64_t pieces = 0;
  for (const auto& job : jobs) pieces += pieces_of(job);
  return pieces;
}

/// The host has jobs and statuses only.
WorkspaceNeeds needs_of(const WorkspaceParts& parts, std::uint64_t plane_bytes) noexcept {
  return {parts.planes + plane_bytes, parts.pieces};
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
      workspace.host.size() < needs.host_bytes || !is_aligned(workspace.host.data(), fetch_bytes))
    return bad("the workspace is too small for the batch, or not aligned");
  return {};
}

}  // namespace

std::uint64_t pieces_of(const ChunkJob& job) noexcept {
  return Cut(job.raw_bytes, is_coded(job) ? job.width : 1).blocks;
}

WorkspaceParts::WorkspaceParts(std::uint64_t count, std::uint64_t piece_count) noexcept
    : statuses(aligned(count * sizeof(ChunkJob), alignment)),
      pieces(aligned(statuses + count * sizeof(ChunkStatus), alignment)),
      planes(aligned(pieces + piece_count * sizeof(Piece), alignment)) {}

WorkspaceParts::WorkspaceParts(std::span<const ChunkJob> of) noexcept
    : WorkspaceParts(of.size(), count_pieces(of)) {}

WorkspaceNeeds workspace_bound(std::uint64_t chunks, std::uint64_t raw_bytes,
                               std::uint64_t coded_bytes) noexcept {
  constexpr std::uint64_t widest = 8;
  const std::uint64_t pieces = chunks * widest + raw_bytes / block_bytes;
  return needs_of({chunks, pieces}, coded_bytes + chunks * planes_alignment);
}

WorkspaceNeeds workspace_needs(std::span<const ChunkJob> jobs) noexcept {
  std::uint64_t planes = 0;
  for (const auto& job : jobs)
    if (is_coded(job)) planes += aligned(job.raw_bytes, planes_alignment);
  return needs_of(WorkspaceParts(jobs), planes);
}

WorkspaceNeeds leaves_needs(std::size_t runs) noexcept {
  return {runs * sizeof(LeafRun), runs * sizeof(LeafRun)};
}

Result<void> check_batch(std::span<const ChunkJob> jobs, const Workspace& workspace) {
  for (const auto& job : jobs) PTD_TRY(check_job(job));
  return check_workspace(workspace, workspace_needs(jobs));
}

Result<void> check_runs(std::span<const LeafRun> runs, const Workspace& workspace) {
  for (const auto& run : runs)
    if (run.size == 0) return bad("a run of leaves has at least a byte");
  return check_workspace(workspace, leaves_needs(runs.size()));
}

std::span<const ChunkStatus> statuses(const Workspace& workspace, std::size_t jobs) noexcept {
  const std::byte* const at = workspace.host.data() + WorkspaceParts(jobs, 0).statuses;
  return {reinterpret_cast<const ChunkStatus*>(at), jobs};
}

void place_jobs(std::span<const ChunkJob> jobs, const Workspace& workspace) noexcept {
  const WorkspaceParts parts(jobs);
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

std::uint64_t place_runs(std::span<const LeafRun> runs, const Workspace& workspace) noexcept {
  std::uint64_t leaves = 0;
  std::byte* to = workspace.host.data();
  for (auto run : runs) {
    run.first_leaf = leaves;
    leaves += (run.size + gpu_leaf_bytes - 1) / gpu_leaf_bytes;
    std::memcpy(to, &run, sizeof run);
    to += sizeof run;
  }
  return leaves;
}

}  // namespace ptd::cuda::gpu
