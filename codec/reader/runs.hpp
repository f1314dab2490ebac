// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// A region of a strided view as runs of neighbouring bits.
#pragma once

#include <cstdint>
#include <ptd/model.hpp>
#include <ptd/reader.hpp>
#include <span>
#include <vector>

namespace ptd::reader {

/// `bits` bits from bit `from` of the storage go to bit `to` of the destination.
struct Run {
  std::uint64_t from = 0;
  std::uint64_t to = 0;
  std::uint64_t bits = 0;
};

/// Enumerates a region's runs, walking the storage forwards: the dimension with the smallest stride is
/// the innermost, whatever its place in the tensor. All runs have the same length.
class RunWalk {
 public:
  RunWalk(const Tensor& tensor, std::span<const Slice> region);

  /// The next runs, at most `most`, in `runs` (cleared first), ascending by `from`. False when there are
  /// none.
  bool next(std::vector<Run>& runs, std::size_t most);

 private:
  struct Axis {
    std::uint64_t count, from, to;  // bits between neighbours
    std::uint64_t at = 0;
  };
  void add_axes(const Tensor& tensor, std::span<const Slice> region);
  void join_inner_axes();
  void step();

  std::vector<Axis> axes_;  // innermost first
  Run run_;                 // where the walk stands, and the length of each run
  bool done_ = false;
};

}  // namespace ptd::reader
