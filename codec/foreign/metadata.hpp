// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// A JSON object of text: "__metadata__" of a safetensors header, "metadata" of an index.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "foreign/json_text.hpp"

namespace ptd::foreign {

using MetadataPairs = std::vector<std::pair<std::string, std::string>>;

/// Collects the members of one object. Depth counts from inside it: 0 for its own keys and values.
class MetadataReader {
 public:
  void key(std::string_view key, std::size_t depth);

  /// Refuses more pairs than PTD can hold.
  Result<void> value(const JsonEvent& event, std::size_t depth);

  /// True if the object has the members of a tensor entry: someone named a tensor like the
  /// reserved key.
  [[nodiscard]] bool looks_like_tensor() const noexcept { return tensor_members_ == 3; }

  /// Refuses members that were not strings; what is wrong names the first of them.
  [[nodiscard]] Result<void> require_strings() const;

  [[nodiscard]] std::string_view current_key() const noexcept { return key_; }

  /// The pairs, ascending by key; what is no string as its JSON text.
  [[nodiscard]] MetadataPairs take();

 private:
  void begin_value(JsonKind kind);
  Result<void> add(std::string value);

  MetadataPairs pairs_;
  std::string key_;
  JsonText nested_;
  std::optional<std::pair<std::string, JsonKind>> not_text_;
  int tensor_members_ = 0;
};

}  // namespace ptd::foreign
