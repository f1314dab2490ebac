// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// In what pieces the bytes of a load come: planned buffer by buffer, while earlier ones already move.
#pragma once

#include <memory>
#include <ptd/reader.hpp>
#include <span>
#include <vector>

namespace ptd::cuda {

/// A storage to be brought.
struct Wanted {
  std::uint32_t storage = 0;  ///< index into Model::storages
  std::byte* address = nullptr;
  bool is_padded =
      true;  ///< what lies behind it up to a multiple of 256 bytes is nobody's, and may be overwritten
};

/// One copy to the device.
struct Copy {
  std::uint64_t in_buffer = 0;
  std::byte* device = nullptr;
  std::uint64_t bytes = 0;
};

/// A run of content that one thread brings into a buffer.
struct Fill {
  std::uint32_t content = 0;  ///< index into Model::contents
  std::uint32_t wanted = 0;   ///< index of what it is brought for
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

/// What one thread does at once, about part_bytes: fills [begin, end) of a batch.
struct Task {
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// One buffer's worth; at least one task.
struct Batch {
  std::vector<Fill> fills;
  std::vector<Task> tasks;
  std::vector<Copy> copies;
  std::vector<Blank> blanks;
  std::uint64_t content_bytes = 0;
};

struct Zeros {
  std::byte* device = nullptr;
  std::uint64_t bytes = 0;
};

/// Cuts the work of a load on one device into buffers of buffer_bytes and tasks of about part_bytes. Storages
/// whose addresses follow each other closely become one copy.
class Planner {
 public:
  /// `wanted` is in the order in which the bytes are to come, and outlives the planner.
  Planner(const Reader& file, std::span<const Wanted> wanted, std::uint64_t buffer_bytes,
          std::uint64_t part_bytes)
      : file_(file), wanted_(wanted), buffer_bytes_(buffer_bytes), part_bytes_(part_bytes) {}

  /// Null after the last one. Linear in what it holds.
  std::unique_ptr<Batch> next();

  /// What is not copied but set on the device; all of it after the last batch.
  [[nodiscard]] const std::vector<Zeros>& zeros() const noexcept { return zeros_; }
  /// Of zeros and blanks, those that belong to storages.
  [[nodiscard]] std::uint64_t zero_bytes() const noexcept { return zero_bytes_; }

 private:
  /// The storage at hand.
  struct Current {
    std::uint64_t size = 0;    ///< of its content
    std::uint64_t part = 0;    ///< of it that is a fill
    std::uint64_t done = 0;    ///< of the content
    bool may_fill_gap = true;  ///< before it
  };

  void begin();
  bool add_content();
  void add_tail();
  void add_fill(std::uint64_t bytes, std::uint64_t in_buffer);
  bool add_room(std::byte* address, std::uint64_t bytes);
  void add_zeros(std::byte* address, std::uint64_t bytes);
  void extend(std::uint64_t bytes);
  void close_task();
  [[nodiscard]] std::uint64_t part_of(std::uint64_t chunk) const;
  [[nodiscard]] std::uint64_t next_place() const;
  [[nodiscard]] bool follows(const std::byte* address) const;

  const Reader& file_;
  const std::span<const Wanted> wanted_;
  const std::uint64_t buffer_bytes_;
  const std::uint64_t part_bytes_;

  std::size_t at_ = 0;  ///< in wanted
  bool has_begun_ = false;
  Current current_;

  std::unique_ptr<Batch> batch_;
  std::uint64_t used_ = 0;  ///< of the batch's buffer
  std::size_t first_fill_ = 0;
  std::uint64_t task_bytes_ = 0;

  std::vector<Zeros> zeros_;
  std::uint64_t zero_bytes_ = 0;
};

/// Bytes of content that are to come.
std::uint64_t content_bytes(const Reader& file, std::span<const Wanted> wanted);

}  // namespace ptd::cuda
