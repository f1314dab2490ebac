// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// What the importers have in common.
#pragma once

#include "foreign/import.hpp"

namespace ptd::foreign {

inline constexpr const char* default_method = "forward";

/// True if one of the options' patterns makes this tensor state.
bool is_made_mutable(const ImportOptions& options, const std::string& name);

/// A method that exists from now on; metadata pairs that it has already with another value get the label
/// before their key.
Result<MethodId> add_method_metadata(Writer& writer, const std::string& name, const std::string& label,
                                     std::vector<PairSpec> metadata);

Result<void> import_safetensors(Writer& writer, const std::filesystem::path& path,
                                const ImportOptions& options, ImportReport& report);
Result<void> import_safetensors_index(Writer& writer, const std::filesystem::path& path,
                                      const ImportOptions& options, ImportReport& report);
Result<void> import_ptd(Writer& writer, const std::filesystem::path& path, const ImportOptions& options,
                        ImportReport& report);

}  // namespace ptd::foreign
