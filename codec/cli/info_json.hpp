// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ptd/reader.hpp>
#include <string>

namespace ptd::cli {

/// The whole manifest as JSON, for machines: one object, ending in a newline. Metadata of kind "bytes" is
/// hexadecimal.
std::string info_json(const Reader& file, const std::string& path);

}  // namespace ptd::cli
