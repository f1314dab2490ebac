// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ptd/writer.hpp>
#include <string>

#include "cli/terminal.hpp"

namespace ptd::cli {

/// Writes a .ptd file with a progress line, then prints what became of it and its model id; or reports why
/// not.
Exit write_ptd(Writer& writer, const std::string& output, bool compress, unsigned threads);

}  // namespace ptd::cli
