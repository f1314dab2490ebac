// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

namespace ptd {

/// Version of this library, and the version of the format that it reads and writes.
inline constexpr const char* library_version = "0.1.0";
inline constexpr const char* format_version = "1.0";

}  // namespace ptd
