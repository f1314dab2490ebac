// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "cuda/decode_slot.hpp"

#include "cuda/memory.hpp"
#include "segment/digest.hpp"
#include "wire/checked.hpp"

namespace ptd::cuda {
namespace {

constexpr std::uint64_t gpu_word = 4;  // that the decoder reads at once, also at the end

std::uint64_t aligned(std::uint64_t bytes) {
  return wire::divide_up(bytes, storage_alignment) * storage_alignment;
}

/// The last leaf of a run may be a short one, and there is a run a chunk at most.
std::uint64_t most_leaves(const GroupSize& most) {
  return most.raw_bytes / segment::leaf_bytes + most.chunks;
}

}  // namespace

SlotParts slot_parts(const GroupSize& most, bool hashes_leaves) {
  SlotParts parts;
  const auto jobs = gpu::workspace_bound(most.chunks, most.raw_bytes, most.coded_bytes);
  const auto runs = gpu::leaves_needs(hashes_leaves ? most.chunks : 0);
  const auto leaves = hashes_leaves ? most_leaves(most) * sizeof(Digest) : 0;
  parts.device_jobs = aligned(most.stored_bytes > 0 ? most.stored_bytes + gpu_word : 0);
  parts.device_runs = parts.device_jobs + aligned(jobs.device_bytes);
  parts.device_leaves = parts.device_runs + aligned(runs.device_bytes);
  parts.device_bytes = parts.device_leaves + aligned(leaves);
  parts.host_runs = aligned(jobs.host_bytes);
  parts.host_leaves = parts.host_runs + aligned(runs.host_bytes);
  parts.host_bytes = parts.host_leaves + aligned(leaves);
  return parts;
}

}  // namespace ptd::cuda
