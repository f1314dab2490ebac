// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ptd/writer.hpp>
#include <string>

namespace ptd::cli {

/// What a .ptd file became, and its model id: two lines, escaped.
std::string written_text(const WriteReport& report, const std::string& output);

}  // namespace ptd::cli
