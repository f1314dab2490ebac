// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// What of a file lies in the page cache already. (To a process that could not write the file Linux says that
// everything does; such loads use the mapping unless they are told otherwise.)
#pragma once

#include <ptd/reader.hpp>

#include "cuda/read_list.hpp"

namespace ptd::cuda {

/// The share of the bytes to read that is in memory, by some hundred samples. `mapping` is the whole file.
double resident_share(Bytes mapping, const Reader& file, std::span<const Wanted> wanted);

/// Marks the pieces of which every page is in memory.
void mark_resident(Bytes mapping, std::vector<Piece>& pieces);

}  // namespace ptd::cuda
