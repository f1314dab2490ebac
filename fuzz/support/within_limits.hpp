// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// What SPEC.md says about the sizes of an accepted model, asked again: with its own numbers and arithmetic,
// so that a check which was lost or changed is noticed.
#pragma once

#include <ptd/model.hpp>

namespace ptd::fuzz {

/// Requires that names, ranks and values are within the format's limits, and that views lie in their
/// storages.
void require_within_limits(const Model& model);

}  // namespace ptd::fuzz
