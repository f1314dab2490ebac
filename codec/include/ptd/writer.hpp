// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Collecting a model and writing it in one pass.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <ptd/bytes.hpp>
#include <ptd/error.hpp>
#include <ptd/limits.hpp>
#include <ptd/model.hpp>
#include <ptd/reader.hpp>
#include <string>
#include <vector>

namespace ptd {

/// Objects of a Writer, by number in the order added; not the indices of the file.
enum class StorageId : std::uint32_t {};
enum class TensorId : std::uint32_t {};
enum class MethodId : std::uint32_t {};
enum class LibraryId : std::uint32_t {};
enum class BlobId : std::uint32_t {};

struct PairSpec {
  std::string key;
  std::string value;
  ValueKind kind = ValueKind::text;

  friend bool operator==(const PairSpec&, const PairSpec&) = default;
};

/// One allocation at run time and where its first bytes come from.
struct StorageSpec {
  std::uint64_t size = 0;  ///< bytes, at least the content's
  SourcePtr content;       ///< read while writing; null: all zero, or external
  Access access = Access::immutable;
  Origin origin = Origin::stored;
  Placement placement = Placement::any;
  std::string label;  ///< which input it comes from ("a.safetensors"), for messages; also: two mutable
                      ///< storages with one label are two memories, and no common key makes them one
};

/// Whose namespace a name lives in.
struct OwnerSpec {
  OwnerKind kind = OwnerKind::model;
  std::uint32_t id = 0;  ///< of a LibraryId or MethodId

  static OwnerSpec model() { return {}; }
  static OwnerSpec library(LibraryId id) { return {OwnerKind::library, static_cast<std::uint32_t>(id)}; }
  static OwnerSpec method(MethodId id) { return {OwnerKind::method, static_cast<std::uint32_t>(id)}; }

  friend auto operator<=>(const OwnerSpec&, const OwnerSpec&) = default;
};

struct TensorSpec {
  std::string name;  ///< fully qualified name
  OwnerSpec owner;
  DType dtype = DType::uint8;
  StorageId storage{};
  std::uint64_t storage_offset = 0;  ///< elements
  std::vector<std::uint64_t> sizes;
  std::vector<std::uint64_t> strides;  ///< elements; contiguous_strides(sizes) for ordinary tensors
  std::string scheme;                  ///< block-quantised data only
  std::vector<std::uint64_t> logical_sizes;
  std::vector<PairSpec> metadata;
};

struct VariantSpec {
  bool has_blob = false;
  BlobId blob{};
  std::uint32_t sm = 0;
  std::uint32_t ptx = 0;
  VariantKind kind = VariantKind::regular;
  std::string target;
};

struct LibrarySpec {
  std::string name;
  std::vector<VariantSpec> variants;
  std::vector<PairSpec> metadata;
};

struct BlobSpec {
  std::string name;
  SourcePtr content;       ///< null for an empty blob
  std::uint64_t size = 0;  ///< bytes, at least the content's; 0 means the content's
  std::string media_type;
  std::vector<PairSpec> metadata;
};

struct WriteOptions {
  bool compress = false;     ///< literals-only zstd over byte planes, where it helps
  unsigned threads = 0;      ///< 0: one a core; the bytes written do not depend on it
  unsigned chunk_log2 = 16;  ///< 14 .. 24
  std::uint64_t max_message_bytes =
      limits::required_message_bytes;  ///< refuse to write what some readers may not
                                       ///< take; at most limits::max_message_bytes
  Progress progress;                   ///< in bytes of input
};

/// What was written.
struct WriteReport {
  Digest model_id{};
  std::uint64_t file_bytes = 0;
  std::uint64_t input_bytes = 0;   ///< of all storages and blobs added, as often as they were added
  std::uint64_t shared_bytes = 0;  ///< of these, found to be stored already
  std::uint64_t zero_bytes = 0;    ///< of these, all-zero storages, which take no room
  std::uint64_t raw_bytes = 0;     ///< of distinct contents
  std::uint64_t stored_bytes = 0;  ///< of their segments
};

/// Collects a model, then writes it. Every rule of the format is enforced when the object is added or,
/// where only the bytes can tell, while writing; an error leaves the target as it was.
///
/// Two rules are the caller's alone to keep, since checking them would mean to understand the bytes: elements
/// of dtype boolean are 0 or 1, and metadata of kind json is JSON [WRT-16].
///
/// Sources are read once, in an order that the writer chooses, except that a sequential source is read
/// front to back. Not thread-safe while adding; `write` uses threads of its own.
class Writer {
 public:
  Writer();
  Writer(Writer&&) noexcept;
  Writer& operator=(Writer&&) noexcept;
  ~Writer();

  Result<StorageId> add_storage(StorageSpec storage);
  Result<BlobId> add_blob(BlobSpec blob);
  Result<LibraryId> add_library(LibrarySpec library);

  /// A method of that name, made if there is none; metadata is added to it. A key with another value than it
  /// has there already is `duplicate`, and nothing is added then.
  Result<MethodId> add_method(std::string name, std::vector<PairSpec> metadata = {});

  /// A tensor. If its (owner, name) exists already, both must be the same: equal dtype, sizes, strides,
  /// offset, access, placement and storage size (else `conflict`, naming both origins), and equal bytes
  /// (checked by `write`, same error). They then share one storage, mutable or not, and the earlier id is
  /// returned.
  Result<TensorId> add_tensor(TensorSpec tensor);

  Result<void> bind(MethodId method, TensorId tensor);
  Result<void> bind(MethodId method, LibraryId library);
  Result<void> bind(MethodId method, BlobId blob);

  /// Metadata of the file. A key twice is `duplicate`.
  Result<void> add_metadata(PairSpec pair);

  /// Writes a file that appears whole or not at all; the target may be one of the sources. Memory is bounded
  /// by the number of objects and threads, not by their bytes.
  Result<WriteReport> write(const std::filesystem::path& target, const WriteOptions& options = {});

  /// Writes to memory.
  Result<WriteReport> write(std::vector<std::byte>& target, const WriteOptions& options = {});

  struct State;  ///< internal

 private:
  std::unique_ptr<State> state_;
};

}  // namespace ptd
