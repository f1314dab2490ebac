// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Reading past the page cache, for files that are not in it.
#pragma once

#include <ptd/bytes.hpp>

namespace ptd::cuda {

/// The same file, opened once more for direct reads. Errors: `io` where the file system has none, or the path
/// no longer names the file that was opened.
Result<SourcePtr> open_direct(const OpenedFile& opened);

}  // namespace ptd::cuda
