// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// How a file's storages belong together: what every load of it needs to know, found out once.
#pragma once

#include <cstdint>
#include <ptd/reader.hpp>
#include <vector>

namespace ptd::cuda {

struct Layout {
  /// All storages in the order of their bytes in the file; those without any last.
  std::vector<std::uint32_t> order;

  /// By storage: a number that is equal for storages that exactly the same methods use, with the same access
  /// and placement. They share an arena, since they come and go together.
  std::vector<std::uint32_t> group;
  std::uint32_t groups = 0;

  /// By storage: the first one that holds the same for ever (content, size and placement are equal and
  /// neither is mutable), so that one memory does for both; mostly itself.
  std::vector<std::uint32_t> twin;

  bool is_coded = false;  ///< true if any of the file's bytes have to be decoded
};

/// O(n log n) in the storages, O(1) in their bytes.
Layout lay_out(const Reader& file);

}  // namespace ptd::cuda
