// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// The words that SPEC.md lists for each field, there and back.
#pragma once

#include <optional>
#include <ptd/ptd.hpp>
#include <string_view>
#include <utility>

namespace ptd::conformance {

template <class Enum>
struct Words;

template <>
struct Words<Access> {
  static constexpr std::pair<Access, std::string_view> table[] = {{Access::immutable, "immutable"},
                                                                  {Access::mutable_, "mutable"}};
};
template <>
struct Words<Origin> {
  static constexpr std::pair<Origin, std::string_view> table[] = {{Origin::stored, "stored"},
                                                                  {Origin::external, "external"}};
};
template <>
struct Words<Placement> {
  static constexpr std::pair<Placement, std::string_view> table[] = {
      {Placement::any, "any"}, {Placement::host, "host"}, {Placement::device, "device"}};
};
template <>
struct Words<ValueKind> {
  static constexpr std::pair<ValueKind, std::string_view> table[] = {
      {ValueKind::text, "text"}, {ValueKind::bytes, "bytes"}, {ValueKind::json, "json"}};
};
template <>
struct Words<VariantKind> {
  static constexpr std::pair<VariantKind, std::string_view> table[] = {{VariantKind::regular, "regular"},
                                                                       {VariantKind::fallback, "fallback"}};
};
template <>
struct Words<OwnerKind> {
  static constexpr std::pair<OwnerKind, std::string_view> table[] = {
      {OwnerKind::model, "model"}, {OwnerKind::library, "library"}, {OwnerKind::method, "method"}};
};

template <class Enum>
constexpr std::string_view word_of(Enum value) {
  for (const auto& [listed, word] : Words<Enum>::table)
    if (listed == value) return word;
  return "?";
}

template <class Enum>
constexpr std::optional<Enum> from_word(std::string_view word) {
  for (const auto& [listed, its_word] : Words<Enum>::table)
    if (its_word == word) return listed;
  return std::nullopt;
}

}  // namespace ptd::conformance
