// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "foreign/executorch_data.hpp"

#include <algorithm>

#include "foreign/import_sinks.hpp"

namespace ptd::foreign {

Result<std::vector<std::byte>> read_message(const ByteSource& file, std::size_t header_bytes,
                                            Result<std::uint64_t> (*size_of)(Bytes, std::uint64_t)) {
  std::vector<std::byte> bytes(std::min<std::uint64_t>(header_bytes, file.size()));
  PTD_TRY(file.read(0, bytes));
  PTD_LET(size, size_of(bytes, file.size()));
  bytes.resize(static_cast<std::size_t>(size));
  PTD_TRY(file.read(0, bytes));
  return bytes;
}

Result<void> NamedData::add(NamedBytes entry, const SourcePtr& file) {
  if (entry.range.size > 0) {
    PTD_LET(content, slice_source(file, entry.range.offset, entry.range.size));
    entry.content = content;
  }
  by_key_.emplace(entry.key, entries_.size());
  entries_.push_back(std::move(entry));
  return {};
}

Result<std::uint32_t> NamedData::add_flat_tensor(const std::filesystem::path& path) {
  PTD_LET(opened, open_file(path));
  auto message = read_message(*opened.source, flat_tensor_header_bytes, flat_tensor_message_bytes);
  if (!message) return in_file(std::move(message).error(), path);
  auto parsed = parse_flat_tensor(*message, opened.source->size());
  if (!parsed) return in_file(std::move(parsed).error(), path);
  const auto number = static_cast<std::uint32_t>(ends_.size());
  for (auto& entry : parsed->entries)
    PTD_TRY(add({std::move(entry.key), path.string(), number, parsed->segments[entry.segment], nullptr,
                 std::move(entry.layout)},
                opened.source));
  ends_.push_back(entries_.size());
  return number;
}

Result<void> NamedData::add_program(const SourcePtr& file, const std::string& origin,
                                    const ProgramInfo& program) {
  const auto number = static_cast<std::uint32_t>(ends_.size());
  for (const auto& [key, range] : program.named_data)
    PTD_TRY(add({key, origin, number, range, nullptr, std::nullopt, true}, file));
  ends_.push_back(entries_.size());
  return {};
}

std::span<NamedBytes> NamedData::of_file(std::uint32_t file) noexcept {
  const auto begin = file == 0 ? 0 : ends_[file - 1];
  return std::span(entries_).subspan(begin, ends_[file] - begin);
}

std::vector<NamedBytes*> NamedData::find(const std::string& key) {
  std::vector<NamedBytes*> found;
  const auto [begin, end] = by_key_.equal_range(key);
  for (auto entry = begin; entry != end; ++entry) found.push_back(&entries_[entry->second]);
  return found;
}

}  // namespace ptd::foreign
