// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "foreign/header_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ptd/limits.hpp>
#include <utility>

namespace ptd::foreign {
namespace {

constexpr std::string_view field_names[] = {"dtype", "shape", "data_offsets"};
constexpr std::size_t listed_dtypes = 16;

std::string_view name_of(Field field) { return field_names[static_cast<std::size_t>(field)]; }

Field field_of(std::string_view key) {
  const auto* const at = std::find(std::begin(field_names), std::end(field_names), key);
  return static_cast<Field>(at - std::begin(field_names));
}

Failure duplicate(std::string_view subject, std::string message) {
  return fail_on(ErrorCode::duplicate, "", subject, std::move(message));
}

}  // namespace

Failure HeaderReader::refuse(std::string_view what) const {
  return fail_on(ErrorCode::foreign_input, "", entry_.name,
                 fmt::format("tensor {} {}", quote(entry_.name), what));
}

Result<void> HeaderReader::on_key(std::string_view key, std::size_t depth) {
  if (depth == 1)
    begin_member(key);
  else if (in_metadata_)
    metadata_.key(key, depth - 2);
  else if (depth == 2)
    field_ = field_of(key);
  return {};
}

Result<void> HeaderReader::on_value(const JsonEvent& event, std::size_t depth) {
  if (depth == 0) return {};
  if (depth == 1) return member(event);
  if (in_metadata_) return metadata_.value(event, depth - 2);
  if (depth == 2) return field(event);
  // Members that safetensors does not know are passed over, as the reference reader does.
  return depth == 3 && field_ != Field::other ? number(event) : Result<void>{};
}

void HeaderReader::begin_member(std::string_view key) {
  in_metadata_ = key == metadata_name;
  entry_ = {};
  entry_.name = key;
  seen_ = {};
}

Result<void> HeaderReader::member(const JsonEvent& event) {
  if (event.kind == JsonKind::object) return {};
  if (event.kind == JsonKind::end_object) return in_metadata_ ? end_metadata() : end_entry();
  if (event.kind == JsonKind::null && in_metadata_) return {};  // as in the reference reader
  return fail_on(ErrorCode::foreign_input, "", entry_.name,
                 fmt::format("{} {} is {}; it must be an object", in_metadata_ ? "the value of" : "tensor",
                             quote(entry_.name), json_kind_name(event.kind)));
}

Result<void> HeaderReader::field(const JsonEvent& event) {
  if (field_ == Field::other || event.kind == JsonKind::end_array) return {};
  seen_[static_cast<std::size_t>(field_)] = true;
  const bool is_dtype = field_ == Field::dtype;
  if (event.kind != (is_dtype ? JsonKind::string : JsonKind::array))
    return refuse(fmt::format("has {} as its {}; it must be {}", json_kind_name(event.kind), name_of(field_),
                              is_dtype ? "a string" : "an array of numbers"));
  if (is_dtype)
    dtype_ = event.text;
  else
    (field_ == Field::shape ? entry_.sizes : offsets_).clear();
  return {};
}

Result<void> HeaderReader::number(const JsonEvent& event) {
  if (event.kind == JsonKind::number)
    return refuse(fmt::format("has {} in its {}; safetensors allows whole numbers there, PTD up to {}",
                              event.text.substr(0, 40), name_of(field_), max_number));
  if (event.kind != JsonKind::whole)
    return refuse(fmt::format("has {} in its {}; it must hold whole numbers", json_kind_name(event.kind),
                              name_of(field_)));
  return field_ == Field::shape ? add_size(event.number) : add_offset(event.number);
}

Result<void> HeaderReader::add_size(std::uint64_t size) {
  entry_.sizes.push_back(size);
  if (entry_.sizes.size() <= limits::max_rank) return {};
  return fail_on(ErrorCode::unsupported_input, "", entry_.name,
                 fmt::format("tensor {} has more dimensions than the {} that PTD can hold",
                             quote(entry_.name), limits::max_rank));
}

Result<void> HeaderReader::add_offset(std::uint64_t offset) {
  offsets_.push_back(offset);
  if (offsets_.size() <= 2) return {};
  return refuse("has more than 2 data_offsets; it must have a begin and an end");
}

Result<void> HeaderReader::end_metadata() {
  if (metadata_.looks_like_tensor())
    return fail_on(
        ErrorCode::foreign_input, "", metadata_name,
        "a tensor is named \"__metadata__\", which safetensors reserves for text; rename it where the "
        "file was made");
  if (!options_.metadata_as_json) PTD_TRY(metadata_.require_strings());
  header_.metadata = metadata_.take();
  return {};
}

Result<void> HeaderReader::end_entry() {
  PTD_TRY(check_tensor_name(entry_.name));
  const auto* const unseen = std::find(seen_.begin(), seen_.end(), false);
  if (unseen != seen_.end()) return refuse(fmt::format("has no {}", field_names[unseen - seen_.begin()]));
  if (offsets_.size() != 2)
    return refuse(fmt::format("has {} data_offsets; it must have a begin and an end", offsets_.size()));
  entry_.begin = offsets_[0];
  entry_.end = offsets_[1];
  resolve_dtype();
  header_.entries.push_back(std::move(entry_));
  return {};
}

void HeaderReader::resolve_dtype() {
  if (const auto dtype = dtype_from_safetensors(dtype_))
    entry_.dtype = *dtype;
  else if (++unknown_count_ <= listed_dtypes)
    unknown_dtypes_.emplace_back(entry_.name, dtype_);
}

Failure HeaderReader::on_duplicate(std::string_view key, std::size_t depth) {
  if (depth == 1 && key == metadata_name) return duplicate(key, "the header has \"__metadata__\" twice");
  if (depth == 1) return duplicate(key, "duplicate tensor name " + quote(key));
  if (in_metadata_ && depth == 2) return duplicate(key, "duplicate metadata key " + quote(key));
  const std::string_view owner = in_metadata_ ? metadata_.current_key() : entry_.name;
  return duplicate(owner, fmt::format("{} {} has the key {} twice",
                                      in_metadata_ ? "metadata value" : "tensor", quote(owner), quote(key)));
}

Result<SafetensorsHeader> HeaderReader::take() {
  if (unknown_dtypes_.empty()) return std::move(header_);
  std::string list;
  for (const auto& [tensor, dtype] : unknown_dtypes_)
    list += fmt::format("{}tensor {} has dtype {}", list.empty() ? "" : ", ", quote(tensor), quote(dtype));
  if (unknown_count_ > listed_dtypes)
    list += fmt::format(", and so on for {} more", unknown_count_ - listed_dtypes);
  return fail_on(ErrorCode::unsupported_input, "", unknown_dtypes_.front().first,
                 list + ", which this version of ptd does not know");
}

}  // namespace ptd::foreign
