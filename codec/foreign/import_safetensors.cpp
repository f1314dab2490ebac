// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <regex>
#include <set>

#include "foreign/import_sinks.hpp"
#include "foreign/safetensors.hpp"

namespace ptd::foreign {
namespace {

namespace fs = std::filesystem;

struct OpenedSafetensors {
  SourcePtr source;
  SafetensorsHeader header;
};

Result<OpenedSafetensors> open_safetensors(const fs::path& path, const ImportOptions& options) {
  PTD_LET(opened, open_file(path));
  const auto& source = *opened.source;
  std::vector<std::byte> bytes(std::min<std::uint64_t>(8, source.size()));
  PTD_TRY(source.read(0, bytes));
  auto size = safetensors_header_size(bytes, source.size());
  if (!size) return in_file(std::move(size).error(), path);
  bytes.resize(*size);
  PTD_TRY(source.read(0, bytes));
  auto header = parse_safetensors(bytes, source.size(), {options.allow_shared, options.metadata_as_json});
  if (!header) return in_file(std::move(header).error(), path);
  return OpenedSafetensors{opened.source, std::move(*header)};
}

std::vector<PairSpec> to_pairs(const std::vector<std::pair<std::string, std::string>>& metadata) {
  std::vector<PairSpec> pairs;
  pairs.reserve(metadata.size());
  for (const auto& [key, value] : metadata) pairs.push_back({key, value, ValueKind::text});
  return pairs;
}

// Adds the tensors of one file to one method.
class FileImport {
 public:
  FileImport(Writer& writer, const ImportOptions& options, ImportReport& report, MethodId method,
             std::string label)
      : writer_(writer), options_(options), report_(report), method_(method), label_(std::move(label)) {}

  Result<void> add(const OpenedSafetensors& file) {
    for (const auto& entry : file.header.entries) PTD_TRY(add_entry(file, entry));
    return {};
  }

 private:
  Result<void> add_entry(const OpenedSafetensors& file, const SafetensorsEntry& entry) {
    const bool is_state = is_made_mutable(options_, entry.name);
    PTD_LET(storage, storage_of(file, entry, is_state));
    TensorSpec tensor;
    tensor.name = entry.name;
    tensor.owner = owner_in(options_, method_, entry.name);
    tensor.dtype = entry.dtype;
    tensor.storage = storage;
    tensor.sizes = entry.sizes;
    tensor.strides = contiguous_strides(entry.sizes);
    PTD_LET(id, writer_.add_tensor(std::move(tensor)));
    ++report_.tensors;
    report_.mutable_tensors += is_state ? 1U : 0U;
    return writer_.bind(method_, id);
  }

  // Names over one range are one storage; ranges without bytes are nobody's.
  Result<StorageId> storage_of(const OpenedSafetensors& file, const SafetensorsEntry& entry, bool is_state) {
    const std::pair range{entry.begin, entry.end};
    const auto found = storages_.find(range);
    if (entry.begin != entry.end && found != storages_.end()) {
      if (found->second.second == is_state) return found->second.first;
      return fail_on(
          ErrorCode::conflict, "WRT-4", entry.name,
          "it shares its bytes with another tensor, and only one of them was made mutable; make both");
    }
    StorageSpec spec;
    spec.size = entry.end - entry.begin;
    spec.access = is_state ? Access::mutable_ : Access::immutable;
    spec.label = label_;
    if (spec.size > 0) {
      PTD_LET(content, slice_source(file.source, file.header.data_offset + entry.begin, spec.size));
      spec.content = content;
    }
    PTD_LET(storage, writer_.add_storage(std::move(spec)));
    storages_[range] = {storage, is_state};
    return storage;
  }

  Writer& writer_;
  const ImportOptions& options_;
  ImportReport& report_;
  MethodId method_;
  std::string label_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::pair<StorageId, bool>> storages_;
};

std::string method_name(const ImportOptions& options) {
  return options.method.empty() ? default_method : options.method;
}

Result<void> add_file(Writer& writer, const fs::path& path, const OpenedSafetensors& file,
                      const ImportOptions& options, ImportReport& report) {
  const auto label = path.string();
  PTD_LET(method, add_method_metadata(writer, method_name(options), path.filename().string(),
                                      to_pairs(file.header.metadata)));
  return FileImport(writer, options, report, method, label).add(file);
}

// "model-00002-of-00005.safetensors": a part of something, and nothing in it says of what.
bool is_shard_name(const std::string& name) {
  static const std::regex shard("-[0-9]+-of-[0-9]+\\.safetensors$");
  return std::regex_search(name, shard);
}

// Every tensor where the index says, and none that it does not know.
Result<void> check_shard(const SafetensorsIndex& index, std::uint32_t shard, const SafetensorsHeader& header,
                         const fs::path& path) {
  std::set<std::string_view> wanted, held;
  for (const auto& [name, in] : index.tensors)
    if (in == shard) wanted.insert(name);
  for (const auto& entry : header.entries) held.insert(entry.name);
  for (const auto name : wanted)
    if (!held.contains(name))
      return fail_on(ErrorCode::foreign_input, "", name,
                     "the index places this tensor in \"" + path.string() + "\", which does not have it");
  for (const auto name : held)
    if (!wanted.contains(name))
      return fail_on(ErrorCode::foreign_input, "", name,
                     "\"" + path.string() + "\" has this tensor, which the index does not place there");
  return {};
}

Result<SafetensorsIndex> read_index(const fs::path& path) {
  constexpr std::uint64_t most = std::uint64_t{1} << 30;
  PTD_LET(opened, open_file(path));
  if (opened.source->size() > most)
    return fail_on(ErrorCode::foreign_input, "", path.string(), "an index of more than 1 GiB is none");
  std::vector<std::byte> bytes(opened.source->size());
  PTD_TRY(opened.source->read(0, bytes));
  auto index = parse_safetensors_index(bytes);
  if (!index) return in_file(std::move(index).error(), path);
  return index;
}

}  // namespace

Result<void> import_safetensors(Writer& writer, const fs::path& path, const ImportOptions& options,
                                ImportReport& report) {
  if (is_shard_name(path.filename().string()) && !options.allow_partial)
    return fail_on(ErrorCode::unsupported_input, "", path.string(),
                   "this is one shard of several; give the model's .safetensors.index.json, or "
                   "--allow-partial to take it alone");
  PTD_LET(file, open_safetensors(path, options));
  return add_file(writer, path, file, options, report);
}

Result<void> import_safetensors_index(Writer& writer, const fs::path& path, const ImportOptions& options,
                                      ImportReport& report) {
  PTD_LET(index, read_index(path));
  PTD_TRY(writer.add_method(method_name(options)));
  for (std::uint32_t i = 0; i < index.shards.size(); ++i) {
    const auto shard = path.parent_path() / index.shards[i];
    PTD_LET(file, open_safetensors(shard, options));
    PTD_TRY(check_shard(index, i, file.header, shard));
    PTD_TRY(add_file(writer, shard, file, options, report));
  }
  PTD_TRY(
      add_method_metadata(writer, method_name(options), path.filename().string(), to_pairs(index.metadata)));
  return {};
}

}  // namespace ptd::foreign
