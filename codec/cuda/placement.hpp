// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Where each storage of a load goes, and in what pieces its bytes come.
#pragma once

#include <ptd/reader.hpp>
#include <vector>

#include "cuda/memory.hpp"

namespace ptd::cuda {

/// A storage to be brought.
struct Wanted {
  std::uint32_t storage = 0;  ///< index into Model::storages
  std::byte* address = nullptr;
  bool is_padded =
      true;  ///< what lies behind it up to a multiple of 256 bytes is nobody's, and may be overwritten
};

inline constexpr std::uint64_t storage_alignment = 256;
inline constexpr std::uint64_t readable_past_end = 256;

/// Storages that are used by exactly the same methods, in the order of their bytes in the file (those without
/// any last). They share an arena, since they come and go together.
struct Group {
  std::vector<std::uint32_t> storages;
  std::vector<std::uint64_t> offsets;  ///< in the arena, aligned to 256 bytes
  std::uint64_t bytes = 0;             ///< of the arena, with what is readable past its last storage
  bool is_on_host = false;
};

/// Groups storages. Mutable ones never share an arena with immutable ones, nor those for host memory with
/// others. Linear but for sorting. Error `no_memory` if they are larger than 64 bits count.
Result<std::vector<Group>> group_storages(const Reader& file, const std::vector<std::uint32_t>& storages);

/// One copy to the device.
struct Copy {
  std::uint64_t in_buffer = 0;
  std::byte* device = nullptr;
  std::uint64_t bytes = 0;
};

/// A run of content that one thread brings into a buffer.
struct Fill {
  std::uint32_t item = 0;  ///< of TransferPlan::contents
  std::uint64_t begin =
      0;  ///< raw bytes of the content, on a chunk's boundary unless chunks are larger than buffers
  std::uint64_t bytes = 0;
  std::uint64_t in_buffer = 0;
};

/// Bytes of a buffer that are copied but come from nowhere: tails of storages and what alignment leaves.
struct Blank {
  std::uint64_t in_buffer = 0;
  std::uint64_t bytes = 0;
};

/// A range of one of the lists of a plan.
struct Range {
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// What one thread does at once, about part_bytes.
struct Task {
  Range fills;
  std::size_t batch = 0;
};

/// One buffer's worth.
struct Batch {
  Range tasks;
  Range copies;
  Range blanks;
};

struct Zeros {
  std::byte* device = nullptr;
  std::uint64_t bytes = 0;
};

/// The whole work of a load on one device, in file order.
struct TransferPlan {
  std::vector<std::uint32_t> contents;  ///< those that are brought, as often as they are
  std::vector<Fill> fills;
  std::vector<Task> tasks;
  std::vector<Copy> copies;
  std::vector<Blank> blanks;
  std::vector<Batch> batches;
  std::vector<Zeros> zeros;  ///< set on the device
  std::uint64_t content_bytes = 0;
  std::uint64_t zero_bytes = 0;
};

/// Cuts the work into buffers of buffer_bytes and tasks of about part_bytes. Storages whose addresses follow
/// each other closely become one copy. `wanted` is in the order in which the bytes are to come.
TransferPlan plan_transfer(const Reader& file, const std::vector<Wanted>& wanted, std::uint64_t buffer_bytes,
                           std::uint64_t part_bytes);

}  // namespace ptd::cuda
