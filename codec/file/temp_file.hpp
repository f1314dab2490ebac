// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// New files under names that no one else has.
#pragma once

#include <sys/types.h>

#include <ptd/error.hpp>
#include <string>
#include <string_view>

#include "file/fd.hpp"

namespace ptd::file {

/// Opens a directory ("" is the current one) to create, rename and sync in it, wherever it moves to.
Result<Fd> open_directory(const std::string& path);

struct TempFile {
  Fd file;
  std::string name;  ///< in the directory
};

/// Creates ".<stem>.<random>.tmp", open for reading and writing, with `mode` less the umask. A long stem is
/// cut.
Result<TempFile> create_temp(const Fd& directory, std::string_view stem, mode_t mode,
                             std::string_view subject);

/// Creates a file without a name.
Result<Fd> create_unnamed(const Fd& directory, std::string_view subject);

/// What create_unnamed does on a file system that needs a name: takes one and gives it up at once.
Result<Fd> create_unlinked(const Fd& directory, std::string_view subject);

}  // namespace ptd::file
