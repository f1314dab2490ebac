// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "file/failure.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <system_error>

namespace ptd::file {
namespace {

// Short enough to need no memory of its own.
Failure no_memory() { return fail(ErrorCode::no_memory, "", "out of memory"); }

Failure internal_failure(std::string_view what) noexcept {
  try {
    return fail(ErrorCode::internal, "",
                "an exception escaped: " + std::string(what) + "; please report this");
  } catch (...) {
    return no_memory();
  }
}

struct Remedy {
  int error;
  std::string_view text;
};

constexpr auto remedies = std::to_array<Remedy>({
    {ENOSPC, "free space on that file system, or write to another one"},
    {EDQUOT, "free space within the quota of that file system, or write to another one"},
    {EFBIG, "write less: the file system or the limit on file sizes (ulimit -f) allows no file this large"},
    {EROFS, "use another file system; that one is mounted read-only"},
    {EACCES, "ask for permission on the file and its directories, or use another path"},
    {EPERM, "ask for permission on the file and its directories, or use another path"},
    {EMFILE, "close files, or raise the limit on open files (ulimit -n)"},
    {ENFILE, "close files, or raise the system's limit on open files"},
    {EIO, "check the disk or the network, or use another copy"},
    {ESTALE, "open the file again; the server replaced it"},
    {ELOOP, "make the symbolic links end at a file"},
    {ENAMETOOLONG, "use a shorter name"},
    {ENOENT, "check that the directory exists"},
    {ENOTDIR, "check that the directory exists"},
    {EAGAIN, "try again once no other program holds the file"},
    {EBUSY, "try again once no other program holds the file"},
    {ETXTBSY, "try again once no other program holds the file"},
    {ENOMEM, "free memory and try again"},
});

std::string_view remedy(int error) noexcept {
  const auto* const found = std::ranges::find(remedies, error, &Remedy::error);
  return found != remedies.end() ? found->text : "check the path and its file system, then try again";
}

}  // namespace

Failure exception_failure() noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return no_memory();
  } catch (const std::exception& error) {
    return internal_failure(error.what());
  } catch (...) {
    return internal_failure("of an unknown type");
  }
}

std::string error_text(int error) { return std::generic_category().message(error); }

Failure system_failure(std::string_view what, std::string_view subject, int error) noexcept {
  return guarded([&] {
    std::string message(what);
    message.append(" (").append(error_text(error)).append("): ").append(remedy(error));
    return fail_on(ErrorCode::io, "", subject, std::move(message));
  });
}

Failure argument_failure(std::string_view what, std::string_view subject) noexcept {
  return guarded([&] { return fail_on(ErrorCode::argument, "", subject, std::string(what)); });
}

Result<void> check_range(std::string_view subject, std::uint64_t size, std::uint64_t offset,
                         std::uint64_t count) {
  if (offset <= size && count <= size - offset) return {};
  return guarded([&] {
    auto failure = fail_on(ErrorCode::io, "", subject,
                           "a read of " + std::to_string(count) + " bytes goes past the end at byte " +
                               std::to_string(size) + "; check the range, or use a complete copy");
    failure.value().offset = offset;
    return failure;
  });
}

Result<void> check_path(const std::string& path) {
  if (path.find('\0') == std::string::npos) return {};
  return argument_failure("a path cannot contain a NUL character; remove it", path);
}

}  // namespace ptd::file
