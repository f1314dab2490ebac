// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "foreign/ggml_type.hpp"

#include <algorithm>
#include <array>

namespace ptd::foreign {
namespace {

constexpr std::string_view scheme_prefix = "ggml.";

// Q8_1 is what products are computed in and not meant for files; the Python package `gguf` counts 40 bytes a
// block where GGML's own code, which is what reads files, has 36.
constexpr auto types = std::to_array<GgmlType>({
    {0, "f32", 1, 4, DType::float32},
    {1, "f16", 1, 2, DType::float16},
    {2, "q4_0", 32, 18, {}},
    {3, "q4_1", 32, 20, {}},
    {6, "q5_0", 32, 22, {}},
    {7, "q5_1", 32, 24, {}},
    {8, "q8_0", 32, 34, {}},
    {9, "q8_1", 32, 36, {}},
    {10, "q2_k", 256, 84, {}},
    {11, "q3_k", 256, 110, {}},
    {12, "q4_k", 256, 144, {}},
    {13, "q5_k", 256, 176, {}},
    {14, "q6_k", 256, 210, {}},
    {15, "q8_k", 256, 292, {}},
    {16, "iq2_xxs", 256, 66, {}},
    {17, "iq2_xs", 256, 74, {}},
    {18, "iq3_xxs", 256, 98, {}},
    {19, "iq1_s", 256, 50, {}},
    {20, "iq4_nl", 32, 18, {}},
    {21, "iq3_s", 256, 110, {}},
    {22, "iq2_s", 256, 82, {}},
    {23, "iq4_xs", 256, 136, {}},
    {24, "i8", 1, 1, DType::int8},
    {25, "i16", 1, 2, DType::int16},
    {26, "i32", 1, 4, DType::int32},
    {27, "i64", 1, 8, DType::int64},
    {28, "f64", 1, 8, DType::float64},
    {29, "iq1_m", 256, 56, {}},
    {30, "bf16", 1, 2, DType::bfloat16},
    {34, "tq1_0", 256, 54, {}},
    {35, "tq2_0", 256, 66, {}},
    {39, "mxfp4", 32, 17, {}},
    {40, "nvfp4", 64, 36, {}},
    {41, "q1_0", 128, 18, {}},
    {42, "q2_0", 64, 18, {}},
});

struct Removed {
  std::uint32_t number;
  std::string_view name;
};

constexpr auto removed = std::to_array<Removed>({
    {4, "Q4_2"},
    {5, "Q4_3"},
    {31, "Q4_0_4_4"},
    {32, "Q4_0_4_8"},
    {33, "Q4_0_8_8"},
    {36, "IQ4_NL_4_4"},
    {37, "IQ4_NL_4_8"},
    {38, "IQ4_NL_8_8"},
});

template <class Predicate>
const GgmlType* find_type(Predicate predicate) noexcept {
  const auto* found = std::find_if(types.data(), types.data() + types.size(), predicate);
  return found == types.data() + types.size() ? nullptr : found;
}

char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool equal_in_lower_case(std::string_view a, std::string_view b) noexcept {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

}  // namespace

const GgmlType* ggml_type(std::uint32_t number) noexcept {
  return find_type([&](const GgmlType& type) { return type.number == number; });
}

const GgmlType* ggml_type_of(DType dtype) noexcept {
  return find_type([&](const GgmlType& type) { return type.dtype == dtype; });
}

const GgmlType* ggml_type_of_scheme(std::string_view scheme) noexcept {
  if (!scheme.starts_with(scheme_prefix)) return nullptr;
  const auto name = scheme.substr(scheme_prefix.size());
  return find_type([&](const GgmlType& type) { return !type.dtype && equal_in_lower_case(type.name, name); });
}

std::string ggml_scheme(const GgmlType& type) { return std::string(scheme_prefix).append(type.name); }

std::string_view removed_ggml_type(std::uint32_t number) noexcept {
  for (const auto& row : removed)
    if (row.number == number) return row.name;
  return {};
}

}  // namespace ptd::foreign
