// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "foreign/npy.hpp"

#include <fmt/format.h>

namespace ptd::foreign {
namespace {

using namespace std::string_view_literals;

constexpr auto magic = "\x93NUMPY\x01\x00"sv;
constexpr std::size_t alignment = 64;

// A comma behind each size, so that one of them is a tuple too.
std::string tuple_text(std::span<const std::uint64_t> sizes) {
  std::string text;
  for (const auto size : sizes) text += fmt::format("{}{},", text.empty() ? "" : " ", size);
  if (sizes.size() > 1) text.pop_back();
  return "(" + text + ")";
}

}  // namespace

std::string_view npy_dtype(DType dtype) noexcept {
  switch (dtype) {
    case DType::boolean:
      return "|b1";
    case DType::uint8:
      return "|u1";
    case DType::int8:
      return "|i1";
    case DType::uint16:
      return "<u2";
    case DType::int16:
      return "<i2";
    case DType::uint32:
      return "<u4";
    case DType::int32:
      return "<i4";
    case DType::uint64:
      return "<u8";
    case DType::int64:
      return "<i8";
    case DType::float16:
      return "<f2";
    case DType::float32:
      return "<f4";
    case DType::float64:
      return "<f8";
    case DType::complex64:
      return "<c8";
    case DType::complex128:
      return "<c16";
    default:
      break;
  }
  if (is_sub_byte(dtype)) return "";
  constexpr std::string_view voids[] = {"", "|V1", "|V2", "", "|V4"};
  return voids[dtype_bits(dtype) / 8];
}

bool is_npy_void(DType dtype) noexcept { return npy_dtype(dtype).starts_with("|V"); }

Result<std::string> npy_header(const Tensor& tensor) {
  const auto dtype = npy_dtype(tensor.dtype);
  if (dtype.empty())
    return fail_on(ErrorCode::unsupported_input, "", tensor.name,
                   fmt::format("NumPy has no arrays of {}, whose elements are less than a byte; write its "
                               "packed bytes to a .bin file",
                               dtype_name(tensor.dtype)));
  auto text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}", dtype,
                          tuple_text(tensor.sizes));
  const std::size_t before = magic.size() + 2, used = before + text.size() + 1;
  text.append((alignment - used % alignment) % alignment, ' ');
  text += '\n';
  // At most 64 sizes of 20 digits: two bytes always hold the length.
  const std::string length{static_cast<char>(text.size() & 0xFF), static_cast<char>(text.size() >> 8)};
  return std::string(magic) + length + text;
}

}  // namespace ptd::foreign
