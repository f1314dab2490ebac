// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "foreign/export_parts.hpp"
#include "foreign/guard.hpp"
#include "foreign/import.hpp"
#include "foreign/safetensors.hpp"

namespace ptd::foreign {
namespace {

namespace fs = std::filesystem;

// Larger elements first, so that every tensor is aligned to its own; then by name.
void sort_for_alignment(const Model& model, std::vector<std::uint32_t>& tensors) {
  std::ranges::sort(tensors, {}, [&](std::uint32_t i) {
    const Tensor& tensor = model.tensors[i];
    return std::tuple(-static_cast<int>(dtype_bits(tensor.dtype)), tensor.name);
  });
}

class Export {
 public:
  Export(const Reader& file, const ExportOptions& options)
      : file_(file), model_(file.model()), options_(options) {}

  Result<ExportReport> run(const fs::path& target) {
    PTD_LET(selection, choose_tensors(model_, options_.method));
    sort_for_alignment(model_, selection.tensors);
    PTD_LET(data_bytes, check_tensors(model_, selection.tensors, "safetensors"));
    add_metadata(selection);
    add_notes(selection);
    PTD_LET(header, render_header(selection));
    PTD_TRY(check_room(target, data_bytes));
    PTD_LET(out, file::AtomicFile::create(target));
    PTD_TRY(out.write(0, header));
    TensorCopier copier(file_, options_, out, data_bytes);
    for (std::size_t i = 0; i < selection.tensors.size(); ++i)
      PTD_TRY(copier.copy(selection.tensors[i], header_.data_offset + header_.entries[i].begin));
    report_.tensors = selection.tensors.size();
    report_.file_bytes = header.size() + data_bytes;
    PTD_TRY(out.commit(report_.file_bytes));
    return report_;
  }

 private:
  void add_metadata(const Selection& selection) {
    for (const auto& pair : selected_metadata(model_, selection)) take_text(pair);
    std::ranges::sort(header_.metadata);
  }

  void take_text(const Pair& pair) {
    const auto twin = std::ranges::find(header_.metadata, pair.key,
                                        [](const auto& entry) { return std::string_view(entry.first); });
    if (pair.kind == ValueKind::bytes || twin != header_.metadata.end())
      report_.notes.push_back("metadata \"" + std::string(pair.key) + "\" was left out");
    else
      header_.metadata.emplace_back(pair.key, pair.value);
  }

  void add_notes(const Selection& selection) {
    ExportNotes notes(model_, selection.tensors);
    notes.add_common();
    notes.add_if([](const Tensor& t) { return !t.scheme.empty(); },
                 "tensors are packed; their schemes were left out");
    notes.add(model_.blobs.size(), "blobs were left out");
    std::ranges::move(notes.take(), std::back_inserter(report_.notes));
  }

  Result<std::vector<std::byte>> render_header(const Selection& selection) {
    for (const auto i : selection.tensors) {
      const Tensor& tensor = model_.tensors[i];
      header_.entries.push_back(
          {std::string(tensor.name), tensor.dtype, {tensor.sizes.begin(), tensor.sizes.end()}, 0, 0});
    }
    return render_safetensors(header_);
  }

  const Reader& file_;
  const Model& model_;
  const ExportOptions& options_;
  ExportReport report_;
  SafetensorsHeader header_;
};

}  // namespace

Result<ExportReport> export_safetensors(const Reader& file, const fs::path& target,
                                        const ExportOptions& options) {
  return guarded([&] { return Export(file, options).run(target); });
}

}  // namespace ptd::foreign
