// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "cli/first_bytes.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include "file/failure.hpp"
#include "file/fd.hpp"
#include "file/transfer.hpp"

namespace ptd::cli {
namespace {

// A copy, so that what it closes is not the process's own standard input.
file::Fd open_input(const std::string& path) {
  if (path == "-") return file::Fd(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0));
  return file::Fd(file::uninterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY); }));
}

Failure open_failure(const std::string& path, int error) {
  if (error == ENOENT || error == ENOTDIR)
    return fail_on(ErrorCode::io, "", path, "there is no file of this name; check the path");
  return file::system_failure("the file cannot be opened", path, error);
}

// Without an offset, since a pipe has none.
ssize_t read_on(int fd, void* data, std::size_t size, off_t) { return ::read(fd, data, size); }

Result<FirstBytes> read_from(const file::Fd& input, const std::string& path, std::size_t most) {
  struct stat status {};
  if (::fstat(input.get(), &status) != 0) return open_failure(path, errno);
  if (S_ISDIR(status.st_mode))
    return fail_on(ErrorCode::io, "", path, "this is a directory; name the files in it");
  FirstBytes first;
  first.bytes.resize(most);
  const auto moved = file::transfer(read_on, input.get(), 0, MutableBytes(first.bytes));
  if (moved.error != 0) return file::system_failure("the file cannot be read", path, moved.error);
  first.bytes.resize(moved.done);
  if (S_ISREG(status.st_mode) && static_cast<std::uint64_t>(status.st_size) >= moved.done)
    first.size = static_cast<std::uint64_t>(status.st_size);
  else
    first.size = moved.done < most ? moved.done : file::largest_file;
  return first;
}

}  // namespace

Result<FirstBytes> read_first_bytes(const std::string& path, std::size_t most) {
  PTD_TRY(file::check_path(path));
  const auto input = open_input(path);
  if (!input) return open_failure(path, errno);
  return read_from(input, path, most);
}

}  // namespace ptd::cli
