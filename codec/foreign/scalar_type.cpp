// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "foreign/scalar_type.hpp"

#include <algorithm>
#include <array>

namespace ptd::foreign {
namespace {

constexpr std::string_view scheme_prefix = "executorch.";

// clang-format off
constexpr auto types = std::to_array<ScalarType>({
    {0, "uint8", DType::uint8, 8},
    {1, "int8", DType::int8, 8},
    {2, "int16", DType::int16, 16},
    {3, "int32", DType::int32, 32},
    {4, "int64", DType::int64, 64},
    {5, "float16", DType::float16, 16},
    {6, "float32", DType::float32, 32},
    {7, "float64", DType::float64, 64},
    {8, "complex32", DType::complex32, 32},
    {9, "complex64", DType::complex64, 64},
    {10, "complex128", DType::complex128, 128},
    {11, "bool", DType::boolean, 8},
    {12, "qint8", std::nullopt, 8},
    {13, "quint8", std::nullopt, 8},
    {14, "qint32", std::nullopt, 32},
    {15, "bfloat16", DType::bfloat16, 16},
    {16, "quint4x2", std::nullopt, 8},
    {17, "quint2x4", std::nullopt, 8},
    {18, "bits1x8", std::nullopt, 8},
    {19, "bits2x4", std::nullopt, 8},
    {20, "bits4x2", std::nullopt, 8},
    {21, "bits8", std::nullopt, 8},
    {22, "bits16", std::nullopt, 16},
    {23, "float8_e5m2", DType::float8_e5m2, 8},
    {24, "float8_e4m3fn", DType::float8_e4m3fn, 8},
    {25, "float8_e5m2fnuz", DType::float8_e5m2fnuz, 8},
    {26, "float8_e4m3fnuz", DType::float8_e4m3fnuz, 8},
    {27, "uint16", DType::uint16, 16},
    {28, "uint32", DType::uint32, 32},
    {29, "uint64", DType::uint64, 64},
});
// clang-format on

constexpr bool rows_stand_at_their_number() {
  for (std::size_t i = 0; i < types.size(); ++i)
    if (types[i].number != i || (types[i].dtype && dtype_bits(*types[i].dtype) != types[i].bits))
      return false;
  return true;
}
static_assert(rows_stand_at_their_number());

}  // namespace

const ScalarType* find_scalar_type(std::int64_t number) noexcept {
  if (number < 0 || number >= static_cast<std::int64_t>(types.size())) return nullptr;
  return &types[static_cast<std::size_t>(number)];
}

const ScalarType* scalar_type_of(DType dtype) noexcept {
  const auto* const found = std::ranges::find(types, dtype, &ScalarType::dtype);
  return found == types.end() ? nullptr : found;
}

std::string scheme_of(const ScalarType& type) { return std::string(scheme_prefix).append(type.name); }

const ScalarType* scalar_type_of_scheme(std::string_view scheme) noexcept {
  if (!scheme.starts_with(scheme_prefix)) return nullptr;
  const auto* const found = std::ranges::find(types, scheme.substr(scheme_prefix.size()), &ScalarType::name);
  return found == types.end() || found->dtype ? nullptr : found;
}

}  // namespace ptd::foreign
