// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// What a Writer has collected so far.
#pragma once

#include <deque>
#include <map>
#include <ptd/writer.hpp>
#include <string_view>
#include <vector>

namespace ptd {

struct Writer::State {
  /// Storages of one key in several methods are one: each set of them is a tree, `parent` leads to its root.
  struct StorageRecord {
    StorageSpec spec;
    std::uint32_t parent = 0;
    std::vector<std::uint32_t> members;  ///< of the set, at its root
    std::uint32_t first_tensor =
        no_index;  ///< the tensor added first, for messages and the choice of encoding
  };
  struct MethodRecord {
    std::string name;
    std::vector<PairSpec> metadata;
    std::vector<std::uint32_t> tensors, libraries, blobs;  ///< numbers in the order bound; may repeat
  };
  using TensorKey = std::pair<OwnerSpec, std::string_view>;

  // Deques, so that names stay where they are: keys look into them.
  std::deque<StorageRecord> storages;
  std::deque<TensorSpec> tensors;
  std::deque<BlobSpec> blobs;
  std::deque<LibrarySpec> libraries;
  std::deque<MethodRecord> methods;
  std::map<std::string, PairSpec> metadata;  ///< by key
  std::map<TensorKey, std::uint32_t> tensor_by_key;
  std::map<std::string_view, std::uint32_t> method_by_name, library_by_name, blob_by_name;

  [[nodiscard]] std::uint32_t root_of(std::uint32_t storage) const {
    while (storages[storage].parent != storage) storage = storages[storage].parent;
    return storage;
  }
};

namespace writer {

/// Views of specs as the model's structs have them, valid as long as the spec.
std::vector<Pair> view_pairs(const std::vector<PairSpec>& pairs);

/// Everything of a tensor but what it refers to.
Tensor view_tensor(const TensorSpec& spec);

}  // namespace writer
}  // namespace ptd
