// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// What differs between two models.
#pragma once

#include <cstdint>
#include <ptd/model.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "cli/model_compare.hpp"

namespace ptd::cli {

enum class Change : std::uint8_t { removed, added, changed, renamed };

/// In the order in which differences are listed.
enum class Subject : std::uint8_t { file, metadata, method, library, blob, tensor };

std::string_view subject_name(Subject subject) noexcept;

/// One line of a diff. All text is raw: escape it before it meets a terminal.
struct Difference {
  Change change = Change::changed;
  Subject subject = Subject::tensor;
  std::string name;             ///< empty for the file
  std::string owner;            ///< of a tensor, as owner_note has it
  std::string new_name;         ///< renamed: its name and owner in the second model
  std::string new_owner;        ///< renamed
  std::vector<Detail> details;  ///< what changed; of what was added or removed, what it is like
};

struct Tally {
  std::uint64_t tensors = 0;
  std::uint64_t bytes = 0;  ///< logical, each tensor for itself; at most 2^64 - 1
};

struct DiffSummary {
  Tally same, changed, renamed;  ///< bytes as in the second model
  Tally added, removed;
  std::uint64_t shared_bytes = 0;  ///< of contents that both have: what an update need not ship
  std::uint64_t before_bytes = 0;  ///< of contents that only the first has
  std::uint64_t after_bytes = 0;   ///< of contents that only the second has
};

struct ModelDiff {
  std::vector<Difference> differences;  ///< by subject, then owner and name
  DiffSummary summary;
};

/// Compares whole models, which must be valid. What files may store in more than one way without meaning
/// anything by it is no difference: chunks, encodings, the place of bytes, equal immutable storages that are
/// one or two, strides of dimensions of size 1.
///
/// A tensor that is gone and one that is new are one renamed tensor if their views and bytes are equal: pairs
/// of one name first (their owner changed), then, where as many are gone as are new, in the order of names.
/// Where not as many are, nobody can tell which became which, and none is paired. Tensors without bytes, and
/// those whose bytes are not in the file, are never paired.
///
/// Time: linear in the models, but for sorting what is gone or new.
ModelDiff diff_models(const Model& before, const Model& after);

/// Compares what two methods bind, and their metadata, and nothing else.
ModelDiff diff_methods(const Model& before, std::uint32_t method_before, const Model& after,
                       std::uint32_t method_after);

}  // namespace ptd::cli
