// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <ptd/layout.hpp>
#include <ptd/model.hpp>

#include "wire/checked.hpp"

namespace ptd {
namespace {

template <class List, class Key, class Project>
std::optional<std::uint32_t> find_sorted(const List& list, const Key& key, Project project) {
  const auto found = std::ranges::lower_bound(list, key, {}, project);
  if (found == list.end() || project(*found) != key) return std::nullopt;
  return static_cast<std::uint32_t>(found - list.begin());
}

constexpr auto name_of = [](const auto& object) { return object.name; };

}  // namespace

std::string to_hex(const Digest& digest) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out;
  for (const auto byte : digest) {
    out += digits[std::to_integer<unsigned>(byte) >> 4];
    out += digits[std::to_integer<unsigned>(byte) & 15];
  }
  return out;
}

std::string_view encoding_name(Encoding encoding) noexcept {
  constexpr std::string_view names[] = {"",
                                        "raw",
                                        "zstd",
                                        "zstd-planes2",
                                        "zstd-planes4",
                                        "zstd-planes8",
                                        "zstd-rotated2",
                                        "zstd-rotated4",
                                        "zstd-rotated8"};
  return names[static_cast<unsigned>(encoding)];
}

std::optional<std::uint32_t> Model::find_method(std::string_view name) const {
  return find_sorted(methods, name, name_of);
}
std::optional<std::uint32_t> Model::find_library(std::string_view name) const {
  return find_sorted(libraries, name, name_of);
}
std::optional<std::uint32_t> Model::find_blob(std::string_view name) const {
  return find_sorted(blobs, name, name_of);
}
std::optional<std::uint32_t> Model::find_tensor(Owner owner, std::string_view name) const {
  return find_sorted(tensors, std::pair(owner, name),
                     [](const Tensor& t) { return std::pair(t.owner, t.name); });
}

std::optional<std::uint32_t> Model::find_in_method(std::uint32_t method, std::string_view fqn) const {
  for (const Owner owner : {Owner{OwnerKind::method, method}, Owner{}})
    if (const auto found = find_tensor(owner, fqn);
        found && std::ranges::binary_search(methods[method].tensors, *found))
      return found;
  return std::nullopt;
}

std::uint64_t element_count(const Tensor& tensor) noexcept {
  if (std::ranges::find(tensor.sizes, 0U) != tensor.sizes.end()) return 0;  // before a product could overflow
  std::uint64_t count = 1;
  for (const auto size : tensor.sizes) count *= size;
  return count;
}

std::uint64_t logical_bytes(const Tensor& tensor) noexcept {
  return wire::divide_up(element_count(tensor) * dtype_bits(tensor.dtype), 8);
}

bool is_contiguous(const Tensor& tensor) noexcept {
  if (element_count(tensor) == 0) return true;
  std::uint64_t expected = 1;
  for (std::size_t i = tensor.sizes.size(); i-- > 0;) {
    if (tensor.sizes[i] > 1 && tensor.strides[i] != expected) return false;
    expected *= tensor.sizes[i];
  }
  return true;
}

std::vector<std::uint64_t> contiguous_strides(std::span<const std::uint64_t> sizes) {
  std::vector<std::uint64_t> strides(sizes.size());
  std::uint64_t stride = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    strides[i] = stride;
    // Only sizes of empty tensors can overflow, and there strides mean nothing.
    stride = wire::multiply(stride, std::max<std::uint64_t>(sizes[i], 1)).value_or(1);
  }
  return strides;
}

}  // namespace ptd
