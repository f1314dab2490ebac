// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// A file's chunk tables, for all its loads.
#pragma once

#include <array>
#include <atomic>
#include <mutex>
#include <vector>

#include "reader/table.hpp"

namespace ptd::cuda {

/// Keeps the tables that were read, up to a bounded number of chunks in all. Thread-safe.
class TableStore {
 public:
  explicit TableStore(std::size_t contents) : tables_(contents) {}

  /// The table of a content's segment, checked. Whoever asks first reads it: so where there are very many,
  /// that goes on while bytes move.
  Result<reader::TablePtr> get(std::uint32_t content, const ByteSource& source, const Segment& segment,
                               std::uint64_t raw_size);

  /// True if nothing has to be read for it.
  [[nodiscard]] bool has(std::uint32_t content);

 private:
  [[nodiscard]] std::mutex& mutex_of(std::uint32_t content) { return mutexes_[content % mutexes_.size()]; }

  std::array<std::mutex, 64> mutexes_;  ///< each for the tables that its number divides
  std::vector<reader::TablePtr> tables_;
  std::atomic<std::uint64_t> chunks_ = 0;
};

}  // namespace ptd::cuda
