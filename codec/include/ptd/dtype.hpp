// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Element types. The table stands in schema/ptd.capnp; a test holds this one to it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace ptd {

// clang-format off
/// Element types, named as PyTorch names them. The numbers are the file's [DTY-1].
enum class DType : std::uint16_t {
  boolean = 1,  ///< one byte, 0 or 1
  uint8 = 2, int8 = 3, uint16 = 4, int16 = 5, uint32 = 6, int32 = 7, uint64 = 8, int64 = 9,
  float16 = 10, bfloat16 = 11, float32 = 12, float64 = 13,
  complex32 = 14, complex64 = 15, complex128 = 16,  ///< two floats, real part first
  float8_e4m3fn = 17, float8_e5m2 = 18, float8_e4m3fnuz = 19, float8_e5m2fnuz = 20, float8_e8m0fnu = 21,
  float4_e2m1fn = 22, float6_e2m3fn = 23, float6_e3m2fn = 24,
  uint1 = 25, uint2 = 26, uint3 = 27, uint4 = 28, uint5 = 29, uint6 = 30, uint7 = 31,
  int1 = 32, int2 = 33, int3 = 34, int4 = 35, int5 = 36, int6 = 37, int7 = 38,
};
// clang-format on

enum class DTypeKind : std::uint8_t {
  boolean = 1,
  unsigned_integer = 2,
  signed_integer = 3,
  floating = 4,
  complex = 5
};

struct DTypeInfo {
  DType dtype;
  std::string_view name;  ///< PyTorch's name, for example "bfloat16"
  std::uint8_t bits;      ///< bits of one element
  DTypeKind kind;
};

/// Every dtype, ordered by number; dtype number n stands at index n - 1.
inline constexpr std::array<DTypeInfo, 38> dtype_table{{
    {DType::boolean, "bool", 8, DTypeKind::boolean},
    {DType::uint8, "uint8", 8, DTypeKind::unsigned_integer},
    {DType::int8, "int8", 8, DTypeKind::signed_integer},
    {DType::uint16, "uint16", 16, DTypeKind::unsigned_integer},
    {DType::int16, "int16", 16, DTypeKind::signed_integer},
    {DType::uint32, "uint32", 32, DTypeKind::unsigned_integer},
    {DType::int32, "int32", 32, DTypeKind::signed_integer},
    {DType::uint64, "uint64", 64, DTypeKind::unsigned_integer},
    {DType::int64, "int64", 64, DTypeKind::signed_integer},
    {DType::float16, "float16", 16, DTypeKind::floating},
    {DType::bfloat16, "bfloat16", 16, DTypeKind::floating},
    {DType::float32, "float32", 32, DTypeKind::floating},
    {DType::float64, "float64", 64, DTypeKind::floating},
    {DType::complex32, "complex32", 32, DTypeKind::complex},
    {DType::complex64, "complex64", 64, DTypeKind::complex},
    {DType::complex128, "complex128", 128, DTypeKind::complex},
    {DType::float8_e4m3fn, "float8_e4m3fn", 8, DTypeKind::floating},
    {DType::float8_e5m2, "float8_e5m2", 8, DTypeKind::floating},
    {DType::float8_e4m3fnuz, "float8_e4m3fnuz", 8, DTypeKind::floating},
    {DType::float8_e5m2fnuz, "float8_e5m2fnuz", 8, DTypeKind::floating},
    {DType::float8_e8m0fnu, "float8_e8m0fnu", 8, DTypeKind::floating},
    {DType::float4_e2m1fn, "float4_e2m1fn", 4, DTypeKind::floating},
    {DType::float6_e2m3fn, "float6_e2m3fn", 6, DTypeKind::floating},
    {DType::float6_e3m2fn, "float6_e3m2fn", 6, DTypeKind::floating},
    {DType::uint1, "uint1", 1, DTypeKind::unsigned_integer},
    {DType::uint2, "uint2", 2, DTypeKind::unsigned_integer},
    {DType::uint3, "uint3", 3, DTypeKind::unsigned_integer},
    {DType::uint4, "uint4", 4, DTypeKind::unsigned_integer},
    {DType::uint5, "uint5", 5, DTypeKind::unsigned_integer},
    {DType::uint6, "uint6", 6, DTypeKind::unsigned_integer},
    {DType::uint7, "uint7", 7, DTypeKind::unsigned_integer},
    {DType::int1, "int1", 1, DTypeKind::signed_integer},
    {DType::int2, "int2", 2, DTypeKind::signed_integer},
    {DType::int3, "int3", 3, DTypeKind::signed_integer},
    {DType::int4, "int4", 4, DTypeKind::signed_integer},
    {DType::int5, "int5", 5, DTypeKind::signed_integer},
    {DType::int6, "int6", 6, DTypeKind::signed_integer},
    {DType::int7, "int7", 7, DTypeKind::signed_integer},
}};

/// True if the number is in the table.
constexpr bool is_dtype(std::uint64_t number) noexcept { return number >= 1 && number <= dtype_table.size(); }

constexpr const DTypeInfo& dtype_info(DType dtype) noexcept {
  return dtype_table[static_cast<std::size_t>(dtype) - 1];
}
constexpr unsigned dtype_bits(DType dtype) noexcept { return dtype_info(dtype).bits; }
constexpr std::string_view dtype_name(DType dtype) noexcept { return dtype_info(dtype).name; }

/// Elements that do not fill whole bytes: packed, row-major, element 0 in the low bits [SUB-*].
constexpr bool is_sub_byte(DType dtype) noexcept { return dtype_bits(dtype) < 8; }

/// The dtype of that name, if there is one.
constexpr std::optional<DType> dtype_from_name(std::string_view name) noexcept {
  for (const auto& row : dtype_table)
    if (row.name == name) return row.dtype;
  return std::nullopt;
}

}  // namespace ptd
