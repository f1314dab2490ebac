// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// How the bytes of a file are reached: mapped, with pread, or past the page cache.
#pragma once

#include <ptd/cuda.hpp>
#include <string>
#include <vector>

namespace ptd::cuda {

struct Feed {
  SourcePtr source;
  ReadPath path = ReadPath::buffered;  ///< what is used
  std::vector<std::string> notes;      ///< why it is not what was asked for
};

/// Chooses. `automatic` takes the mapping where most of the file's pages are in memory, direct reads
/// otherwise. `mapped` and `direct` fall back to `buffered`, with a note.
Feed choose_feed(const Reader& file, ReadPath wanted);

}  // namespace ptd::cuda
