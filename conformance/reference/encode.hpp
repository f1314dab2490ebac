// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// From a description for writers (PROTOCOL.md, "encode") to a file.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <ptd/ptd.hpp>

namespace ptd::conformance {

/// Writes the file that the description asks for, or refuses with the writer's error. What is no description
/// in the first place throws nlohmann's exceptions.
Result<void> encode(const nlohmann::json& description, const std::filesystem::path& target);

}  // namespace ptd::conformance
