// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Messages <-> plain structs. The only place that touches Cap'n Proto.
#pragma once

#include <cstdint>
#include <ptd/error.hpp>
#include <ptd/layout.hpp>
#include <ptd/model.hpp>
#include <vector>

#include "wire/walker.hpp"

namespace ptd::wire {

/// Reads a message that check_message has accepted, number for number: whether the numbers make sense
/// is for model/ to say. Names and lists of the result look into `words`.
Result<Model> decode_model(Words words);
Result<Layout> decode_layout(Words words);

/// The one encoding of a model or layout. Computed fields are not written. Errors: `internal` if the
/// result would not be accepted by check_message.
Result<std::vector<std::uint64_t>> encode_model(const Model& model);
Result<std::vector<std::uint64_t>> encode_layout(const Layout& layout);

}  // namespace ptd::wire
