// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// The rules that a model and a layout obey. Behind these checks everything may trust them.
#pragma once

#include <ptd/error.hpp>
#include <ptd/layout.hpp>
#include <ptd/model.hpp>

namespace ptd::model {

/// What the header says about the messages.
struct Version {
  std::uint16_t major = 1;
  std::uint16_t minor = 0;
  std::uint64_t required_features = 0;  ///< those that the model repeats
};

/// Checks every model rule, in SPEC.md's order: objects in schema and index order, then what refers
/// to what. Time O(n log n) in the number of objects, memory O(n).
Result<void> check_model(const Model& model, const Version& version);

/// Checks every layout rule and computes the segments' offsets, table offsets and chunk counts.
/// `layout_offset` is where the header says that the layout lies: the tables must end there.
Result<void> place_layout(Layout& layout, const Model& model, const Version& version,
                          std::uint64_t layout_offset);

/// Bytes of one chunk-table entry: the raw hash; coded chunks have a stored hash and a stored size too.
constexpr std::uint64_t table_entry_bytes(Encoding encoding) noexcept { return is_coded(encoding) ? 24 : 8; }

// The checks of single fields, which the writer applies to what it is given. Each error names `subject`.

/// A name: 1 to 1,024 bytes of UTF-8 [NAM-1]. (That it has no NUL is part of the message encoding, so only
/// the writer can meet one; it is refused here too.)
Result<void> check_name(std::string_view name, std::string_view what);

/// Keys are names, ascending; values are bounded and, if text or json, UTF-8 [MET-*].
Result<void> check_pairs(const std::vector<Pair>& pairs, std::string_view owner);

/// A view inside a storage of `storage_size` bytes [VIE-*], [SUB-*].
Result<void> check_view(const Tensor& tensor, std::uint64_t storage_size);

/// Block-quantised data [PAK-*].
Result<void> check_packed(const Tensor& tensor);

}  // namespace ptd::model
