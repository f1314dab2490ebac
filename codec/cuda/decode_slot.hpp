// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// How large groups of chunks are that a device decodes at once, and what a group in flight needs.
#pragma once

#include "cuda/gpu/workspace.hpp"
#include "cuda/transfer_plan.hpp"

namespace ptd::cuda {

inline constexpr std::size_t slots = std::tuple_size_v<decltype(Staging::places)>;

/// Of one group. A GPU decodes fewer chunks than these hold no faster, and more take memory for nothing:
/// bench/README.md, "Decoding on a GPU".
inline constexpr GroupSize largest_group = {.stored_bytes = std::uint64_t{32} << 20,
                                            .coded_bytes = std::uint64_t{48} << 20,
                                            .raw_bytes = std::uint64_t{96} << 20,
                                            .chunks = 4096};

/// Where the memory of a slot is, on the device and on the host: offsets from its start, aligned to 256.
struct SlotParts {
  std::uint64_t stored = 0;  ///< device only
  std::uint64_t device_jobs = 0, device_runs = 0, device_leaves = 0, device_bytes = 0;
  std::uint64_t host_jobs = 0, host_runs = 0, host_leaves = 0, host_bytes = 0;
};

/// For groups of at most this size.
SlotParts slot_parts(const GroupSize& most, bool hashes_leaves);

}  // namespace ptd::cuda
