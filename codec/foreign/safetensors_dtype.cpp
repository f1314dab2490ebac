// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "foreign/safetensors_rules.hpp"
#include "wire/checked.hpp"

namespace ptd::foreign {
namespace {

struct Spelling {
  DType dtype;
  std::string_view name;
};

// Every dtype of safetensors 0.8. The float8 names without FNUZ are the "fn" formats; shapes of F4 and F6
// count elements, not bytes, and the elements must fill whole bytes.
constexpr auto spellings = std::to_array<Spelling>({
    {DType::boolean, "BOOL"},
    {DType::uint8, "U8"},
    {DType::int8, "I8"},
    {DType::uint16, "U16"},
    {DType::int16, "I16"},
    {DType::uint32, "U32"},
    {DType::int32, "I32"},
    {DType::uint64, "U64"},
    {DType::int64, "I64"},
    {DType::float16, "F16"},
    {DType::bfloat16, "BF16"},
    {DType::float32, "F32"},
    {DType::float64, "F64"},
    {DType::complex64, "C64"},
    {DType::float8_e4m3fn, "F8_E4M3"},
    {DType::float8_e5m2, "F8_E5M2"},
    {DType::float8_e4m3fnuz, "F8_E4M3FNUZ"},
    {DType::float8_e5m2fnuz, "F8_E5M2FNUZ"},
    {DType::float8_e8m0fnu, "F8_E8M0"},
    {DType::float4_e2m1fn, "F4"},
    {DType::float6_e2m3fn, "F6_E2M3"},
    {DType::float6_e3m2fn, "F6_E3M2"},
});

constexpr std::size_t shown_sizes = 16;

}  // namespace

std::string_view safetensors_dtype(DType dtype) noexcept {
  for (const auto& row : spellings)
    if (row.dtype == dtype) return row.name;
  return {};
}

std::optional<DType> dtype_from_safetensors(std::string_view spelling) noexcept {
  for (const auto& row : spellings)
    if (row.name == spelling) return row.dtype;
  return std::nullopt;
}

std::optional<std::uint64_t> reference_bits(DType dtype, const std::vector<std::uint64_t>& sizes) noexcept {
  wire::Maybe elements = 1;
  for (const auto size : sizes) elements = wire::multiply(elements, size);
  return wire::multiply(elements, dtype_bits(dtype));
}

std::optional<std::uint64_t> tensor_bits(DType dtype, const std::vector<std::uint64_t>& sizes) noexcept {
  const bool is_empty = std::find(sizes.begin(), sizes.end(), 0U) != sizes.end();
  return is_empty ? 0 : reference_bits(dtype, sizes);
}

std::string shape_text(DType dtype, const std::vector<std::uint64_t>& sizes) {
  const auto shown = sizes.begin() + static_cast<std::ptrdiff_t>(std::min(sizes.size(), shown_sizes));
  return fmt::format("{} [{}{}]", safetensors_dtype(dtype), fmt::join(sizes.begin(), shown, ", "),
                     sizes.size() > shown_sizes ? ", ..." : "");
}

}  // namespace ptd::foreign
