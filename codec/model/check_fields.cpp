// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <ptd/limits.hpp>

#include "model/check.hpp"
#include "wire/checked.hpp"
#include "wire/utf8.hpp"

namespace ptd::model {
namespace {

using wire::add;
using wire::Maybe;
using wire::multiply;

bool has_zero(std::span<const std::uint64_t> sizes) { return std::ranges::find(sizes, 0U) != sizes.end(); }

// Elements that the sizes count, whatever the strides; none if that does not fit 64 bits.
Maybe count_elements(std::span<const std::uint64_t> sizes) {
  if (has_zero(sizes)) return 0;
  Maybe count = 1;
  for (const auto size : sizes) count = multiply(count, size);
  return count;
}

// Elements from the start of the storage to behind the last one of the view; an empty view ends where it
// starts.
Maybe view_end(const Tensor& tensor) {
  if (has_zero(tensor.sizes)) return tensor.storage_offset;
  Maybe end = add(tensor.storage_offset, 1);
  for (std::size_t i = 0; i < tensor.sizes.size(); ++i)
    if (tensor.sizes[i] > 1) end = add(end, multiply(tensor.sizes[i] - 1, tensor.strides[i]));
  return end;
}

bool fits_bits(Maybe elements, unsigned bits, std::uint64_t bytes) {
  const Maybe needed = multiply(elements, bits);
  return needed && *needed <= bytes * 8;  // bytes <= 2^60
}

Result<void> check_sub_byte(const Tensor& tensor) {
  const unsigned bits = dtype_bits(tensor.dtype);
  if (tensor.storage_offset * bits % 8 != 0)  // in range: the view is inside the storage
    return fail_on(ErrorCode::sub_byte, "SUB-1", tensor.name,
                   "its first element does not start at a whole byte");
  if (!is_contiguous(tensor))
    return fail_on(ErrorCode::sub_byte, "SUB-2", tensor.name,
                   "elements smaller than a byte must be row-major without gaps");
  return {};
}

Result<void> check_pair(const Pair& pair) {
  const auto kind = static_cast<unsigned>(pair.kind);
  if (kind < 1 || kind > 3)
    return fail_on(ErrorCode::unlisted_number, "MET-1", pair.key,
                   "number " + std::to_string(kind) + " is not in the table of value kinds");
  PTD_TRY(check_name(pair.key, "metadata key"));
  if (pair.value.size() > limits::max_value_bytes)
    return fail_on(
        ErrorCode::limit, "MET-2", pair.key,
        "a metadata value of " + std::to_string(pair.value.size()) + " bytes is over the limit of 16 MiB");
  if (pair.kind != ValueKind::bytes && !wire::is_utf8(pair.value))
    return fail_on(ErrorCode::metadata, "MET-3", pair.key,
                   "a metadata value that calls itself text is not UTF-8");
  return {};
}

}  // namespace

Result<void> check_name(std::string_view name, std::string_view what) {
  if (name.empty() || name.size() > limits::max_name_bytes)
    return fail_on(
        ErrorCode::name, "NAM-1", name.substr(0, 64),
        "a " + std::string(what) + " name has 1 to 1,024 bytes, this one has " + std::to_string(name.size()));
  if (!wire::is_utf8(name) || name.find('\0') != std::string_view::npos)
    return fail_on(ErrorCode::name, "NAM-1", name,
                   "a " + std::string(what) + " name must be UTF-8 without NUL");
  return {};
}

Result<void> check_pairs(const std::vector<Pair>& pairs, std::string_view owner) {
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    PTD_TRY(check_pair(pairs[i]));
    if (i == 0 || pairs[i - 1].key < pairs[i].key) continue;
    const bool equal = pairs[i - 1].key == pairs[i].key;
    return fail_on(equal ? ErrorCode::duplicate : ErrorCode::order, "MET-4", pairs[i].key,
                   std::string(equal ? "duplicate metadata key" : "metadata key out of order") + " of \"" +
                       escaped(owner) + "\"");
  }
  return {};
}

Result<void> check_view(const Tensor& tensor, std::uint64_t storage_size) {
  if (tensor.sizes.size() > limits::max_rank)
    return fail_on(ErrorCode::limit, "VIE-1", tensor.name,
                   "rank " + std::to_string(tensor.sizes.size()) + " is over the limit of 64");
  if (tensor.sizes.size() != tensor.strides.size())
    return fail_on(ErrorCode::view_shape, "VIE-2", tensor.name,
                   "it has " + std::to_string(tensor.sizes.size()) + " sizes and " +
                       std::to_string(tensor.strides.size()) + " strides");
  const unsigned bits = dtype_bits(tensor.dtype);
  if (!fits_bits(count_elements(tensor.sizes), bits, limits::max_bytes))
    return fail_on(ErrorCode::view_bounds, "VIE-3", tensor.name,
                   "its elements would fill more than 2^60 bytes");
  if (!fits_bits(view_end(tensor), bits, storage_size))
    return fail_on(
        ErrorCode::view_bounds, "VIE-4", tensor.name,
        "the view reaches past the end of its storage of " + std::to_string(storage_size) + " bytes");
  return is_sub_byte(tensor.dtype) ? check_sub_byte(tensor) : Result<void>{};
}

Result<void> check_packed(const Tensor& tensor) {
  if (tensor.scheme.empty()) {
    if (tensor.logical_sizes.empty()) return {};
    return fail_on(ErrorCode::packed, "PAK-1", tensor.name,
                   "it has logical sizes but names no packing scheme");
  }
  PTD_TRY(check_name(tensor.scheme, "scheme"));
  if (tensor.dtype != DType::uint8)
    return fail_on(ErrorCode::packed, "PAK-2", tensor.name, "packed data must have dtype uint8");
  if (tensor.logical_sizes.size() > limits::max_rank)
    return fail_on(ErrorCode::limit, "VIE-1", tensor.name, "more than 64 logical sizes");
  if (const auto count = count_elements(tensor.logical_sizes); !count || *count > limits::max_bytes)
    return fail_on(ErrorCode::packed, "PAK-3", tensor.name,
                   "its logical sizes count more than 2^60 elements");
  return {};
}

}  // namespace ptd::model
