// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Reading past the page cache, one read at a time for each thread that asks.
#pragma once

#include "cuda/direct_file.hpp"

namespace ptd::cuda {

/// Any ranges of the file, read in whole blocks. A file that was cut meanwhile is an `io` error that says so.
SourcePtr direct_source(DirectFilePtr file);

}  // namespace ptd::cuda
