// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// JSON as a stream of events with their depth. A document tree would cost many times the text's size
// and would silently merge duplicate keys; here they are found, in every object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ptd/error.hpp>
#include <string>
#include <string_view>

namespace ptd::foreign {

enum class JsonKind : std::uint8_t {
  null,
  boolean,
  whole,
  number,
  string,  // `whole`: 0..2^63-1 without sign, fraction or exponent
  object,
  array,
  end_object,
  end_array,
};

struct JsonEvent {
  JsonKind kind = JsonKind::null;
  std::string_view text;     ///< a string's value; of `whole` nothing; else the JSON text, brackets included
  std::uint64_t number = 0;  ///< of `whole`
};

/// "an object", for messages.
std::string_view json_kind_name(JsonKind kind) noexcept;

/// What a document means. Depth counts the open containers around the value or key: 0 for the
/// outermost value (its end included), 1 for its keys and members.
class JsonHandler {
 public:
  JsonHandler() = default;
  JsonHandler(const JsonHandler&) = delete;
  JsonHandler& operator=(const JsonHandler&) = delete;
  virtual ~JsonHandler() = default;

  virtual Result<void> on_key(std::string_view key, std::size_t depth) = 0;
  virtual Result<void> on_value(const JsonEvent& event, std::size_t depth) = 0;

  /// How to say that the object that is about to end has `key` twice.
  virtual Failure on_duplicate(std::string_view key, std::size_t depth) = 0;
};

/// As deep as serde_json, and with it the reference reader of safetensors, goes.
inline constexpr std::size_t max_json_depth = 127;

/// Where a document came from, for messages.
struct JsonOrigin {
  std::string_view what;     ///< "the safetensors header"
  std::uint64_t offset = 0;  ///< of its first byte in the file
};

/// Feeds a whole document to `handler`; stops at the first failure. Checks the grammar, UTF-8, that
/// there is no NUL byte, depth, and duplicate keys. No recursion; memory is linear in the text.
Result<void> walk_json(std::string_view text, const JsonOrigin& origin, JsonHandler& handler);

/// A name from the file in quotes, escaped, cut where it would swamp the sentence.
std::string quote(std::string_view name);

}  // namespace ptd::foreign
