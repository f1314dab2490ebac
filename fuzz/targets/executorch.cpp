// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// ExecuTorch's FlatTensor and program files. Input: the file.
#include <algorithm>

#include "foreign/executorch_program.hpp"
#include "foreign/flat_tensor.hpp"
#include "support/conversion.hpp"
#include "support/require.hpp"
#include "support/target.hpp"

namespace ptd::fuzz {
namespace {

using foreign::FlatTensorEntry;

void require_in_file(const foreign::FileRange& range, std::uint64_t file_size) {
  require(range.offset <= file_size && range.size <= file_size - range.offset, "ranges lie in the file");
}

bool same_entry(const FlatTensorEntry& a, const FlatTensorEntry& b) {
  if (a.key != b.key || a.segment != b.segment || a.layout.has_value() != b.layout.has_value()) return false;
  return !a.layout || (a.layout->scalar_type == b.layout->scalar_type && a.layout->sizes == b.layout->sizes &&
                       a.layout->dim_order == b.layout->dim_order);
}

void require_writable(const foreign::FlatTensorFile& file) {
  std::vector<std::uint64_t> sizes;
  for (const auto& segment : file.segments) sizes.push_back(segment.size);
  const auto plan = foreign::plan_flat_tensor(file.entries, sizes);
  if (!succeeded(plan)) return;
  const auto back = foreign::parse_flat_tensor(plan->head, plan->file_bytes);
  require_success(back, "what was planned is parsed");
  require(std::ranges::equal(back->entries, file.entries, same_entry), "entries come back as they were");
  for (std::size_t i = 0; i < sizes.size(); ++i)
    require(back->segments[i].size == sizes[i] && back->segments[i].offset == plan->segments[i].offset,
            "segments come back as they were");
}

void check_flat_tensor(Bytes file) {
  const auto size = foreign::flat_tensor_message_bytes(
      file.first(std::min(file.size(), foreign::flat_tensor_header_bytes)), file.size());
  if (!succeeded(size)) return;
  require(*size <= file.size(), "the message lies in the file");
  const auto parsed = foreign::parse_flat_tensor(file.first(*size), file.size());
  if (!succeeded(parsed)) return;
  for (const auto& segment : parsed->segments) require_in_file(segment, file.size());
  for (const auto& entry : parsed->entries)
    require(entry.segment < parsed->segments.size(), "segments exist");
  require_writable(*parsed);
}

void check_program(Bytes file) {
  const auto size = foreign::program_message_bytes(
      file.first(std::min(file.size(), foreign::program_header_bytes)), file.size());
  if (!succeeded(size)) return;
  require(*size <= file.size(), "the message lies in the file");
  const auto program = foreign::parse_program(file.first(*size), file.size());
  if (!succeeded(program)) return;
  for (const auto& method : program->methods)
    for (const auto& delegate : method.delegates) require_in_file(delegate.payload, file.size());
  for (const auto& [key, range] : program->named_data) require_in_file(range, file.size());
}

std::vector<std::byte> bytes_of(const Reader& file, const Tensor& tensor, std::uint32_t index) {
  std::vector<std::byte> bytes(logical_bytes(tensor));
  require_success(file.read_tensor(index, bytes, {.threads = 1}), "a verified file can be read");
  return bytes;
}

// What the export could not say is not in it; what it says is what was there.
void require_same_tensor(const Reader& file, const Reader& again, std::uint32_t index) {
  const auto& tensor = again.model().tensors[index];
  const auto found = file.model().find_tensor({}, tensor.name);
  if (!found) return;
  const auto& original = file.model().tensors[*found];
  require(tensor.dtype == original.dtype && std::ranges::equal(tensor.sizes, original.sizes),
          "a tensor comes back as it was");
  require(bytes_of(again, tensor, index) == bytes_of(file, original, *found), "a tensor's bytes come back");
}

void check_conversion(Bytes input) {
  foreign::ImportOptions options;
  options.keep_program = true;
  const auto file = converted(input, options);
  if (!file) return;
  const auto back = exported(*file, foreign::export_flat_tensor);
  if (!back) return;
  const auto again = converted(*back, {});
  require(again.has_value(), "what was exported is imported");
  for (std::uint32_t i = 0; i < again->model().tensors.size(); ++i) require_same_tensor(*file, *again, i);
}

void run(Bytes input) {
  check_flat_tensor(input);
  check_program(input);
  check_conversion(input);
}

}  // namespace

Target executorch_target() { return {"executorch", run, {64 << 20, 1024}}; }

}  // namespace ptd::fuzz
