// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Memory that the kernels work in. Sizes are in bytes.
#pragma once

#include <ptd/bytes.hpp>
#include <ptd/error.hpp>
#include <span>

#include "cuda/gpu/jobs.hpp"

namespace ptd::cuda::gpu {

/// Memory that a batch of chunks works in, and its caller owns. It is in use from the call that enqueues the
/// batch until the stream has passed it. One for each batch in flight.
struct Workspace {
  std::uint64_t device = 0;  ///< address of the GPU's, at a multiple of 256
  std::uint64_t device_bytes = 0;
  MutableBytes host;  ///< page-locked, at a multiple of 16: kernels read it
};

/// What a workspace must have.
struct WorkspaceNeeds {
  std::uint64_t device_bytes = 0;
  std::uint64_t host_bytes = 0;
};

/// Enough for any batch of so many chunks with so many raw bytes in all, of which so many are of coded
/// chunks: these once again, and less than 256 bytes a chunk and 256 more a MiB.
WorkspaceNeeds workspace_bound(std::uint64_t chunks, std::uint64_t raw_bytes,
                               std::uint64_t coded_bytes) noexcept;
/// What these jobs take.
WorkspaceNeeds workspace_needs(std::span<const ChunkJob> jobs) noexcept;
/// What a list of runs takes.
WorkspaceNeeds leaves_needs(std::size_t runs) noexcept;

/// Error `argument` for a job or a workspace that cannot be.
Result<void> check_batch(std::span<const ChunkJob> jobs, const Workspace& workspace);
Result<void> check_runs(std::span<const LeafRun> runs, const Workspace& workspace);

/// What became of the jobs of the last batch in this workspace, once the stream has passed it.
std::span<const ChunkStatus> statuses(const Workspace& workspace, std::size_t jobs) noexcept;

/// Where jobs, statuses, pieces and planes of a batch lie in its workspace: offsets, in this order. The host
/// has the first two only.
struct WorkspaceParts {
  std::uint64_t jobs = 0;
  std::uint64_t statuses;
  std::uint64_t pieces;
  std::uint64_t planes;

  WorkspaceParts(std::uint64_t count, std::uint64_t piece_count) noexcept;
  explicit WorkspaceParts(std::span<const ChunkJob> of) noexcept;
};

/// Pieces that a chunk is decoded in.
std::uint64_t pieces_of(const ChunkJob& job) noexcept;

/// Copies the jobs to where the GPU will fetch them, with their places in the workspace.
void place_jobs(std::span<const ChunkJob> jobs, const Workspace& workspace) noexcept;
/// The same of runs. Returns the number of their leaves.
std::uint64_t place_runs(std::span<const LeafRun> runs, const Workspace& workspace) noexcept;

}  // namespace ptd::cuda::gpu
