// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <limits>
#include <ptd/bytes.hpp>

#include "file/failure.hpp"
#include "file/fd.hpp"
#include "file/identity.hpp"
#include "file/transfer.hpp"

namespace ptd {
namespace {

// Pages of a file, read-only. No advice is given: tensors are read in any order, but each from front
// to back, which is what the kernel's default read-ahead is for; MADV_SEQUENTIAL would let pages go
// that other processes share.
class Mapping {
 public:
  Mapping() noexcept = default;
  // Private, because file systems without coherent caches (FUSE with direct I/O) map no other way.
  Mapping(const file::Fd& file, std::size_t size) noexcept
      : data_(::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0)), size_(size) {}
  Mapping(Mapping&& other) noexcept : data_(std::exchange(other.data_, MAP_FAILED)), size_(other.size_) {}
  Mapping& operator=(Mapping&&) = delete;
  ~Mapping() {
    if (*this) ::munmap(data_, size_);
  }

  explicit operator bool() const noexcept { return data_ != MAP_FAILED; }
  [[nodiscard]] Bytes bytes() const noexcept {
    return *this ? Bytes(static_cast<const std::byte*>(data_), size_) : Bytes();
  }

 private:
  void* data_ = MAP_FAILED;
  std::size_t size_ = 0;
};

// Reads with pread even where the file is mapped: there a failing disk is an error, not a signal.
class FileSource final : public ByteSource {
 public:
  FileSource(file::Fd file, std::uint64_t size, Mapping mapping, std::string label)
      : file_(std::move(file)), size_(size), mapping_(std::move(mapping)), label_(std::move(label)) {}

  [[nodiscard]] std::uint64_t size() const noexcept override { return size_; }
  [[nodiscard]] Bytes in_memory() const noexcept override { return mapping_.bytes(); }
  [[nodiscard]] std::string label() const override { return label_; }

  [[nodiscard]] Result<void> read(std::uint64_t offset, MutableBytes destination) const override {
    PTD_TRY(file::check_range(label_, size_, offset, destination.size()));
    return file::read_fully(::pread, file_.get(), offset, destination, label_);
  }

 private:
  file::Fd file_;
  std::uint64_t size_;
  Mapping mapping_;
  std::string label_;
};

Failure open_failure(const std::string& path, int error) {
  if (error == ENOENT || error == ENOTDIR)
    return fail_on(ErrorCode::io, "", path, "there is no file of this name; check the path");
  return file::system_failure("the file cannot be opened", path, error);
}

Result<void> check_regular(const struct stat& status, const std::string& path) {
  if (S_ISREG(status.st_mode)) return {};
  const std::string_view kind = S_ISDIR(status.st_mode)    ? "a directory"
                                : S_ISFIFO(status.st_mode) ? "a pipe"
                                : S_ISSOCK(status.st_mode) ? "a socket"
                                                           : "a device";
  return fail_on(
      ErrorCode::io, "", path,
      "this is " + std::string(kind) + ", not a regular file; copy its data to a file and open that");
}

Result<file::Fd> open_regular(const std::string& path, struct stat& status) {
  // Looked at before it is opened, since opening a pipe or a device may do something to it.
  if (::stat(path.c_str(), &status) != 0) return open_failure(path, errno);
  PTD_TRY(check_regular(status, path));
  // O_NONBLOCK: should a pipe have taken the file's place since, the open must not wait for a writer.
  constexpr int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  file::Fd opened(file::uninterrupted([&] { return ::open(path.c_str(), flags); }));
  if (!opened || ::fstat(opened.get(), &status) != 0) return open_failure(path, errno);
  PTD_TRY(check_regular(status, path));
  return opened;
}

Mapping map(const file::Fd& opened, OpenedFile& result) {
  const auto size = result.identity.size;
  if (size == 0) return {};  // nothing to map, and in_memory is empty anyway
  const bool fits = size <= std::numeric_limits<std::size_t>::max();
  Mapping mapping = fits ? Mapping(opened, static_cast<std::size_t>(size)) : Mapping();
  if (mapping) return mapping;
  const int error = fits ? errno : EFBIG;
  result.access = FileAccess::positional;
  result.fallback =
      "the file cannot be mapped (" + file::error_text(error) + "), so it is read piece by piece";
  return mapping;
}

Result<OpenedFile> open(const std::string& path, FileAccess access) {
  PTD_TRY(file::check_path(path));
  struct stat status {};
  PTD_LET(opened, open_regular(path, status));
  OpenedFile result{nullptr, file::identity_of(status), access, {}};
  Mapping mapping = access == FileAccess::mapped ? map(opened, result) : Mapping();
  result.source =
      std::make_shared<FileSource>(std::move(opened), result.identity.size, std::move(mapping), path);
  return result;
}

}  // namespace

Result<OpenedFile> open_file(const std::filesystem::path& path, FileAccess access) {
  return file::guarded([&] { return open(path.native(), access); });
}

}  // namespace ptd
