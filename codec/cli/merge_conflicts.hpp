// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Why models cannot become one.
#pragma once

#include <ptd/model.hpp>
#include <span>
#include <string>
#include <vector>

#include "cli/model_diff.hpp"

namespace ptd::cli {

/// One object that two models want to be different. Text is raw.
struct MergeConflict {
  Subject subject = Subject::tensor;
  std::string name;
  std::string owner;       ///< of a tensor, as owner_note has it
  std::size_t first = 0;   ///< number of the model that had it first
  std::size_t second = 0;  ///< number of the one that disagrees
  std::vector<Detail> details;
};

/// All conflicts of models that are to be joined, in the order of models, then of subjects, then of names. An
/// object of one key (for tensors: owner and name) must be equal wherever it is: views, contents, state that
/// is shared, metadata. Time: expected linear.
std::vector<MergeConflict> find_conflicts(std::span<const Model* const> models);

}  // namespace ptd::cli
