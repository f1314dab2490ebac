// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Opening a file and reading what it holds.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <ptd/bytes.hpp>
#include <ptd/error.hpp>
#include <ptd/layout.hpp>
#include <ptd/limits.hpp>
#include <ptd/model.hpp>
#include <span>
#include <string_view>

namespace ptd {

/// Called now and then with bytes done and bytes in all, by one thread at a time. Returning false stops the
/// call with `cancelled`.
using Progress = std::function<bool(std::uint64_t done, std::uint64_t total)>;

struct OpenOptions {
  FileAccess access = FileAccess::positional;
  std::uint64_t max_message_bytes = limits::max_message_bytes;  ///< refuse larger messages (`reader_limit`)
};

struct ReadOptions {
  bool check = true;     ///< compare every chunk with its XXH3-64
  unsigned threads = 0;  ///< 0: one a core
};

/// What a read had to touch.
struct ReadReport {
  std::uint64_t wanted_bytes = 0;  ///< bytes of content that the caller asked for
  std::uint64_t raw_bytes =
      0;  ///< bytes of content read or decoded: whole chunks where they are checked or coded
  std::uint64_t stored_bytes = 0;  ///< bytes read from the file for them
  std::uint64_t chunks = 0;
};

/// start, start + step, ... below stop, along one dimension. start >= stop is empty; stop over the
/// dimension's size, or start over it, is an error, as is a step of 0.
struct Slice {
  std::uint64_t start = 0;
  std::uint64_t stop = 0;
  std::uint64_t step = 1;

  /// Number of elements.
  [[nodiscard]] constexpr std::uint64_t count() const noexcept {
    return start >= stop || step == 0 ? 0 : (stop - start - 1) / step + 1;
  }
};

struct VerifyOptions {
  unsigned threads = 0;
  Progress progress{};  ///< in raw bytes
};

/// What `verify` checked, all of it good.
struct VerifyReport {
  std::uint64_t file_bytes = 0;  ///< every one of them accounted for
  std::uint64_t raw_bytes = 0;   ///< content proven against content digests
  std::uint64_t stored_bytes = 0;
  std::uint64_t segments = 0;
  std::uint64_t chunks = 0;
  std::uint64_t tensors = 0;
  std::uint64_t unknown_bytes = 0;  ///< of the messages: fields of a later minor version, not understood
};

/// A file that passed every check of the open level (SPEC.md, "Order of checks"). Copies are cheap
/// and share the open file; all members may be called from several threads at once. Views that the model
/// hands out live as long as any copy.
class Reader {
 public:
  /// Opens a file: reads the header and the manifest, not the payload. O(manifest).
  static Result<Reader> open(const std::filesystem::path& path, const OpenOptions& options = {});

  /// Opens bytes from anywhere, for example borrow_memory(...). The source is kept.
  static Result<Reader> open(SourcePtr source, const OpenOptions& options = {});

  [[nodiscard]] const Model& model() const noexcept;
  [[nodiscard]] const Layout& layout() const noexcept;  ///< with offsets computed

  /// SHA-256 of the model message: names every byte of every tensor. O(model message) at each call.
  [[nodiscard]] Digest model_id() const;

  [[nodiscard]] std::uint64_t file_size() const noexcept;
  [[nodiscard]] std::uint64_t optional_features() const noexcept;

  /// The file as it was opened; with a source other than a file, identity is all zero.
  [[nodiscard]] const OpenedFile& file() const noexcept;

  /// The segment that stores a content.
  [[nodiscard]] const Segment& segment_of(std::uint32_t content) const noexcept;

  // Reading. Indices are into the model and must be in range (`argument` otherwise), and so must be
  // offset + destination.size(). Destinations are filled whole or the call fails; after a failure their bytes
  // mean nothing. Each touches only the chunks that it needs.

  /// Bytes of a content from `offset` on.
  [[nodiscard]] Result<ReadReport> read_content(std::uint32_t content, std::uint64_t offset,
                                                MutableBytes destination,
                                                const ReadOptions& options = {}) const;

  /// Bytes of a storage: its content, then zeros. An external storage has none here (`argument`).
  [[nodiscard]] Result<ReadReport> read_storage(std::uint32_t storage, std::uint64_t offset,
                                                MutableBytes destination,
                                                const ReadOptions& options = {}) const;

  [[nodiscard]] Result<ReadReport> read_blob(std::uint32_t blob, std::uint64_t offset,
                                             MutableBytes destination, const ReadOptions& options = {}) const;

  /// A tensor's elements, row-major and packed whatever its strides; the destination has
  /// logical_bytes(tensor) bytes.
  [[nodiscard]] Result<ReadReport> read_tensor(std::uint32_t tensor, MutableBytes destination,
                                               const ReadOptions& options = {}) const;

  /// The elements that one slice a dimension selects, row-major and packed: ceil(product of counts
  /// x bits / 8) bytes. `report.raw_bytes - report.wanted_bytes` is what was read beyond them.
  [[nodiscard]] Result<ReadReport> read_region(std::uint32_t tensor, std::span<const Slice> region,
                                               MutableBytes destination,
                                               const ReadOptions& options = {}) const;

  /// A content (its index must be in range) as an input for a Writer; checked as it is read, and keeps
  /// the file open.
  [[nodiscard]] SourcePtr content_source(std::uint32_t content) const;

  /// Everything that a file of this version must obey: padding, chunk tables, every chunk, every
  /// content digest, pad bits. Bounded memory. The first fault in SPEC.md's order, whatever the number of
  /// threads.
  [[nodiscard]] Result<VerifyReport> verify(const VerifyOptions& options = {}) const;

  struct State;  ///< internal

 private:
  explicit Reader(std::shared_ptr<const State> state);
  std::shared_ptr<const State> state_;
};

}  // namespace ptd
