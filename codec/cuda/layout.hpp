// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// How a file's storages belong together: what every load of it needs to know, found out once.
#pragma once

#include <cstdint>
#include <ptd/reader.hpp>
#include <vector>

namespace ptd::cuda {

/// A storage, as loads need it.
struct Entry {
  std::uint32_t storage = 0;  ///< index into Model::storages
  /// The first entry that holds the same for ever (content, size and placement are equal and neither is
  /// mutable), so that one memory does for both; mostly itself.
  std::uint32_t twin = 0;
  /// Equal for storages that exactly the same methods use, with the same access and placement. They share an
  /// arena, since they come and go together.
  std::uint32_t group = 0;
  bool is_mutable = false;
  bool is_on_host = false;
  std::uint64_t bytes = 0;
};

struct Layout {
  /// All storages in the order of their bytes in the file, those without any last: loads go through them in
  /// this order, so what they touch lies in memory as they come.
  std::vector<Entry> entries;
  std::vector<std::uint32_t> entry_of_storage;
  std::vector<std::uint32_t> entry_of_tensor;
  std::vector<std::uint32_t> group_sizes;  ///< entries, by group
  bool has_external = false;               ///< true if any storage's bytes come from whoever loads
  bool has_coded = false;                  ///< true if any segment is
};

/// O(n log n) in the storages, O(1) in their bytes.
Layout lay_out(const Reader& file);

}  // namespace ptd::cuda
