// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// From the JSON of a safetensors header to entries and metadata, one event at a time.
#pragma once

#include <array>

#include "foreign/json_events.hpp"
#include "foreign/metadata.hpp"
#include "foreign/safetensors_rules.hpp"

namespace ptd::foreign {

/// The members of a tensor's entry.
enum class Field : std::uint8_t { dtype, shape, data_offsets, other };

/// The meaning of a header. Each event's depth and the keys above it say where it stands: 0 is the
/// header, 1 holds entries and "__metadata__", 2 their members, 3 the numbers of a shape or range.
class HeaderReader final : public JsonHandler {
 public:
  explicit HeaderReader(const SafetensorsOptions& options) : options_(options) {}

  Result<void> on_key(std::string_view key, std::size_t depth) override;
  Result<void> on_value(const JsonEvent& event, std::size_t depth) override;
  Failure on_duplicate(std::string_view key, std::size_t depth) override;

  /// The entries in the order of the file; fails if a dtype was unknown, naming all (at most 16) such
  /// tensors.
  Result<SafetensorsHeader> take();

 private:
  void begin_member(std::string_view key);
  Result<void> member(const JsonEvent& event);
  Result<void> field(const JsonEvent& event);
  Result<void> number(const JsonEvent& event);
  Result<void> add_size(std::uint64_t size);
  Result<void> add_offset(std::uint64_t offset);
  Result<void> end_metadata();
  Result<void> end_entry();
  void resolve_dtype();
  [[nodiscard]] Failure refuse(std::string_view what) const;

  const SafetensorsOptions& options_;
  SafetensorsHeader header_;
  MetadataReader metadata_;
  bool in_metadata_ = false;
  SafetensorsEntry entry_;
  Field field_ = Field::other;
  std::array<bool, 3> seen_{};
  std::string dtype_;
  std::vector<std::uint64_t> offsets_;
  std::vector<std::pair<std::string, std::string>> unknown_dtypes_;  ///< (tensor, dtype), the first few
  std::size_t unknown_count_ = 0;
};

}  // namespace ptd::foreign
