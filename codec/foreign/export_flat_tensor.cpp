// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <variant>

#include "foreign/executorch_keys.hpp"
#include "foreign/export_parts.hpp"
#include "foreign/flat_tensor.hpp"
#include "foreign/guard.hpp"
#include "foreign/json_events.hpp"
#include "foreign/scalar_type.hpp"

namespace ptd::foreign {
namespace {

namespace fs = std::filesystem;

// Where a segment's bytes come from.
struct StorageBytes {
  std::uint32_t storage;
  std::uint64_t begin;
};
struct BlobBytes {
  std::uint32_t blob;
};
struct RowMajorBytes {
  std::uint32_t tensor;
};
using SegmentBytes = std::variant<StorageBytes, BlobBytes, RowMajorBytes>;

// Two segments with one of these have the same bytes: a content from `begin` on, then zeros. Rows that are
// gathered have the number of their tensor instead.
struct Identity {
  std::uint32_t content = no_index;
  std::uint32_t gathered = no_index;
  std::uint64_t begin = 0;
  std::uint64_t size = 0;

  friend auto operator<=>(const Identity&, const Identity&) = default;
};

std::string_view metadata_of(const std::vector<Pair>& metadata, std::string_view key) {
  const auto found = std::ranges::find(metadata, key, &Pair::key);
  return found == metadata.end() ? std::string_view() : found->value;
}

std::optional<std::vector<std::uint8_t>> parse_order(std::string_view json, std::size_t rank) {
  const auto list = nlohmann::json::parse(json, nullptr, false);
  if (!list.is_array() || list.size() != rank) return std::nullopt;
  std::vector<std::uint8_t> order;
  std::set<std::uint64_t> seen;
  for (const auto& dimension : list) {
    if (!dimension.is_number_unsigned()) return std::nullopt;
    const auto number = dimension.get<std::uint64_t>();
    if (number >= rank || !seen.insert(number).second) return std::nullopt;
    order.push_back(static_cast<std::uint8_t>(number));
  }
  return order;
}

// Strides count only where there is a second element.
bool lies_in_order(const Tensor& tensor, const std::vector<std::uint8_t>& order) {
  const auto dense = strides_in_order({tensor.sizes.begin(), tensor.sizes.end()}, order);
  if (!dense) return false;
  for (std::size_t i = 0; i < tensor.sizes.size(); ++i)
    if (tensor.sizes[i] > 1 && tensor.strides[i] != (*dense)[i]) return false;
  return true;
}

// The order in which the tensor's elements lie densely, if they do.
std::optional<std::vector<std::uint8_t>> dense_order(const Tensor& tensor) {
  if (const auto said = metadata_of(tensor.metadata, dim_order_of); !said.empty())
    if (auto order = parse_order(said, tensor.sizes.size()); order && lies_in_order(tensor, *order))
      return order;
  auto order = order_of_strides(tensor.strides);
  if (lies_in_order(tensor, order)) return order;
  return std::nullopt;
}

std::vector<std::uint8_t> ordinary_order(std::size_t rank) {
  return order_of_strides(std::vector<std::uint64_t>(rank));
}

class Export {
 public:
  Export(const Reader& file, const ExportOptions& options)
      : file_(file), model_(file.model()), options_(options) {}

  Result<ExportReport> run(const fs::path& target) {
    PTD_LET(selection, choose_tensors(model_, options_.method));
    for (const auto tensor : selection.tensors) PTD_TRY(add_tensor(tensor));
    for (const auto blob : chosen_blobs()) PTD_TRY(add_blob(blob));
    PTD_TRY(check_dtypes());
    PTD_LET(plan, plan_flat_tensor(entries_, sizes_));
    PTD_TRY(check_room(target, plan.file_bytes));
    PTD_LET(out, file::AtomicFile::create(target));
    PTD_TRY(out.write(0, plan.head));
    PTD_TRY(copy_segments(out, plan));
    PTD_TRY(out.commit(plan.file_bytes));
    add_notes(selection.tensors);
    report_.tensors = selection.tensors.size();
    report_.file_bytes = plan.file_bytes;
    return report_;
  }

 private:
  // All, or what the method binds, by itself or with its libraries.
  [[nodiscard]] std::set<std::uint32_t> chosen_blobs() const {
    std::set<std::uint32_t> blobs;
    if (options_.method.empty()) {
      for (std::uint32_t i = 0; i < model_.blobs.size(); ++i) blobs.insert(i);
      return blobs;
    }
    const auto& method = model_.methods[*model_.find_method(options_.method)];
    blobs.insert(method.blobs.begin(), method.blobs.end());
    for (const auto library : method.libraries)
      for (const auto& variant : model_.libraries[library].variants)
        if (variant.blob != no_index) blobs.insert(variant.blob);
    return blobs;
  }

  Result<void> add_tensor(std::uint32_t index) {
    const Tensor& tensor = model_.tensors[index];
    const Storage& storage = model_.storages[tensor.storage];
    if (storage.origin == Origin::external) {
      ++external_;
      return {};
    }
    if (const auto key = metadata_of(tensor.metadata, key_of_storage); !key.empty())
      return add_entry(key, std::nullopt, StorageBytes{tensor.storage, 0},
                       {storage.content, no_index, 0, storage.size});
    return add_named(index, tensor);
  }

  Result<void> add_named(std::uint32_t index, const Tensor& tensor) {
    PTD_LET(layout, layout_of(tensor));
    if (!layout) return {};
    const auto size = logical_bytes(tensor);
    if (size == 0) return add_entry(tensor.name, layout, StorageBytes{tensor.storage, 0}, {});
    if (const auto order = dense_order(tensor); order && tensor.scheme.empty()) {
      layout->dim_order = *order;
    } else if (!is_contiguous(tensor)) {
      ++gathered_;
      return add_entry(tensor.name, layout, RowMajorBytes{index}, {no_index, index, 0, size});
    }
    const auto begin = tensor.storage_offset * dtype_bits(tensor.dtype) / 8;
    return add_entry(tensor.name, layout, StorageBytes{tensor.storage, begin},
                     {model_.storages[tensor.storage].content, no_index, begin, size});
  }

  // Nothing for a dtype that ExecuTorch lacks; all of these are named together later.
  Result<std::optional<FlatTensorLayoutInfo>> layout_of(const Tensor& tensor) {
    FlatTensorLayoutInfo layout;
    const auto* type = scalar_type_of(tensor.dtype);
    layout.sizes.assign(tensor.sizes.begin(), tensor.sizes.end());
    if (const auto* const packed = scalar_type_of_scheme(tensor.scheme)) {
      type = packed;
      layout.sizes.assign(tensor.logical_sizes.begin(), tensor.logical_sizes.end());
    } else if (!tensor.scheme.empty()) {
      ++unknown_schemes_;
    }
    if (type == nullptr) {
      unsupported_.push_back(&tensor);
      return std::optional<FlatTensorLayoutInfo>();
    }
    layout.scalar_type = static_cast<std::int8_t>(type->number);
    layout.dim_order = ordinary_order(layout.sizes.size());
    if (const auto order = parse_order(metadata_of(tensor.metadata, dim_order_of), layout.sizes.size()))
      layout.dim_order = *order;
    constexpr std::uint64_t most = 0x7FFFFFFF;
    if (std::ranges::any_of(layout.sizes, [](auto size) { return size > most; }))
      return fail_on(ErrorCode::unsupported_input, "", tensor.name,
                     "a dimension has more than 2^31 - 1 elements, which FlatTensor cannot say");
    return std::optional(std::move(layout));
  }

  Result<void> check_dtypes() const {
    if (unsupported_.empty()) return {};
    constexpr std::size_t most = 16;
    std::string list;
    for (std::size_t i = 0; i < std::min(most, unsupported_.size()); ++i)
      list += (i == 0 ? "" : ", ") + quote(unsupported_[i]->name) + " (" +
              std::string(dtype_name(unsupported_[i]->dtype)) + ")";
    return fail(ErrorCode::unsupported_input, "",
                std::to_string(unsupported_.size()) + " tensors have dtypes that ExecuTorch lacks: " + list);
  }

  Result<void> add_blob(std::uint32_t index) {
    const Blob& blob = model_.blobs[index];
    const bool is_program = blob.media_type == program_media_type;
    if (is_program || metadata_of(blob.metadata, in_program) == "true") {
      ++left_to_program_;
      return {};
    }
    return add_entry(blob.name, std::nullopt, BlobBytes{index}, {blob.content, no_index, 0, blob.size});
  }

  Result<void> add_entry(std::string_view key, std::optional<FlatTensorLayoutInfo> layout, SegmentBytes bytes,
                         const Identity& identity) {
    const auto [segment, is_new] = segments_.try_emplace(identity, static_cast<std::uint32_t>(sizes_.size()));
    if (is_new) {
      sizes_.push_back(identity.size);
      bytes_.push_back(bytes);
    }
    const auto [known, is_new_key] = keys_.try_emplace(std::string(key), entries_.size());
    if (is_new_key) {
      entries_.push_back({std::string(key), segment->second, std::move(layout)});
      return {};
    }
    // Methods may view one storage in different ways; the key stands for the storage.
    const auto& before = entries_[known->second];
    if (before.segment == segment->second && !before.layout && !layout) return {};
    return fail_on(
        ErrorCode::unsupported_input, "", key,
        "two different tensors or blobs would have this key, and FlatTensor has room for one; export with "
        "--method");
  }

  Result<void> copy_segments(const file::AtomicFile& out, const FlatTensorPlan& plan) {
    std::uint64_t total = 0;
    for (const auto& segment : plan.segments) total += segment.size;
    TensorCopier copier(file_, options_, out, total);
    for (std::size_t i = 0; i < bytes_.size(); ++i)
      PTD_TRY(copy_segment(copier, bytes_[i], plan.segments[i]));
    return {};
  }

  static Result<void> copy_segment(TensorCopier& copier, const SegmentBytes& bytes, const FileRange& place) {
    if (const auto* storage = std::get_if<StorageBytes>(&bytes))
      return copier.copy_storage(storage->storage, storage->begin, place.size, place.offset);
    if (const auto* blob = std::get_if<BlobBytes>(&bytes)) return copier.copy_blob(blob->blob, place.offset);
    return copier.copy(std::get<RowMajorBytes>(bytes).tensor, place.offset);
  }

  void add_notes(const std::vector<std::uint32_t>& tensors) {
    ExportNotes notes(model_, tensors);
    notes.add(external_, "tensors are supplied by the runtime and have no bytes to write");
    notes.add(gathered_, "tensors had strides that are no dim order and were written row-major");
    notes.add(unknown_schemes_,
              "tensors are packed; their bytes were written as uint8 and their schemes left out");
    notes.add(left_to_program_, "blobs were left out, since the program carries them itself");
    report_.notes = notes.take();
  }

  const Reader& file_;
  const Model& model_;
  const ExportOptions& options_;
  ExportReport report_;
  std::vector<FlatTensorEntry> entries_;
  std::map<std::string, std::size_t> keys_;
  std::vector<SegmentBytes> bytes_;  ///< a segment each, and its size:
  std::vector<std::uint64_t> sizes_;
  std::map<Identity, std::uint32_t> segments_;
  std::vector<const Tensor*> unsupported_;
  std::uint64_t external_ = 0, gathered_ = 0, unknown_schemes_ = 0, left_to_program_ = 0;
};

}  // namespace

Result<ExportReport> export_flat_tensor(const Reader& file, const fs::path& target,
                                        const ExportOptions& options) {
  return guarded([&] { return Export(file, options).run(target); });
}

}  // namespace ptd::foreign
