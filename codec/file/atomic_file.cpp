// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "file/atomic_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <optional>

#include "file/failure.hpp"
#include "file/temp_file.hpp"
#include "file/transfer.hpp"

namespace ptd::file {
namespace {

using std::filesystem::path;
using MaybeStat = std::optional<struct stat>;

Failure not_regular(std::string_view target) noexcept {
  return guarded([&] {
    return fail_on(ErrorCode::io, "", target,
                   "the target is not a regular file, so it is not replaced; use another path");
  });
}

// What stands at `target` now, if anything does.
Result<MaybeStat> replaceable(const std::string& target) {
  struct stat status {};
  if (::stat(target.c_str(), &status) != 0) {
    if (errno == ENOENT) return MaybeStat();
    return system_failure("the target cannot be looked at", target, errno);
  }
  if (!S_ISREG(status.st_mode)) return not_regular(target);
  // A rename would not ask: permission to write the directory is permission to replace a read-only file.
  if (::faccessat(AT_FDCWD, target.c_str(), W_OK, AT_EACCESS) != 0)
    return system_failure("the target may not be written", target, errno);
  return MaybeStat(status);
}

// The path that a chain of symbolic links ends at, whether or not there is a file.
Result<path> follow_links(const path& target) {
  constexpr int most_links = 40;  // as many as Linux follows
  path current = target;
  for (int followed = 0; followed <= most_links; ++followed) {
    std::error_code error;
    const path next = std::filesystem::read_symlink(current, error);
    if (error) return current;  // no link, or nothing at all
    current = current.parent_path() / next;
  }
  return system_failure("the symbolic links cannot be followed", target.native(), ELOOP);
}

Result<void> check_name(const path& target) {
  const auto name = target.filename();
  if (!name.empty() && name != "." && name != "..") return {};
  return argument_failure("the target names no file; end it with a file name", target.native());
}

// fsync's errno, 0 if it succeeds.
int sync_error(const Fd& fd) noexcept {
  return uninterrupted([&] { return ::fsync(fd.get()); }) == 0 ? 0 : errno;
}

Result<void> sync_file(const Fd& file, std::string_view subject) {
  const int error = sync_error(file);
  if (error == 0) return {};
  return system_failure("the new file does not reach the disk, so the target stays as it was", subject,
                        error);
}

Result<void> sync_directory(const Fd& directory, std::string_view subject) {
  const int error = sync_error(directory);
  const bool has_no_sync = error == EINVAL || error == ENOSYS || error == EOPNOTSUPP;  // for example CIFS
  if (error == 0 || has_no_sync) return {};
  return system_failure("the new file is in place, but a power failure may undo that", subject, error);
}

// Gives `file` the group and, where that is allowed, the owner of `old`.
void take_owner(const Fd& file, const struct stat& old) noexcept {
  // Of another's file at least the group, if it is one of ours. The caller looks at what came of it.
  const bool taken = ::fchown(file.get(), old.st_uid, old.st_gid) == 0 ||
                     ::fchown(file.get(), static_cast<uid_t>(-1), old.st_gid) == 0;
  static_cast<void>(taken);
}

// The permissions to keep. Set-id bits go, as they do when a file is written in place.
mode_t kept_mode(const struct stat& old, gid_t group) noexcept {
  mode_t mode = old.st_mode & (S_IRWXU | S_IRWXG | S_IRWXO);
  // What the old group was granted is not for another group, unless everyone has it.
  if (group != old.st_gid) mode &= ~static_cast<mode_t>(S_IRWXG) | ((mode & S_IRWXO) << 3U);
  return mode;
}

Result<void> inherit(const Fd& file, const struct stat& old, std::string_view subject) {
  constexpr std::string_view what = "the permissions of the old file cannot be kept";
  struct stat now {};
  if (::fstat(file.get(), &now) != 0) return system_failure(what, subject, errno);
  if (now.st_uid != old.st_uid || now.st_gid != old.st_gid) {
    take_owner(file, old);
    if (::fstat(file.get(), &now) != 0) return system_failure(what, subject, errno);
  }
  const mode_t mode = kept_mode(old, now.st_gid);
  // A file system without permissions refuses every change, so only a needed one is asked for.
  if ((now.st_mode & 07777U) == mode || ::fchmod(file.get(), mode) == 0) return {};
  return system_failure(what, subject, errno);
}

}  // namespace

struct AtomicFile::State {
  std::string label;  // the target, as the caller wrote it
  std::string name;   // the target's, in the directory
  Fd directory;
  TempFile temp;
  MaybeStat old;

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { discard(); }

  void discard() noexcept {
    if (!temp.name.empty()) ::unlinkat(directory.get(), temp.name.c_str(), 0);
    close();
  }

  void close() noexcept {
    temp.name.clear();
    temp.file = Fd();
  }

  // The target may have come, gone or changed since create; what stands there now is what is replaced.
  Result<void> look_again() {
    struct stat status {};
    if (::fstatat(directory.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
      if (errno == ENOENT) return {};
      return system_failure("the target cannot be looked at", label, errno);
    }
    if (!S_ISREG(status.st_mode)) return not_regular(label);
    old = status;
    return {};
  }

  Result<void> publish(std::uint64_t size) {
    PTD_TRY(set_size(temp.file, size, label));
    PTD_TRY(look_again());
    if (old) PTD_TRY(inherit(temp.file, *old, label));
    PTD_TRY(sync_file(temp.file, label));
    if (::renameat(directory.get(), temp.name.c_str(), directory.get(), name.c_str()) != 0)
      return system_failure("the new file cannot take the target's place", label, errno);
    temp.name.clear();
    return sync_directory(directory, label);
  }
};

namespace {

template <class State>
Result<void> check_open(const std::unique_ptr<State>& state) {
  if (state && state->temp.file) return {};
  return argument_failure("the file is already committed or given up; create another", "");
}

}  // namespace

AtomicFile::AtomicFile(std::unique_ptr<State> state) : state_(std::move(state)) {}
AtomicFile::AtomicFile(AtomicFile&&) noexcept = default;
AtomicFile& AtomicFile::operator=(AtomicFile&&) noexcept = default;
AtomicFile::~AtomicFile() = default;

Result<AtomicFile> AtomicFile::create(const path& target) {
  return guarded([&]() -> Result<AtomicFile> {
    PTD_TRY(check_path(target.native()));
    PTD_LET(old, replaceable(target.native()));
    PTD_LET(resolved, follow_links(target));
    PTD_TRY(check_name(resolved));
    auto state = std::make_unique<State>();
    state->label = target.native();
    state->name = resolved.filename().native();
    state->old = old;
    PTD_LET(directory, open_directory(resolved.parent_path().native()));
    state->directory = std::move(directory);
    // A new file gets its final mode from open, which alone applies umask and default ACLs without a
    // race. A replacement stays private until it takes the old file's mode.
    PTD_LET(temp, create_temp(state->directory, state->name, old ? 0600 : 0666, state->label));
    state->temp = std::move(temp);
    return AtomicFile(std::move(state));
  });
}

Result<void> AtomicFile::write(std::uint64_t offset, Bytes bytes) const {
  PTD_TRY(check_open(state_));
  return write_fully(::pwrite, state_->temp.file.get(), offset, bytes, state_->label);
}

Result<void> AtomicFile::truncate(std::uint64_t size) const {
  PTD_TRY(check_open(state_));
  return set_size(state_->temp.file, size, state_->label);
}

Result<void> AtomicFile::read(std::uint64_t offset, MutableBytes destination) const {
  PTD_TRY(check_open(state_));
  struct stat status {};
  if (::fstat(state_->temp.file.get(), &status) != 0)
    return system_failure("the file cannot be read back", state_->label, errno);
  PTD_TRY(check_range(state_->label, static_cast<std::uint64_t>(status.st_size), offset, destination.size()));
  return read_fully(::pread, state_->temp.file.get(), offset, destination, state_->label);
}

Result<void> AtomicFile::commit(std::uint64_t size) {
  PTD_TRY(check_open(state_));
  auto published = state_->publish(size);
  published ? state_->close() : state_->discard();
  return published;
}

}  // namespace ptd::file
