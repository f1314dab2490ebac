// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// What a load will read of its file, in the order in which it will, cut into reads that are worth a disk's
// while.
#pragma once

#include <ptd/reader.hpp>
#include <vector>

#include "cuda/table_store.hpp"
#include "cuda/transfer_plan.hpp"

namespace ptd::cuda {

/// Bytes [begin, end) of a file.
struct FileRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

/// One read, when it is its turn. Bytes between the wanted ones come along.
struct Piece {
  FileRange range;
  std::uint64_t wanted = 0;  ///< bytes of it
  bool is_resident = false;  ///< in the page cache, which is the better place to read it from
};

/// A wanted run of bytes, and the piece that brings it.
struct Part {
  FileRange range;
  std::uint32_t piece = 0;
};

struct ReadList {
  std::vector<Piece> pieces;  ///< in the order in which they are wanted
  std::vector<Part> parts;    ///< by place; none overlap
};

/// Bytes that will be read, and which of two kinds they are: in a file each kind lies together.
struct Read {
  FileRange range;
  bool is_table = false;
};

/// Cuts at multiples of piece_bytes, so that no piece is larger, however its ends are rounded to whole
/// blocks. Ranges of a kind that follow each other closely share pieces. No two overlap.
ReadList list_reads(const std::vector<Read>& reads, std::uint64_t piece_bytes);

/// What bringing these reads: each content's chunk table, unless it is
/// kept, then its segment. Each once, however often it is
/// brought.
std::vector<Read> reads_of(const Reader& file, TableStore& tables, std::span<const Wanted> wanted);

}  // namespace ptd::cuda
