// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "foreign/named_tensors.hpp"

#include <algorithm>

#include "foreign/executorch_keys.hpp"
#include "foreign/scalar_type.hpp"
#include "wire/checked.hpp"

namespace ptd::foreign {
namespace {

Result<std::uint64_t> bytes_of(const NamedBytes& entry, const ScalarType& type) {
  wire::Maybe bytes = type.bits / 8;
  const auto& sizes = entry.layout->sizes;
  const bool is_empty = std::ranges::find(sizes, 0U) != sizes.end();
  for (const auto size : sizes) bytes = is_empty ? 0 : wire::multiply(bytes, size);
  if (bytes && *bytes <= entry.range.size) return *bytes;
  return fail_on(ErrorCode::foreign_input, "", entry.key,
                 "its sizes need " + (bytes ? std::to_string(*bytes) : "over 2^64") +
                     " bytes and its segment has " + std::to_string(entry.range.size) + " (in \"" +
                     escaped(entry.origin) + "\")");
}

std::string json_of(const std::vector<std::uint8_t>& dim_order) {
  std::string text = "[";
  for (const auto dimension : dim_order) text += (text.size() > 1 ? "," : "") + std::to_string(dimension);
  return text + "]";
}

void keep_order(TensorSpec& tensor, const std::vector<std::uint8_t>& dim_order) {
  tensor.metadata.push_back({std::string(dim_order_of), json_of(dim_order), ValueKind::json});
}

// Elements that no dtype describes are kept as they lie there.
void describe_packed(TensorSpec& tensor, const FlatTensorLayoutInfo& layout, const ScalarType& type,
                     std::uint64_t bytes) {
  tensor.dtype = DType::uint8;
  tensor.sizes = {bytes};
  tensor.strides = {1};
  tensor.scheme = scheme_of(type);
  tensor.logical_sizes = layout.sizes;
  if (!std::ranges::is_sorted(layout.dim_order)) keep_order(tensor, layout.dim_order);
}

Result<TensorSpec> describe(const NamedBytes& entry) {
  const auto& layout = *entry.layout;
  const auto* const type = find_scalar_type(layout.scalar_type);
  if (type == nullptr)
    return fail_on(ErrorCode::unsupported_input, "", entry.key,
                   "its element type has the number " + std::to_string(layout.scalar_type) +
                       ", which is not known (in \"" + escaped(entry.origin) + "\"); use a newer ptd");
  PTD_LET(bytes, bytes_of(entry, *type));
  TensorSpec tensor;
  tensor.name = entry.key;
  if (!type->dtype) {
    describe_packed(tensor, layout, *type, bytes);
    return tensor;
  }
  tensor.dtype = *type->dtype;
  tensor.sizes = layout.sizes;
  auto strides = strides_in_order(layout.sizes, layout.dim_order);
  if (!strides) return fail_on(ErrorCode::foreign_input, "", entry.key, "its strides do not fit 64 bits");
  tensor.strides = *std::move(strides);
  // Dimensions of size 1 can stand anywhere, and ExecuTorch compares orders to the letter.
  if (order_of_strides(tensor.strides) != layout.dim_order) keep_order(tensor, layout.dim_order);
  return tensor;
}

}  // namespace

bool NamedTensors::is_mutable(const std::string& key) const {
  if (is_made_mutable(options_, key)) return true;
  return mutable_names_.contains(key) && !matches_any(options_.immutable_globs, key);
}

Result<StorageId> NamedTensors::storage_of(const NamedBytes& entry) {
  const bool is_state = is_mutable(entry.key);
  const std::pair by_range(entry.file, entry.range);
  const std::pair by_key(entry.file, entry.key);
  if (is_state && own_.contains(by_key)) return own_.at(by_key);
  if (!is_state && shared_.contains(by_range)) return shared_.at(by_range);
  StorageSpec spec;
  spec.size = entry.range.size;
  spec.content = entry.content;
  spec.access = is_state ? Access::mutable_ : Access::immutable;
  spec.label = entry.origin;
  PTD_LET(id, writer_.add_storage(std::move(spec)));
  if (is_state)
    own_.emplace(by_key, id);
  else
    shared_.emplace(by_range, id);
  return id;
}

Result<TensorId> NamedTensors::add(const NamedBytes& entry, OwnerSpec owner) {
  PTD_LET(tensor, describe(entry));
  PTD_LET(storage, storage_of(entry));
  tensor.storage = storage;
  tensor.owner = owner;
  PTD_LET(id, writer_.add_tensor(std::move(tensor)));
  if (counted_.emplace(entry.file, entry.key, owner).second) {
    ++report_.tensors;
    report_.mutable_tensors += is_mutable(entry.key) ? 1U : 0U;
  }
  return id;
}

}  // namespace ptd::foreign
