// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Breaks a model or layout in one place, as a hostile or mistaken writer might.
#pragma once

#include "support/choices.hpp"
#include "tests/model_samples.hpp"

namespace ptd::fuzz {

/// Changes one field, list or object.
void edit_model(samples::Sample& sample, Choices& choices);
void edit_layout(Layout& layout, Choices& choices);

/// Changes, inserts, removes or moves one word.
void edit_words(std::vector<std::uint64_t>& words, Choices& choices);

}  // namespace ptd::fuzz
