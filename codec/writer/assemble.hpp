// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// From what was collected and streamed to the model and the layout of the file.
#pragma once

#include <deque>
#include <ptd/layout.hpp>
#include <ptd/model.hpp>
#include <vector>

#include "writer/state.hpp"
#include "writer/stream.hpp"

namespace ptd::writer {

/// A model and the lists that its views look into; names look into the Writer's state.
struct Assembled {
  Model model;
  Layout layout;  ///< table hashes are not known yet
  std::deque<std::vector<std::uint32_t>> index_lists;
};

/// Sorts everything as the format wants it and merges immutable storages of equal content, size and
/// placement. Without units (an empty `streamed.units`), contents are left out: enough to check every other
/// rule before anything is read.
Assembled assemble(const Writer::State& state, const Plan& plan, const Streamed& streamed);

}  // namespace ptd::writer
