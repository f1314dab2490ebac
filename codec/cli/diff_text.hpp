// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Differences, for people and for machines.
#pragma once

#include <string>

#include "cli/merge_conflicts.hpp"
#include "cli/model_diff.hpp"

namespace ptd::cli {

struct DiffIds {
  Digest before{}, after{};
};

/// '~ tensor "w": dtype float32 -> bfloat16', with a newline. Escaped; long values are cut.
std::string difference_line(const Difference& difference);

/// 'tensor "w" of library "l": dtype float32 -> bfloat16': escaped.
std::string conflict_text(const MergeConflict& conflict);

/// Whether the models are the same, and how many tensors and bytes are.
std::string summary_text(const ModelDiff& diff, const DiffIds& ids);

/// One object, ending in a newline.
std::string diff_json(const ModelDiff& diff, const DiffIds& ids, const std::string& before,
                      const std::string& after);

}  // namespace ptd::cli
