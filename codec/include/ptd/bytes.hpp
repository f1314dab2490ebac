// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Byte views, and where bytes come from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <ptd/error.hpp>
#include <span>
#include <string>
#include <vector>

namespace ptd {

using Bytes = std::span<const std::byte>;
using MutableBytes = std::span<std::byte>;

/// Immutable bytes of a known size: a file, a mapping, memory, a tensor of another model.
///
/// `read` may be called from several threads at once unless `sequential` is true. A source never
/// returns part of what was asked: it fills the whole destination or fails.
class ByteSource {
 public:
  ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;
  virtual ~ByteSource() = default;

  /// Size in bytes, fixed for the lifetime of the source.
  [[nodiscard]] virtual std::uint64_t size() const noexcept = 0;

  /// Fills `destination` from `offset`. Reading past the end is an `io` error that says so.
  [[nodiscard]] virtual Result<void> read(std::uint64_t offset, MutableBytes destination) const = 0;

  /// True for a source that can only be read once, front to back, without gaps.
  [[nodiscard]] virtual bool sequential() const noexcept { return false; }

  /// The bytes themselves where they already lie in memory, else an empty span. Valid as long as
  /// the source.
  [[nodiscard]] virtual Bytes in_memory() const noexcept { return {}; }

  /// What a person calls this source (a path, "memory"), for messages.
  [[nodiscard]] virtual std::string label() const = 0;
};

using SourcePtr = std::shared_ptr<const ByteSource>;

/// Borrows `bytes`, which must outlive the source. (These three allocate a small object; where even that
/// fails they throw std::bad_alloc, as making a std::string does.)
SourcePtr borrow_memory(Bytes bytes, std::string label = "memory");

/// Owns `bytes`.
SourcePtr own_memory(std::vector<std::byte> bytes, std::string label = "memory");

/// `size` zero bytes that occupy no memory.
SourcePtr zero_source(std::uint64_t size);

/// Bytes [offset, offset + size) of `base`, which it keeps alive. The range must lie inside `base`
/// (`argument` otherwise).
Result<SourcePtr> slice_source(SourcePtr base, std::uint64_t offset, std::uint64_t size);

/// How a file's bytes are reached.
enum class FileAccess : std::uint8_t {
  positional,  ///< pread: a failing disk or network file system is an error value, never a signal
  mapped,      ///< mmap: `in_memory` is the whole file. If the file is cut or its disk fails while it is
               ///< read, the process gets SIGBUS, as with any mapping. Falls back to positional where
               ///< the file cannot be mapped; `OpenedFile::fallback` then says why.
};

/// What a file was when it was opened: enough to tell whether a path still names the same bytes.
struct FileIdentity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t size = 0;
  std::int64_t modified_ns = 0;  ///< modification time, nanoseconds since the epoch

  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

/// A source over a file, with what its user may want to know about it.
struct OpenedFile {
  SourcePtr source;
  FileIdentity identity;
  FileAccess access = FileAccess::positional;  ///< what was used in the end
  std::string fallback;                        ///< why `access` is not what was asked for; empty if it is
};

/// Opens a regular file for reading. Directories, pipes and missing files are errors (`io`). The file stays
/// open, and so readable after being replaced or unlinked, as long as the source lives.
Result<OpenedFile> open_file(const std::filesystem::path& path, FileAccess access = FileAccess::positional);

}  // namespace ptd
