// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "support/within_limits.hpp"

#include <algorithm>

#include "support/require.hpp"

namespace ptd::fuzz {
namespace {

constexpr std::size_t max_name_bytes = 1024;
constexpr std::size_t max_rank = 64;
constexpr std::size_t max_value_bytes = std::size_t{16} << 20;

void require_name(std::string_view name) {
  require(!name.empty() && name.size() <= max_name_bytes, "names have 1 to 1024 bytes");
}

void require_optional_name(std::string_view name) {
  if (!name.empty()) require_name(name);
}

void require_pairs(const std::vector<Pair>& pairs) {
  for (const auto& pair : pairs) {
    require_name(pair.key);
    require(pair.value.size() <= max_value_bytes, "metadata values have at most 16 MiB");
  }
}

/// Whether so many elements fit in `room`, and takes them from it. Never multiplies: nothing can overflow.
bool spend(std::uint64_t& room, std::uint64_t count, std::uint64_t stride) {
  if (count == 0 || stride == 0) return true;
  if (stride > room / count) return false;
  room -= count * stride;
  return true;
}

bool lies_in(const Tensor& tensor, std::uint64_t storage_bytes) {
  std::uint64_t room = storage_bytes * 8 / dtype_bits(tensor.dtype);
  if (!spend(room, 1, tensor.storage_offset)) return false;
  if (std::ranges::find(tensor.sizes, 0U) != tensor.sizes.end()) return true;
  if (!spend(room, 1, 1)) return false;
  for (std::size_t i = 0; i < tensor.sizes.size(); ++i)
    if (!spend(room, tensor.sizes[i] - 1, tensor.strides[i])) return false;
  return true;
}

void require_tensor(const Model& model, const Tensor& tensor) {
  require_name(tensor.name);
  require_optional_name(tensor.scheme);
  require_pairs(tensor.metadata);
  require(tensor.sizes.size() == tensor.strides.size(), "a stride for each size");
  require(tensor.sizes.size() <= max_rank && tensor.logical_sizes.size() <= max_rank,
          "tensors have at most 64 dimensions");
  require(lies_in(tensor, model.storages[tensor.storage].size), "a view lies in its storage");
}

void require_library(const Library& library) {
  require_name(library.name);
  require_pairs(library.metadata);
  for (const auto& variant : library.variants) require_optional_name(variant.target);
}

void require_method(const Method& method) {
  require_name(method.name);
  require_pairs(method.metadata);
}

void require_blob(const Blob& blob) {
  require_name(blob.name);
  require_optional_name(blob.media_type);
  require_pairs(blob.metadata);
}

}  // namespace

void require_within_limits(const Model& model) {
  for (const auto& tensor : model.tensors) require_tensor(model, tensor);
  for (const auto& library : model.libraries) require_library(library);
  for (const auto& method : model.methods) require_method(method);
  for (const auto& blob : model.blobs) require_blob(blob);
  require_pairs(model.metadata);
}

}  // namespace ptd::fuzz
