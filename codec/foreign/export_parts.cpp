// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "foreign/export_parts.hpp"

#include <algorithm>
#include <numeric>
#include <set>

namespace ptd::foreign {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t window_bytes = std::uint64_t{16} << 20;

}  // namespace

Result<Selection> choose_tensors(const Model& model, const std::string& method) {
  Selection selection;
  if (method.empty()) {
    selection.tensors.resize(model.tensors.size());
    std::iota(selection.tensors.begin(), selection.tensors.end(), 0U);
    if (model.methods.size() == 1) selection.method = 0;
    return selection;
  }
  const auto found = model.find_method(method);
  if (!found)
    return fail_on(ErrorCode::not_found, "", method, "the file has no method of this name; see `ptd info`");
  selection.method = *found;
  const auto bound = model.methods[*found].tensors;
  selection.tensors.assign(bound.begin(), bound.end());
  return selection;
}

Result<std::uint64_t> check_tensors(const Model& model, const std::vector<std::uint32_t>& tensors,
                                    std::string_view format) {
  std::set<std::string_view> names;
  std::uint64_t bytes = 0;
  for (const auto i : tensors) {
    const Tensor& tensor = model.tensors[i];
    if (!names.insert(tensor.name).second)
      return fail_on(ErrorCode::unsupported_input, "", tensor.name,
                     "two tensors of different owners have this name, and " + std::string(format) +
                         " has room for one; export with --method");
    if (model.storages[tensor.storage].origin == Origin::external)
      return fail_on(ErrorCode::unsupported_input, "", tensor.name,
                     "its storage is external: its bytes are not in the file");
    // Views may overlap and zeros cost nothing, so a small file can stand for more than any disk holds.
    if (__builtin_add_overflow(bytes, logical_bytes(tensor), &bytes))
      return fail_on(ErrorCode::unsupported_input, "", tensor.name,
                     "the tensors up to this one would fill more than 2^64 bytes");
  }
  return bytes;
}

std::vector<Pair> selected_metadata(const Model& model, const Selection& selection) {
  auto pairs = model.metadata;
  if (selection.method == no_index) return pairs;
  const auto& more = model.methods[selection.method].metadata;
  pairs.insert(pairs.end(), more.begin(), more.end());
  return pairs;
}

Result<void> check_room(const fs::path& target, std::uint64_t needed) {
  std::error_code failed;
  const auto folder = target.has_parent_path() ? target.parent_path() : fs::path(".");
  const auto space = fs::space(folder, failed);
  if (failed || space.available >= needed) return {};
  return fail_on(ErrorCode::io, "", target.string(),
                 "it would have " + std::to_string(needed) + " bytes and only " +
                     std::to_string(space.available) + " are free; make room or choose another folder");
}

void ExportNotes::add(std::uint64_t count, const std::string& what) {
  if (count > 0) notes_.push_back(std::to_string(count) + " " + what);
}

void ExportNotes::add_if(const std::function<bool(const Tensor&)>& is_such, const std::string& what) {
  const auto count = std::ranges::count_if(tensors_, [&](auto i) { return is_such(model_.tensors[i]); });
  add(static_cast<std::uint64_t>(count), what);
}

void ExportNotes::add_common() {
  add_if([&](const Tensor& t) { return model_.storages[t.storage].access == Access::mutable_; },
         "tensors are mutable");
  add_if([](const Tensor& t) { return !is_contiguous(t); }, "tensors had strides and were written row-major");
  add_if([](const Tensor& t) { return !t.metadata.empty(); },
         "tensors have metadata of their own, which was left out");
}

Result<void> TensorCopier::put(std::uint64_t offset) {
  PTD_TRY(out_.write(offset, buffer_));
  done_ += buffer_.size();
  if (!options_.progress || options_.progress(done_, total_)) return {};
  return fail(ErrorCode::cancelled, "", "the export was stopped before its end; the target is unchanged");
}

template <class Read>
Result<void> TensorCopier::copy_windows(std::uint64_t size, std::uint64_t offset, const Read& read) {
  for (std::uint64_t at = 0; at < size; at += window_bytes) {
    buffer_.resize(std::min(window_bytes, size - at));
    PTD_TRY(read(at));
    PTD_TRY(put(offset + at));
  }
  return {};
}

Result<void> TensorCopier::copy_storage(std::uint32_t storage, std::uint64_t begin, std::uint64_t size,
                                        std::uint64_t offset) {
  return copy_windows(size, offset, [&](std::uint64_t at) {
    return file_.read_storage(storage, begin + at, buffer_, {true, options_.threads});
  });
}

Result<void> TensorCopier::copy_blob(std::uint32_t blob, std::uint64_t offset) {
  return copy_windows(file_.model().blobs[blob].size, offset, [&](std::uint64_t at) {
    return file_.read_blob(blob, at, buffer_, {true, options_.threads});
  });
}

Result<void> TensorCopier::copy(std::uint32_t index, std::uint64_t offset) {
  const Tensor& tensor = file_.model().tensors[index];
  if (!is_contiguous(tensor)) return copy_rows(index, tensor, offset);
  const std::uint64_t begin = tensor.storage_offset * dtype_bits(tensor.dtype) / 8;
  return copy_storage(tensor.storage, begin, logical_bytes(tensor), offset);
}

// Windows of the outermost dimension; a view that is not contiguous has one, and whole bytes for elements.
Result<void> TensorCopier::copy_rows(std::uint32_t index, const Tensor& tensor, std::uint64_t offset) {
  const std::uint64_t row_bytes = logical_bytes(tensor) / tensor.sizes[0];
  const std::uint64_t rows = std::max<std::uint64_t>(window_bytes / row_bytes, 1);
  std::vector<Slice> region;
  for (const auto size : tensor.sizes) region.push_back({0, size, 1});
  for (std::uint64_t at = 0; at < tensor.sizes[0]; at += rows) {
    region[0] = {at, std::min(at + rows, tensor.sizes[0]), 1};
    buffer_.resize(region[0].count() * row_bytes);
    PTD_TRY(file_.read_region(index, region, buffer_, {true, options_.threads}));
    PTD_TRY(put(offset + at * row_bytes));
  }
  return {};
}

}  // namespace ptd::foreign
