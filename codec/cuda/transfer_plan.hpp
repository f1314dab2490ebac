// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// In what pieces the bytes of a load come: planned buffer by buffer, while earlier ones already move.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <ptd/reader.hpp>
#include <span>
#include <vector>

#include "cuda/table_store.hpp"

namespace ptd::cuda {

/// Memory of a device. It may still be being allocated while what goes there is planned and read; whoever
/// needs the address has to wait.
struct Room {
  std::byte* base = nullptr;
};

/// A place in it.
struct Destination {
  const Room* room = nullptr;
  std::uint64_t offset = 0;

  [[nodiscard]] Destination plus(std::uint64_t bytes) const noexcept { return {room, offset + bytes}; }
  /// Once there is memory.
  [[nodiscard]] std::byte* address() const noexcept { return room->base + offset; }
};

/// A storage to be brought, or a part of its content.
struct Wanted {
  std::uint32_t storage = 0;  ///< index into Model::storages
  Destination to;
  bool is_padded =
      true;  ///< what lies behind it up to a multiple of 256 bytes is nobody's, and may be overwritten
  std::uint64_t begin = 0;  ///< of the content; a part begins with a chunk
  std::uint64_t bytes = all_bytes;

  static constexpr std::uint64_t all_bytes = ~std::uint64_t{0};
  [[nodiscard]] bool is_whole() const noexcept { return bytes == all_bytes; }
};

/// One copy to the device.
struct Copy {
  std::uint64_t in_buffer = 0;
  Destination to;
  std::uint64_t bytes = 0;

  [[nodiscard]] Destination end() const noexcept { return to.plus(bytes); }
};

/// A run of content that one thread brings into a buffer: as raw bytes or, to be decoded on the device, as
/// the stored ones of whole chunks.
struct Fill {
  std::uint32_t content = 0;  ///< index into Model::contents
  std::uint32_t wanted = 0;   ///< index of what it is brought for
  std::uint64_t begin =
      0;  ///< raw bytes of the content, on a chunk's boundary unless chunks are larger than buffers
  std::uint64_t bytes = 0;
  std::uint64_t in_buffer = 0;
  std::uint64_t stored_begin = 0;  ///< from the segment's start
  std::uint64_t stored_bytes = 0;  ///< 0: the raw bytes come
  Destination to;                  ///< where what is in the buffer comes
  std::uint64_t chunks = 0;        ///< that are to be decoded or checked on the device
  std::uint64_t first_job = 0;     ///< of these, the first one's number in the group

  [[nodiscard]] bool is_stored() const noexcept { return stored_bytes > 0; }
  [[nodiscard]] std::uint64_t buffer_bytes() const noexcept { return is_stored() ? stored_bytes : bytes; }
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
  std::uint64_t group = 0;  ///< that the device decodes and checks at once
  std::vector<Fill> fills;
  std::vector<Task> tasks;
  std::vector<Copy> copies;
  std::vector<Blank> blanks;
  std::uint64_t content_bytes = 0;
};

using BatchPtr = std::shared_ptr<const Batch>;

struct Zeros {
  Destination to;
  std::uint64_t bytes = 0;

  [[nodiscard]] Destination end() const noexcept { return to.plus(bytes); }
};

/// An amount of work for the device.
struct GroupSize {
  std::uint64_t stored_bytes = 0;  ///< of chunks that are decoded
  std::uint64_t coded_bytes = 0;   ///< that they become
  std::uint64_t raw_bytes = 0;     ///< of all chunks
  std::uint64_t chunks = 0;

  friend bool operator==(const GroupSize&, const GroupSize&) = default;
};

/// Where stored bytes wait to be decoded: groups take the places in turn.
struct Staging {
  std::array<Room, 3> places;  ///< each for the stored bytes of a group
  GroupSize most;              ///< of one group
  bool checks = true;          ///< chunks that come raw are checked there, too
};

/// The rest of what is wanted of a content.
struct Left {
  std::uint32_t wanted = 0;  ///< its index
  std::uint64_t first_chunk = 0;
};

/// Cuts the work of a load on one device into buffers of buffer_bytes and tasks of about part_bytes. Storages
/// whose addresses follow each other closely become one copy.
class Planner {
 public:
  struct Sizes {
    std::uint64_t buffer_bytes = 0;
    std::uint64_t part_bytes = 0;
  };

  /// Everything comes raw. `wanted` is in the order in which the bytes are to come, and outlives the planner.
  Planner(const Reader& file, std::span<const Wanted> wanted, const Sizes& sizes)
      : file_(file), wanted_(wanted), sizes_(sizes) {}

  /// Chunks are decoded and checked on the device.
  Planner(const Reader& file, std::span<const Wanted> wanted, const Sizes& sizes, const Staging& staging,
          TableStore& tables, const ByteSource& source)
      : file_(file), wanted_(wanted), sizes_(sizes), staging_(&staging), tables_(&tables), source_(&source) {}

  /// Null after the last one. Linear in what it holds. Errors: those of chunk tables.
  Result<BatchPtr> next();

  /// What is not copied but set on the device; all of it after the last batch.
  [[nodiscard]] const std::vector<Zeros>& zeros() const noexcept { return zeros_; }
  /// Of zeros and blanks, those that belong to storages.
  [[nodiscard]] std::uint64_t zero_bytes() const noexcept { return zero_bytes_; }

  /// Leaves what is coded and not yet planned to the host: the device does not take this file's frames. Any
  /// thread.
  void leave_coded() noexcept { leaves_coded_ = true; }
  /// What is left to the host; all of it after the last batch.
  [[nodiscard]] const std::vector<Left>& left() const noexcept { return left_; }

 private:
  enum class Way : std::uint8_t { raw, stored, left };

  /// The storage at hand.
  struct Current {
    std::uint64_t end = 0;   ///< of what is wanted of its content
    std::uint64_t done = 0;  ///< of the content
    std::uint64_t part = 0;  ///< of it that is a fill
    Way way = Way::raw;
    bool may_fill_gap = true;  ///< before it
    std::uint64_t run = 0;     ///< copies of one run may be joined
    const Segment* segment = nullptr;
  };

  void begin();
  void leave_rest();
  [[nodiscard]] Way way_of(const Segment& segment) const;
  Result<bool> add_content();
  Result<bool> add_next();
  Result<Fill> next_fill();
  Fill next_raw() const;
  Result<Fill> next_stored();
  void add_tail();
  void add(const Fill& fill);
  bool add_copy(const Destination& to, std::uint64_t bytes);
  void add_zeros(const Destination& to, std::uint64_t bytes);
  void extend(std::uint64_t bytes);
  void close_task();
  bool add_to_group(const Fill& fill);
  [[nodiscard]] bool has_room_for_another() const;
  [[nodiscard]] std::uint64_t part_of(std::uint64_t chunk) const;
  [[nodiscard]] std::uint64_t next_place() const;
  [[nodiscard]] bool follows(const Destination& place) const;

  const Reader& file_;
  const std::span<const Wanted> wanted_;
  const Sizes sizes_;
  const Staging* const staging_ = nullptr;
  TableStore* const tables_ = nullptr;
  const ByteSource* const source_ = nullptr;

  std::size_t at_ = 0;  ///< in wanted
  bool has_begun_ = false;
  Current current_;
  std::uint64_t raw_runs_ = 0;
  std::atomic<bool> leaves_coded_ = false;
  std::vector<Left> left_;

  std::uint64_t group_ = 0;
  GroupSize group_size_;
  bool group_is_full_ = false;

  std::shared_ptr<Batch> batch_;
  std::uint64_t used_ = 0;  ///< of the batch's buffer
  std::uint64_t last_run_ = 0;
  std::size_t first_fill_ = 0;
  std::uint64_t task_bytes_ = 0;

  std::vector<Zeros> zeros_;
  std::uint64_t zero_bytes_ = 0;
};

/// Bytes of content that are to come.
std::uint64_t content_bytes(const Reader& file, std::span<const Wanted> wanted);

/// What the device would have to do in a group: all that is wanted in chunks of at most buffer_bytes, but no
/// more than `most`. O(1) for many storages; `has_coded` says whether any segment of the file is.
GroupSize first_group(const Reader& file, std::span<const Wanted> wanted, std::uint64_t buffer_bytes,
                      const GroupSize& most, bool has_coded);

}  // namespace ptd::cuda
