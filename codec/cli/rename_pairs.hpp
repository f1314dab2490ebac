// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Which tensors are the same under another name.
#pragma once

#include <ptd/model.hpp>
#include <utility>
#include <vector>

namespace ptd::cli {

/// Pairs tensors that only the first model has (`gone`) with ones that only the second has (`fresh`); the
/// rule stands with diff_models. Both lists ascend. Pairs ascend by the first model's tensors. Time: linear
/// but for sorting.
std::vector<std::pair<std::uint32_t, std::uint32_t>> pair_renamed(const Model& before,
                                                                  const std::vector<std::uint32_t>& gone,
                                                                  const Model& after,
                                                                  const std::vector<std::uint32_t>& fresh);

}  // namespace ptd::cli
