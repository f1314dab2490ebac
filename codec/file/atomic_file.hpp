// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// A file that appears whole or not at all.
#pragma once

#include <filesystem>
#include <memory>
#include <ptd/bytes.hpp>

namespace ptd::file {

/// Writes beside the target and renames over it at commit. Until then the target is untouched; if
/// the object goes without commit, nothing remains (a killed process leaves at most a file named
/// ".<name>.<random>.tmp", with a long name cut, never a changed target). After commit, or an error of
/// it, every call is an `argument` error.
class AtomicFile {
 public:
  /// Creates the temporary file in the target's directory (symbolic links are followed, so that the
  /// file that a link names is replaced and the link stays). Refuses a target that is not a regular
  /// file or does not allow writing. Errors `io`, and `argument` for a path that ends in no file name.
  static Result<AtomicFile> create(const std::filesystem::path& target);

  AtomicFile(AtomicFile&&) noexcept;
  AtomicFile& operator=(AtomicFile&&) noexcept;
  ~AtomicFile();

  /// Writes all of `bytes` at `offset`; may be called from several threads. What lies between
  /// written ranges reads as zeros.
  [[nodiscard]] Result<void> write(std::uint64_t offset, Bytes bytes) const;

  /// Cuts the file: bytes from `size` on are gone, and read as zeros if the file grows again.
  [[nodiscard]] Result<void> truncate(std::uint64_t size) const;

  /// Reads back what was written.
  [[nodiscard]] Result<void> read(std::uint64_t offset, MutableBytes destination) const;

  /// Sets the final size, mode (0666 & ~umask for a new file, the old file's mode and, where allowed, owner
  /// when replacing), fsyncs, renames, fsyncs the directory. After an error the target is what it was; only
  /// where the last step fails, the new file is in place and the error says that it may not be durable.
  /// Set-id bits are never kept, nor rights of a group that the new file cannot be given to.
  [[nodiscard]] Result<void> commit(std::uint64_t size);

 private:
  struct State;
  explicit AtomicFile(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// An unnamed file in `directory` that vanishes with the object: room for what does not fit in memory.
/// Appends are buffered. A failed call changes nothing.
class Spool {
 public:
  static Result<Spool> create(const std::filesystem::path& directory);
  Spool(Spool&&) noexcept;
  Spool& operator=(Spool&&) noexcept;
  ~Spool();

  [[nodiscard]] std::uint64_t size() const noexcept;
  [[nodiscard]] Result<void> append(Bytes bytes);
  /// Drops the bytes from `size` on; `argument` if there are fewer.
  [[nodiscard]] Result<void> truncate(std::uint64_t size);
  /// Reads from what was appended; may be called from several threads, though not beside append or truncate.
  [[nodiscard]] Result<void> read(std::uint64_t offset, MutableBytes destination) const;

 private:
  struct State;
  explicit Spool(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace ptd::file
