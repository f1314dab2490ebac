// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <set>

#include "file/atomic_file.hpp"
#include "foreign/guard.hpp"
#include "foreign/import.hpp"
#include "foreign/safetensors.hpp"

namespace ptd::foreign {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t window_bytes = std::uint64_t{16} << 20;

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
    PTD_TRY(choose_tensors());
    PTD_TRY(check_tensors());
    add_metadata();
    add_notes();
    PTD_LET(header, render_header());
    PTD_TRY(check_room(target, data_bytes_));
    PTD_LET(out, file::AtomicFile::create(target));
    PTD_TRY(out.write(0, header));
    end_ = header.size();
    for (const auto tensor : tensors_) PTD_TRY(copy_tensor(out, tensor));
    PTD_TRY(out.commit(end_));
    report_.tensors = tensors_.size();
    report_.file_bytes = end_;
    return report_;
  }

 private:
  Result<void> choose_tensors() {
    if (options_.method.empty()) {
      tensors_.resize(model_.tensors.size());
      std::iota(tensors_.begin(), tensors_.end(), 0U);
    } else {
      const auto method = model_.find_method(options_.method);
      if (!method)
        return fail_on(ErrorCode::not_found, "", options_.method,
                       "the file has no method of this name; see `ptd info`");
      method_ = *method;
      const auto bound = model_.methods[*method].tensors;
      tensors_.assign(bound.begin(), bound.end());
    }
    sort_for_alignment(model_, tensors_);
    return {};
  }

  // safetensors has one namespace.
  Result<void> check_tensors() {
    std::set<std::string_view> names;
    for (const auto i : tensors_) {
      const Tensor& tensor = model_.tensors[i];
      if (!names.insert(tensor.name).second)
        return fail_on(ErrorCode::unsupported_input, "", tensor.name,
                       "two tensors of different owners have this name, and safetensors has room for one; "
                       "export with --method");
      if (model_.storages[tensor.storage].origin == Origin::external)
        return fail_on(ErrorCode::unsupported_input, "", tensor.name,
                       "its storage is external: its bytes are not in the file");
      // Views may overlap and zeros cost nothing, so a small file can stand for more than any disk holds.
      if (__builtin_add_overflow(data_bytes_, logical_bytes(tensor), &data_bytes_))
        return fail_on(ErrorCode::unsupported_input, "", tensor.name,
                       "the tensors up to this one would fill more than 2^64 bytes");
    }
    return {};
  }

  void add_metadata() {
    take_text(model_.metadata);
    if (method_ != no_index) take_text(model_.methods[method_].metadata);
    if (options_.method.empty() && model_.methods.size() == 1) take_text(model_.methods[0].metadata);
  }

  void take_text(const std::vector<Pair>& pairs) {
    for (const auto& pair : pairs) {
      const auto twin = std::ranges::find(header_.metadata, pair.key,
                                          [](const auto& entry) { return std::string_view(entry.first); });
      if (pair.kind == ValueKind::bytes || twin != header_.metadata.end())
        report_.notes.push_back("metadata \"" + std::string(pair.key) + "\" was left out");
      else
        header_.metadata.emplace_back(pair.key, pair.value);
    }
    std::ranges::sort(header_.metadata);
  }

  void add_notes() {
    const auto count = [&](auto predicate) { return std::ranges::count_if(tensors_, predicate); };
    note(count([&](auto i) { return storage_of(i).access == Access::mutable_; }), "tensors are mutable");
    note(count([&](auto i) { return !is_contiguous(model_.tensors[i]); }),
         "tensors had strides and were written row-major");
    note(count([&](auto i) { return !model_.tensors[i].scheme.empty(); }),
         "tensors are packed; their schemes were left out");
    note(count([&](auto i) { return !model_.tensors[i].metadata.empty(); }),
         "tensors have metadata of their own, which was left out");
    note(static_cast<std::ptrdiff_t>(model_.blobs.size()), "blobs were left out");
  }

  void note(std::ptrdiff_t count, const std::string& what) {
    if (count > 0) report_.notes.push_back(std::to_string(count) + " " + what);
  }

  [[nodiscard]] const Storage& storage_of(std::uint32_t tensor) const {
    return model_.storages[model_.tensors[tensor].storage];
  }

  Result<std::vector<std::byte>> render_header() {
    for (const auto i : tensors_) {
      const Tensor& tensor = model_.tensors[i];
      header_.entries.push_back(
          {std::string(tensor.name), tensor.dtype, {tensor.sizes.begin(), tensor.sizes.end()}, 0, 0});
    }
    return render_safetensors(header_);
  }

  // A few bytes of a .ptd file can stand for very many zeros; those must not fill the disk.
  static Result<void> check_room(const fs::path& target, std::uint64_t needed) {
    std::error_code failed;
    const auto folder = target.has_parent_path() ? target.parent_path() : fs::path(".");
    const auto space = fs::space(folder, failed);
    if (failed || space.available >= needed) return {};
    return fail_on(ErrorCode::io, "", target.string(),
                   "it would have " + std::to_string(needed) + " bytes and only " +
                       std::to_string(space.available) + " are free; make room or choose another folder");
  }

  Result<void> copy_tensor(const file::AtomicFile& out, std::uint32_t index) {
    const Tensor& tensor = model_.tensors[index];
    return is_contiguous(tensor) ? copy_storage(out, tensor) : copy_rows(out, index, tensor);
  }

  Result<void> copy_storage(const file::AtomicFile& out, const Tensor& tensor) {
    const std::uint64_t begin = tensor.storage_offset * dtype_bits(tensor.dtype) / 8;
    const std::uint64_t size = logical_bytes(tensor);
    for (std::uint64_t at = 0; at < size; at += window_bytes) {
      buffer_.resize(std::min(window_bytes, size - at));
      PTD_TRY(file_.read_storage(tensor.storage, begin + at, buffer_, {true, options_.threads}));
      PTD_TRY(append(out));
    }
    return {};
  }

  // Windows of the outermost dimension; a view that is not contiguous has one, and whole bytes for elements.
  Result<void> copy_rows(const file::AtomicFile& out, std::uint32_t index, const Tensor& tensor) {
    const std::uint64_t row_bytes = logical_bytes(tensor) / tensor.sizes[0];
    const std::uint64_t rows = std::max<std::uint64_t>(window_bytes / row_bytes, 1);
    std::vector<Slice> region;
    for (const auto size : tensor.sizes) region.push_back({0, size, 1});
    for (std::uint64_t at = 0; at < tensor.sizes[0]; at += rows) {
      region[0] = {at, std::min(at + rows, tensor.sizes[0]), 1};
      buffer_.resize(region[0].count() * row_bytes);
      PTD_TRY(file_.read_region(index, region, buffer_, {true, options_.threads}));
      PTD_TRY(append(out));
    }
    return {};
  }

  Result<void> append(const file::AtomicFile& out) {
    PTD_TRY(out.write(end_, buffer_));
    end_ += buffer_.size();
    done_ += buffer_.size();
    if (!options_.progress || options_.progress(done_, data_bytes_)) return {};
    return fail(ErrorCode::cancelled, "", "the export was stopped before its end; the target is unchanged");
  }

  const Reader& file_;
  const Model& model_;
  const ExportOptions& options_;
  ExportReport report_;
  SafetensorsHeader header_;
  std::uint32_t method_ = no_index;
  std::vector<std::uint32_t> tensors_;
  std::uint64_t data_bytes_ = 0, end_ = 0, done_ = 0;
  std::vector<std::byte> buffer_;
};

}  // namespace

Result<ExportReport> export_safetensors(const Reader& file, const fs::path& target,
                                        const ExportOptions& options) {
  return guarded([&] { return Export(file, options).run(target); });
}

}  // namespace ptd::foreign
