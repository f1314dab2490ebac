// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Named data that says what tensor it is, into a Writer.
#pragma once

#include <map>
#include <set>

#include "foreign/executorch_data.hpp"
#include "foreign/import_sinks.hpp"

namespace ptd::foreign {

/// Adds FlatTensor entries with a layout. Immutable entries of one segment share a storage; each mutable one
/// has a storage of its own, for a shared segment says only that their first bytes are equal.
class NamedTensors {
 public:
  /// `mutable_names`: what the programs write to. All arguments must outlive this object.
  NamedTensors(Writer& writer, const ImportOptions& options, ImportReport& report,
               const std::set<std::string>& mutable_names)
      : writer_(writer), options_(options), report_(report), mutable_names_(mutable_names) {}

  /// A tensor of that owner; the same entry again gives the same tensor. Errors: `foreign_input` for bytes
  /// that do not fit the layout; `unsupported_input` for an unknown element type; `conflict` of
  /// Writer::add_tensor.
  Result<TensorId> add(const NamedBytes& entry, OwnerSpec owner);

 private:
  [[nodiscard]] bool is_mutable(const std::string& key) const;
  Result<StorageId> storage_of(const NamedBytes& entry);

  Writer& writer_;
  const ImportOptions& options_;
  ImportReport& report_;
  const std::set<std::string>& mutable_names_;
  std::map<std::pair<std::uint32_t, FileRange>, StorageId> shared_;
  std::map<std::pair<std::uint32_t, std::string>, StorageId> own_;
  std::set<std::tuple<std::uint32_t, std::string, OwnerSpec>> counted_;
};

}  // namespace ptd::foreign
