// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// What a file says, in the notation of PROTOCOL.md.
#pragma once

#include <nlohmann/json.hpp>
#include <ptd/ptd.hpp>
#include <string_view>

namespace ptd::conformance {

using Json = nlohmann::json;

/// A leaf: {"type": ..., "value": ...}.
Json leaf(std::string_view type, std::string_view value);

/// The description of a file that is valid. Errors: those of reading the tensors that are hashed.
Result<Json> describe(const Reader& file);

}  // namespace ptd::conformance
