// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// What the system says of a file, as an identity to compare.
#pragma once

#include <sys/stat.h>

#include <ptd/bytes.hpp>

namespace ptd::file {

inline FileIdentity identity_of(const struct stat& status) noexcept {
  // Unsigned, since a file system may hold times that 64 bits of nanoseconds do not reach.
  const auto seconds = static_cast<std::uint64_t>(status.st_mtim.tv_sec);
  const auto nanoseconds = seconds * 1'000'000'000U + static_cast<std::uint64_t>(status.st_mtim.tv_nsec);
  return {status.st_dev, status.st_ino, static_cast<std::uint64_t>(status.st_size),
          static_cast<std::int64_t>(nanoseconds)};
}

}  // namespace ptd::file
