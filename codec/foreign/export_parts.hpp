// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// What the exporters have in common.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "file/atomic_file.hpp"
#include "foreign/copy_out.hpp"
#include "foreign/import.hpp"

namespace ptd::foreign {

/// What is exported: everything, or what one method binds.
struct Selection {
  std::vector<std::uint32_t> tensors;
  std::uint32_t method = no_index;  ///< that was asked for, or else the file's only one
};

/// Error `not_found` for a method that is not there.
Result<Selection> choose_tensors(const Model& model, const std::string& method);

/// Refuses tensors whose bytes are not in the file, and names that occur twice: `format` has one namespace.
/// Gives the tensors' bytes in all.
Result<std::uint64_t> check_tensors(const Model& model, const std::vector<std::uint32_t>& tensors,
                                    std::string_view format);

/// The metadata of the file and of the selected method.
std::vector<Pair> selected_metadata(const Model& model, const Selection& selection);

/// Notes about what no other format says.
class ExportNotes {
 public:
  ExportNotes(const Model& model, const std::vector<std::uint32_t>& tensors)
      : model_(model), tensors_(tensors) {}

  /// "3 tensors are mutable" and the like; nothing where there are none.
  void add(std::uint64_t count, const std::string& what);
  void add_common();
  void add_if(const std::function<bool(const Tensor&)>& is_such, const std::string& what);

  [[nodiscard]] std::vector<std::string> take() { return std::move(notes_); }

 private:
  const Model& model_;
  const std::vector<std::uint32_t>& tensors_;
  std::vector<std::string> notes_;
};

/// Copies bytes of a model into a file, with progress.
class TensorCopier {
 public:
  /// `total`: bytes of all copies. All arguments must outlive this object.
  TensorCopier(const Reader& file, const ExportOptions& options, const file::AtomicFile& out,
               std::uint64_t total)
      : file_(file), options_(options), out_(out), total_(total) {}

  /// Writes logical_bytes of a tensor, row-major, at `offset`.
  Result<void> copy(std::uint32_t index, std::uint64_t offset);

  /// Writes bytes [begin, begin + size) of a storage at `offset`.
  Result<void> copy_storage(std::uint32_t storage, std::uint64_t begin, std::uint64_t size,
                            std::uint64_t offset);

  /// Writes a blob at `offset`.
  Result<void> copy_blob(std::uint32_t blob, std::uint64_t offset);

 private:
  [[nodiscard]] ByteSink sink_at(std::uint64_t offset);

  const Reader& file_;
  const ExportOptions& options_;
  const file::AtomicFile& out_;
  std::uint64_t total_, done_ = 0;
};

}  // namespace ptd::foreign
