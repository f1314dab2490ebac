// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// The one pass over the content: read, hash, encode, store, take back what was there already.
#pragma once

#include <map>
#include <ptd/layout.hpp>
#include <ptd/model.hpp>
#include <vector>

#include "writer/output.hpp"
#include "writer/plan.hpp"

namespace ptd::writer {

/// What became of a unit.
struct UnitResult {
  Content content;    ///< meaningless if zero
  bool zero = false;  ///< all zero: nothing is stored
};

/// A segment that stayed in the file. `segment.content` is not set yet: the order of contents is known at the
/// end.
struct StoredSegment {
  Segment segment;
  Content content;
};

/// What the pass leaves behind.
struct Streamed {
  explicit Streamed(Output& output) : raw_hashes(output), stored_chunks(output) {}

  std::vector<UnitResult> units;
  std::vector<StoredSegment> segments;  ///< in file order
  ByteLog raw_hashes;                   ///< u64 a chunk, in segment order
  ByteLog stored_chunks;                ///< stored hash and stored size of each chunk of coded segments
  std::uint64_t end = 0;                ///< of the last segment
};

/// Streams all units of the plan to the output. Memory: some MiB a thread. The bytes written do not depend on
/// the number of threads. Errors name the unit at fault.
Result<void> stream_units(const Plan& plan, const WriteOptions& options, Output& output, Streamed& streamed);

}  // namespace ptd::writer
