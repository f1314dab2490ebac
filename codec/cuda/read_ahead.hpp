// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Direct reads that are under way before anybody asks for their bytes. Bytes flow one way, from the disk to a
// window of pieces to whoever asks, and a wrong guess costs time, never bytes: what is not in the window is
// read as if there were none.
#pragma once

#include "cuda/deep_reader.hpp"
#include "cuda/read_list.hpp"

namespace ptd::cuda {

/// Reads of 1 MiB are as fast as larger ones on the disks that were tried, and 32 MiB in flight keep 10 GB/s
/// coming from one that takes 3 ms to answer.
struct ReadAheadSize {
  std::uint64_t piece_bytes = std::uint64_t{1} << 20;  ///< a multiple of the file's block
  std::size_t pieces = 32;                             ///< in memory at once
};

/// A source over the file that reads the list ahead with `reader`. `buffered` has the same bytes by way of
/// the page cache, for the pieces that are resident there. Throws std::bad_alloc.
SourcePtr read_ahead(const DirectFilePtr& file, SourcePtr buffered, ReadList list, DeepReaderPtr reader,
                     const ReadAheadSize& size = {});

}  // namespace ptd::cuda
