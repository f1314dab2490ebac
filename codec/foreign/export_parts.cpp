// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "foreign/export_parts.hpp"

#include <algorithm>
#include <numeric>
#include <set>

namespace ptd::foreign {
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

// The sink keeps count by itself; it refers to this object.
ByteSink TensorCopier::sink_at(std::uint64_t offset) {
  return [this, offset](Bytes bytes) mutable -> Result<void> {
    PTD_TRY(out_.write(offset, bytes));
    offset += bytes.size();
    done_ += bytes.size();
    if (!options_.progress || options_.progress(done_, total_)) return {};
    return fail(ErrorCode::cancelled, "", "the export was stopped before its end; the target is unchanged");
  };
}

Result<void> TensorCopier::copy_storage(std::uint32_t storage, std::uint64_t begin, std::uint64_t size,
                                        std::uint64_t offset) {
  return copy_storage_out(file_, storage, begin, size, options_.threads, sink_at(offset));
}

Result<void> TensorCopier::copy_blob(std::uint32_t blob, std::uint64_t offset) {
  return copy_blob_out(file_, blob, options_.threads, sink_at(offset));
}

Result<void> TensorCopier::copy(std::uint32_t index, std::uint64_t offset) {
  return copy_tensor_out(file_, index, options_.threads, sink_at(offset));
}

}  // namespace ptd::foreign
