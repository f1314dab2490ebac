// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// How the bytes of a file are reached: mapped, with pread, or past the page cache.
#pragma once

#include <functional>
#include <ptd/cuda.hpp>
#include <string>
#include <vector>

#include "cuda/deep_reader.hpp"
#include "cuda/table_store.hpp"
#include "cuda/transfer_plan.hpp"

namespace ptd::cuda {

struct Feed {
  SourcePtr source;
  ReadPath path = ReadPath::buffered;  ///< what is used
  std::vector<std::string> notes;      ///< why it is not what was asked for
};

/// Makes what reads ahead, of this depth; tests give one that fails.
using RingMaker = std::function<Result<DeepReaderPtr>(unsigned depth)>;

/// Chooses for what is wanted. Where most of it is in memory `automatic` takes the mapping, or pread for a
/// file that was not opened mapped; otherwise it reads directly what is not, and what is through the page
/// cache. `mapped` and `direct` fall back to `buffered`, io_uring to threads, each with a note.
Feed choose_feed(const Reader& file, TableStore& tables, std::span<const Wanted> wanted, ReadPath path,
                 const RingMaker& make_ring = ring_reader);

}  // namespace ptd::cuda
