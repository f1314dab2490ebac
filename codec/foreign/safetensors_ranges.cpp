// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "foreign/json_events.hpp"
#include "foreign/safetensors_rules.hpp"

namespace ptd::foreign {
namespace {

using Entry = SafetensorsEntry;

Failure refuse(const Entry& entry, std::string message) {
  return fail_on(ErrorCode::foreign_input, "", entry.name, std::move(message));
}

std::string name_and_shape(const Entry& entry) {
  return fmt::format("tensor {} is {}", quote(entry.name), shape_text(entry.dtype, entry.sizes));
}

Result<void> check_size(const Entry& entry) {
  const auto held = entry.end - entry.begin;
  const auto bits = tensor_bits(entry.dtype, entry.sizes);
  if (entry.begin <= entry.end && bits && *bits % 8 == 0 && *bits / 8 == held) return {};
  if (entry.begin > entry.end)
    return refuse(entry, fmt::format("tensor {} has data_offsets [{}, {}], which end before they begin",
                                     quote(entry.name), entry.begin, entry.end));
  if (!bits) return refuse(entry, name_and_shape(entry) + ", which is more than any file can hold");
  if (*bits % 8 != 0)
    return refuse(
        entry, fmt::format("{}, {} bits: safetensors holds only whole bytes", name_and_shape(entry), *bits));
  return refuse(entry, fmt::format("{}, {} bytes, but its data_offsets [{}, {}] hold {}",
                                   name_and_shape(entry), *bits / 8, entry.begin, entry.end, held));
}

// Checked before all else about places: a file that was cut short is the likeliest fault.
Result<void> check_ends(const std::vector<Entry>& entries, std::uint64_t data_size) {
  const auto last = std::max_element(entries.begin(), entries.end(),
                                     [](const Entry& a, const Entry& b) { return a.end < b.end; });
  if (last == entries.end() || last->end <= data_size) return {};
  return refuse(*last,
                fmt::format("the file is cut short by {} bytes: tensor {} ends at byte {} of the data, "
                            "which has {}; fetch or copy the file again",
                            last->end - data_size, quote(last->name), last->end, data_size));
}

Result<void> check_tie(const Entry& before, const Entry& entry, bool allow_shared) {
  if (allow_shared) return {};
  return refuse(entry, fmt::format("tensors {} and {} cover the identical bytes [{}, {}), which safetensors "
                                   "forbids; pass --allow-shared to store them once as tied tensors",
                                   quote(before.name), quote(entry.name), entry.begin, entry.end));
}

Failure overlap(const Entry& before, const Entry& entry) {
  return refuse(entry, fmt::format("tensors {} [{}, {}) and {} [{}, {}) overlap in part", quote(before.name),
                                   before.begin, before.end, quote(entry.name), entry.begin, entry.end));
}

Failure hole(std::uint64_t covered, const Entry& entry) {
  return refuse(entry, fmt::format("bytes [{}, {}) of the data, before tensor {}, belong to no tensor; "
                                   "safetensors allows no holes",
                                   covered, entry.begin, quote(entry.name)));
}

Failure trailing(std::uint64_t covered, std::uint64_t data_size) {
  return fail(ErrorCode::foreign_input, "",
              fmt::format("bytes [{}, {}) of the data, at the end of the file, belong to no tensor; "
                          "safetensors allows no holes",
                          covered, data_size));
}

Result<void> check_cover(const std::vector<Entry>& entries, std::uint64_t data_size, bool allow_shared) {
  const Entry* before = nullptr;
  for (const auto& entry : entries) {
    if (entry.begin == entry.end) continue;
    const auto covered = before == nullptr ? 0 : before->end;
    if (before != nullptr && entry.begin == before->begin && entry.end == before->end) {
      PTD_TRY(check_tie(*before, entry, allow_shared));
      continue;
    }
    if (entry.begin < covered) return overlap(*before, entry);
    if (entry.begin > covered) return hole(covered, entry);
    before = &entry;
  }
  const auto covered = before == nullptr ? 0 : before->end;
  if (covered != data_size) return trailing(covered, data_size);
  return {};
}

}  // namespace

Result<void> check_tensor_name(std::string_view name) {
  if (name.find('\0') == std::string_view::npos) return {};
  return fail_on(
      ErrorCode::unsupported_input, "", name,
      fmt::format("tensor name {} holds a NUL character, which PTD does not allow; rename the tensor "
                  "where the file was made",
                  quote(name)));
}

Result<void> check_ranges(const std::vector<Entry>& entries, std::uint64_t data_size, bool allow_shared) {
  for (const auto& entry : entries) PTD_TRY(check_size(entry));
  PTD_TRY(check_ends(entries, data_size));
  return check_cover(entries, data_size, allow_shared);
}

}  // namespace ptd::foreign
