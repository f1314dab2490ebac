// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "foreign/metadata.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ptd/limits.hpp>

namespace ptd::foreign {
namespace {

bool is_begin(JsonKind kind) { return kind == JsonKind::object || kind == JsonKind::array; }
bool is_end(JsonKind kind) { return kind == JsonKind::end_object || kind == JsonKind::end_array; }

bool is_tensor_member(std::string_view key, JsonKind kind) {
  if (key == "dtype") return kind == JsonKind::string;
  return (key == "shape" || key == "data_offsets") && kind == JsonKind::array;
}

}  // namespace

void MetadataReader::key(std::string_view key, std::size_t depth) {
  if (depth > 0) return nested_.key(key);
  key_ = key;
}

Result<void> MetadataReader::value(const JsonEvent& event, std::size_t depth) {
  if (depth == 0 && !is_end(event.kind)) begin_value(event.kind);
  if (depth == 0 && event.kind == JsonKind::string) return add(std::string(event.text));
  nested_.value(event);
  if (depth == 0 && !is_begin(event.kind)) return add(nested_.take());
  return {};
}

void MetadataReader::begin_value(JsonKind kind) {
  if (kind != JsonKind::string && !not_text_) not_text_.emplace(key_, kind);
  if (is_tensor_member(key_, kind)) ++tensor_members_;
}

Result<void> MetadataReader::add(std::string value) {
  if (pairs_.size() == limits::max_pairs)
    return fail(
        ErrorCode::unsupported_input, "",
        fmt::format("the file has more metadata than the {} pairs that PTD can hold", limits::max_pairs));
  pairs_.emplace_back(key_, std::move(value));
  return {};
}

Result<void> MetadataReader::require_strings() const {
  if (!not_text_) return {};
  const auto& [key, kind] = *not_text_;
  return fail_on(ErrorCode::foreign_input, "", key,
                 fmt::format("metadata value {} is {}; safetensors allows only strings there", quote(key),
                             json_kind_name(kind)));
}

MetadataPairs MetadataReader::take() {
  std::sort(pairs_.begin(), pairs_.end());
  return std::move(pairs_);
}

}  // namespace ptd::foreign
