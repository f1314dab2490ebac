// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Writing JSON: string literals, and values rebuilt from the events of the parser.
#pragma once

#include <string>
#include <string_view>

#include "foreign/json_events.hpp"

namespace ptd::foreign {

/// Appends `text` (valid UTF-8) as a JSON string literal: the shortest escapes, nothing escaped that
/// need not be. serde_json, which the reference writer uses, does the same.
void append_json_string(std::string& out, std::string_view text);

/// Rebuilds one JSON value as compact text from its events. No recursion.
class JsonText {
 public:
  void key(std::string_view key);
  void value(const JsonEvent& event);

  /// The text so far; leaves the builder empty.
  [[nodiscard]] std::string take();

 private:
  void separate();

  std::string text_;
};

}  // namespace ptd::foreign
