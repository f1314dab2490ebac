// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// A view cut into regions that follow one another row-major.
#pragma once

#include <algorithm>
#include <cstdint>
#include <ptd/model.hpp>
#include <ptd/reader.hpp>
#include <span>
#include <vector>

namespace ptd::foreign {

/// Regions of at most `window_bytes`, or of one element. The view has a rank of at least 1, whole bytes for
/// elements, and no size of 0, as every view has that is not contiguous; the tensor must outlive the walk.
class RegionWalk {
 public:
  RegionWalk(const Tensor& tensor, std::uint64_t window_bytes)
      : sizes_(tensor.sizes), split_(sizes_.size() - 1), row_bytes_(dtype_bits(tensor.dtype) / 8) {
    while (split_ > 0 && sizes_[split_] <= window_bytes / row_bytes_) row_bytes_ *= sizes_[split_--];
    rows_ = std::min(std::max<std::uint64_t>(window_bytes / row_bytes_, 1), sizes_[split_]);
    for (std::size_t i = 0; i < sizes_.size(); ++i)
      region_.push_back({0, i < split_ ? 1 : i == split_ ? rows_ : sizes_[i], 1});
  }

  [[nodiscard]] std::span<const Slice> region() const { return region_; }
  [[nodiscard]] std::uint64_t bytes() const { return region_[split_].count() * row_bytes_; }

  /// Moves on; false if this was the last.
  bool next() {
    for (std::size_t i = split_ + 1; i-- > 0;) {
      auto& slice = region_[i];
      const std::uint64_t step = i == split_ ? rows_ : 1;
      const bool moves = slice.stop < sizes_[i];
      const std::uint64_t start = moves ? slice.stop : 0;
      slice = {start, std::min(start + step, sizes_[i]), 1};
      if (moves) return true;
    }
    return false;
  }

 private:
  std::span<const std::uint64_t> sizes_;
  std::size_t split_;        // dimensions before it go one index at a time, those behind it are whole
  std::uint64_t row_bytes_;  // of one index of it
  std::uint64_t rows_ = 0;   // indices of it at a time
  std::vector<Slice> region_;
};

}  // namespace ptd::foreign
