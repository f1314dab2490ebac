// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// The first bytes of anything that can be read.
#pragma once

#include <cstdint>
#include <ptd/bytes.hpp>
#include <string>
#include <vector>

namespace ptd::cli {

struct FirstBytes {
  std::vector<std::byte> bytes;  ///< as many as were asked for, or all that there are
  std::uint64_t size = 0;        ///< of the whole; of a stream that goes on, the most that a file can have
};

/// Reads up to `most` bytes of a file, pipe or device; "-" is standard input. A stream is not read further
/// than that. Errors: `io`, for a directory too; `argument` for a path with a NUL in it.
Result<FirstBytes> read_first_bytes(const std::string& path, std::size_t most);

}  // namespace ptd::cli
