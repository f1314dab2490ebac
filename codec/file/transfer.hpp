// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Whole reads and writes out of system calls that may do part of the work. The call itself is a
// parameter, so that tests can put one in its place that misbehaves.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <ptd/bytes.hpp>
#include <string_view>

#include "file/fd.hpp"

namespace ptd::file {

static_assert(sizeof(off_t) == 8, "files beyond 2 GiB need a 64-bit off_t");

/// No file is larger.
inline constexpr std::uint64_t largest_file = std::numeric_limits<std::int64_t>::max();

/// Linux moves at most 2^31 - 4096 bytes a call and other systems refuse more than 2^31 - 1.
inline constexpr std::size_t largest_call = std::size_t{1} << 30;

/// How far a transfer came, and the errno that stopped it; short with error 0: the call moved nothing.
struct Transfer {
  std::uint64_t done = 0;
  int error = 0;
};

/// Calls `call(fd, data, size, offset)`, which is like pread or pwrite, until all of `bytes` is moved.
template <class Call, class Byte>
Transfer transfer(Call&& call, int fd, std::uint64_t offset, std::span<Byte> bytes) {
  Transfer result;
  while (!bytes.empty()) {
    const auto size = std::min(bytes.size(), largest_call);
    const auto at = static_cast<off_t>(offset + result.done);
    const ssize_t moved = uninterrupted([&] { return call(fd, bytes.data(), size, at); });
    if (moved < 0) result.error = errno;
    if (moved <= 0) break;
    result.done += static_cast<std::uint64_t>(moved);
    bytes = bytes.subspan(static_cast<std::size_t>(moved));
  }
  return result;
}

/// The error, if any, of a transfer that was to move `wanted` bytes.
Result<void> read_result(Transfer transfer, std::uint64_t offset, std::size_t wanted,
                         std::string_view subject);
Result<void> write_result(Transfer transfer, std::uint64_t offset, std::size_t wanted,
                          std::string_view subject);

/// Fills `destination` from `offset`. The caller has checked that offset + size is at most largest_file.
template <class ReadAt>
Result<void> read_fully(ReadAt&& read_at, int fd, std::uint64_t offset, MutableBytes destination,
                        std::string_view subject) {
  return read_result(transfer(read_at, fd, offset, destination), offset, destination.size(), subject);
}

/// Writes all of `bytes` at `offset`; a range that no file can have is refused.
template <class WriteAt>
Result<void> write_fully(WriteAt&& write_at, int fd, std::uint64_t offset, Bytes bytes,
                         std::string_view subject) {
  if (offset > largest_file || bytes.size() > largest_file - offset)
    return write_result({0, EFBIG}, offset, bytes.size(), subject);
  return write_result(transfer(write_at, fd, offset, bytes), offset, bytes.size(), subject);
}

/// ftruncate, as a value.
Result<void> set_size(const Fd& file, std::uint64_t size, std::string_view subject);

}  // namespace ptd::file
