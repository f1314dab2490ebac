// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "foreign/guard.hpp"
#include "foreign/metadata.hpp"
#include "foreign/safetensors_rules.hpp"

namespace ptd::foreign {
namespace {

enum class Section : std::uint8_t { weight_map, metadata, other };

// A path that names one file in the folder in one way on every system: else a stranger's index could reach
// outside it, or list one shard under two names.
bool is_plain_component(std::string_view component) {
  return !component.empty() && component != "." && component != "..";
}

bool is_plain_path(std::string_view path) {
  if (path.find_first_of(std::string_view("\0\\:", 3)) != std::string_view::npos) return false;
  while (true) {
    const auto slash = path.find('/');
    if (!is_plain_component(path.substr(0, slash))) return false;
    if (slash == std::string_view::npos) return true;
    path.remove_prefix(slash + 1);
  }
}

class IndexReader final : public JsonHandler {
 public:
  Result<void> on_key(std::string_view key, std::size_t depth) override;
  Result<void> on_value(const JsonEvent& event, std::size_t depth) override;
  Failure on_duplicate(std::string_view key, std::size_t depth) override;
  Result<SafetensorsIndex> take();

 private:
  Result<void> section(const JsonEvent& event);
  Result<void> shard(const JsonEvent& event);

  std::vector<std::pair<std::string, std::string>> tensors_;  ///< (name, shard)
  MetadataReader metadata_;
  Section section_ = Section::other;
  std::string name_;
  bool has_weight_map_ = false;
};

Section section_of(std::string_view key) {
  return key == "weight_map" ? Section::weight_map : key == "metadata" ? Section::metadata : Section::other;
}

Result<void> IndexReader::on_key(std::string_view key, std::size_t depth) {
  if (depth == 1) section_ = section_of(key);
  if (depth == 1 || section_ == Section::weight_map) name_ = key;
  if (depth > 1 && section_ == Section::metadata) metadata_.key(key, depth - 2);
  return {};
}

Result<void> IndexReader::on_value(const JsonEvent& event, std::size_t depth) {
  if (depth == 0 && event.kind != JsonKind::object && event.kind != JsonKind::end_object)
    return fail(ErrorCode::foreign_input, "",
                fmt::format("the index is {}; it must be an object", json_kind_name(event.kind)));
  if (depth == 1) return section(event);
  if (depth == 2 && section_ == Section::weight_map) return shard(event);
  if (depth > 1 && section_ == Section::metadata) return metadata_.value(event, depth - 2);
  return {};
}

Result<void> IndexReader::section(const JsonEvent& event) {
  if (section_ == Section::weight_map) has_weight_map_ = true;
  if (section_ == Section::other || event.kind == JsonKind::object || event.kind == JsonKind::end_object)
    return {};
  if (section_ == Section::metadata && event.kind == JsonKind::null) return {};
  return fail_on(
      ErrorCode::foreign_input, "", name_,
      fmt::format("the index has {} as its {}; it must be an object", json_kind_name(event.kind), name_));
}

Result<void> IndexReader::shard(const JsonEvent& event) {
  if (event.kind != JsonKind::string)
    return fail_on(ErrorCode::foreign_input, "", name_,
                   fmt::format("the index has {} as the shard of tensor {}; it must be a file name",
                               json_kind_name(event.kind), quote(name_)));
  PTD_TRY(check_tensor_name(name_));
  if (!is_plain_path(event.text))
    return fail_on(
        ErrorCode::foreign_input, "", event.text,
        fmt::format("the index puts tensor {} into {}, which is not a plain file name inside the index's "
                    "folder",
                    quote(name_), quote(event.text)));
  tensors_.emplace_back(name_, event.text);
  return {};
}

Failure IndexReader::on_duplicate(std::string_view key, std::size_t depth) {
  const bool is_tensor = depth == 2 && section_ == Section::weight_map;
  return fail_on(ErrorCode::duplicate, "", key,
                 is_tensor ? "duplicate tensor name " + quote(key)
                           : fmt::format("the index has the key {} twice in one object", quote(key)));
}

std::vector<std::string> distinct_shards(const std::vector<std::pair<std::string, std::string>>& tensors) {
  std::vector<std::string_view> names;
  names.reserve(tensors.size());
  for (const auto& tensor : tensors) names.push_back(tensor.second);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return {names.begin(), names.end()};
}

Result<SafetensorsIndex> IndexReader::take() {
  if (!has_weight_map_)
    return fail_on(ErrorCode::foreign_input, "", "weight_map",
                   "the index has no weight_map, so it is not the index of a sharded safetensors model");
  SafetensorsIndex index;
  index.shards = distinct_shards(tensors_);
  index.metadata = metadata_.take();
  index.tensors.reserve(tensors_.size());
  for (auto& [name, shard] : tensors_) {
    const auto at = std::lower_bound(index.shards.begin(), index.shards.end(), shard);
    index.tensors.emplace_back(std::move(name), static_cast<std::uint32_t>(at - index.shards.begin()));
  }
  std::sort(index.tensors.begin(), index.tensors.end());
  return index;
}

Result<SafetensorsIndex> parse(Bytes json) {
  IndexReader reader;
  PTD_TRY(walk_json({reinterpret_cast<const char*>(json.data()), json.size()}, {"the index", 0}, reader));
  return reader.take();
}

}  // namespace

Result<SafetensorsIndex> parse_safetensors_index(Bytes json) {
  return guarded([&] { return parse(json); });
}

}  // namespace ptd::foreign
