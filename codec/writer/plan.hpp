// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// What will be read, in which order, and how it will be stored.
#pragma once

#include <ptd/layout.hpp>
#include <ptd/writer.hpp>
#include <string>
#include <vector>

#include "writer/state.hpp"

namespace ptd::writer {

/// A byte of an input whose bits from `used` on belong to no element.
struct PadBits {
  std::uint64_t byte = 0;
  unsigned used = 0;
  std::string_view tensor;
};

/// One input to read from front to back.
struct Unit {
  SourcePtr source;
  Encoding encoding = Encoding::raw;
  unsigned alignment_log2 = 12;
  unsigned chunk_log2 = 16;
  std::uint32_t compare_with =
      no_index;                    ///< an earlier unit whose bytes these must be; nothing is stored then
  bool must_be_zero = false;       ///< another input of the same key is all zero
  std::vector<PadBits> pad_bits;   ///< ascending by byte
  std::string name;                ///< of the tensor or blob, for messages
  std::string label, other_label;  ///< where these bytes, and those that they are compared with, come from
};

/// What of the model waits for which unit.
struct Plan {
  std::vector<Unit> units;
  std::vector<std::uint32_t> unit_of_storage;  ///< by storage number, for roots; no_index: no content to read
  std::vector<std::uint32_t> unit_of_blob;
};

/// Blobs first, then storages by the set of methods that use them, so that a method is a few
/// sequential ranges; within a set in the order added. Error `argument` for a storage without a tensor.
Result<Plan> make_plan(const Writer::State& state, const WriteOptions& options);

}  // namespace ptd::writer
