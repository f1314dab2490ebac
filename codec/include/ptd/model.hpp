// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// What a file holds (SPEC.md, "Model"): contents, storages, libraries, methods, tensors, blobs.
// Plain structs that look into the manifest's bytes; names and lists are views, valid as long as
// the Reader (or the buffer) that they came from.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <ptd/bytes.hpp>
#include <ptd/dtype.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ptd {

/// A SHA-256 value, in the order in which its bytes are printed.
using Digest = std::array<std::byte, 32>;

/// Lower-case hexadecimal, 64 characters.
std::string to_hex(const Digest& digest);

/// Stands for "none" wherever the model refers to something by index.
inline constexpr std::uint32_t no_index = 0xFFFFFFFF;

/// A run of raw bytes, named by size and digest. Never empty, never all zero.
struct Content {
  std::uint64_t size = 0;
  Digest digest{};

  friend bool operator==(const Content&, const Content&) = default;
};

enum class Access : std::uint8_t { immutable = 1, mutable_ = 2 };

/// Where the first bytes of a storage come from.
enum class Origin : std::uint8_t {
  stored = 1,    ///< this file: its content, then zeros
  external = 2,  ///< whoever loads the model supplies them
};

/// Where a storage is meant to live.
enum class Placement : std::uint8_t {
  any = 1,     ///< the runtime chooses
  host = 2,    ///< CPU memory
  device = 3,  ///< the accelerator that runs the method
};

/// One allocation at run time.
struct Storage {
  std::uint64_t size = 0;  ///< bytes
  std::uint32_t content =
      no_index;  ///< first bytes; what lies behind them is zero. None: all zero (or external)
  Access access = Access::immutable;
  Origin origin = Origin::stored;
  Placement placement = Placement::any;

  /// Stored, and nothing but zeros.
  [[nodiscard]] bool is_zeros() const noexcept { return origin == Origin::stored && content == no_index; }
};

enum class ValueKind : std::uint8_t { text = 1, bytes = 2, json = 3 };

/// One metadata entry. text and json are valid UTF-8.
struct Pair {
  std::string_view key;
  std::string_view value;
  ValueKind kind = ValueKind::text;
};

enum class VariantKind : std::uint8_t { regular = 1, fallback = 2 };

/// One compiled form of a library.
struct Variant {
  std::uint32_t blob = no_index;  ///< the code; none if it is not in this file
  std::uint32_t sm = 0;           ///< CUDA compute capability x 10 that it is compiled for (90), 0 for none
  std::uint32_t ptx = 0;          ///< compute capability x 10 of the PTX that it carries, 0 for none
  VariantKind kind = VariantKind::regular;
  std::string_view target;  ///< any other architecture, for example "gfx942"; empty for none
};

/// Compiled code and the owner of the constants that its compiler made up.
struct Library {
  std::string_view name;
  std::vector<Variant> variants;
  std::vector<Pair> metadata;
};

/// A name and what it binds. Index lists are strictly ascending.
struct Method {
  std::string_view name;
  std::span<const std::uint32_t> tensors;    ///< into Model::tensors
  std::span<const std::uint32_t> libraries;  ///< into Model::libraries
  std::span<const std::uint32_t> blobs;      ///< into Model::blobs
  std::vector<Pair> metadata;
};

enum class OwnerKind : std::uint8_t { model = 1, library = 2, method = 3 };

/// Whose namespace a tensor's name lives in.
struct Owner {
  OwnerKind kind = OwnerKind::model;
  std::uint32_t index = 0;  ///< of the library or method; 0 for the model

  friend auto operator<=>(const Owner&, const Owner&) = default;
};

/// A strided view into a storage. Sizes, strides and offset count elements.
struct Tensor {
  std::string_view name;  ///< fully qualified name
  Owner owner;
  DType dtype = DType::uint8;
  std::uint32_t storage = no_index;
  std::uint64_t storage_offset = 0;
  std::span<const std::uint64_t> sizes;
  std::span<const std::uint64_t> strides;  ///< as many as sizes; strides of dimensions of size 1 mean nothing
  std::string_view scheme;  ///< block-quantised data: how the bytes are packed; empty otherwise
  std::span<const std::uint64_t> logical_sizes;  ///< with a scheme: the sizes that the bytes stand for
  std::vector<Pair> metadata;
};

/// Opaque named bytes.
struct Blob {
  std::string_view name;
  std::uint64_t size = 0;            ///< bytes
  std::uint32_t content = no_index;  ///< first bytes; what lies behind them is zero
  std::string_view media_type;       ///< empty if unsaid
  std::vector<Pair> metadata;
};

/// Everything a file says about what it holds. One that came from a Reader obeys every model rule.
struct Model {
  std::uint16_t major = 1;  ///< version of the format that it was written for
  std::uint16_t minor = 0;
  std::uint64_t required_features = 0;
  std::vector<Content> contents;   ///< ascending by digest
  std::vector<Storage> storages;   ///< in order of first reference by tensors
  std::vector<Library> libraries;  ///< ascending by name
  std::vector<Method> methods;     ///< ascending by name
  std::vector<Tensor> tensors;     ///< ascending by (owner, name)
  std::vector<Blob> blobs;         ///< ascending by name
  std::vector<Pair> metadata;      ///< ascending by key

  // Lookups give an index or nothing. Complexity: O(log n) comparisons.
  [[nodiscard]] std::optional<std::uint32_t> find_method(std::string_view name) const;
  [[nodiscard]] std::optional<std::uint32_t> find_library(std::string_view name) const;
  [[nodiscard]] std::optional<std::uint32_t> find_blob(std::string_view name) const;
  [[nodiscard]] std::optional<std::uint32_t> find_tensor(Owner owner, std::string_view name) const;

  /// What a method means by an FQN: its own tensor if it binds one, else the model's if it binds that.
  [[nodiscard]] std::optional<std::uint32_t> find_in_method(std::uint32_t method, std::string_view fqn) const;
};

/// Number of elements (1 for rank 0, 0 if any size is 0). The tensor must come from a valid model.
std::uint64_t element_count(const Tensor& tensor) noexcept;

/// Bytes of the tensor's elements laid out row-major and packed: ceil(elements x bits / 8).
std::uint64_t logical_bytes(const Tensor& tensor) noexcept;

/// True if the view is row-major without gaps, so that its logical bytes lie in the storage as they are.
bool is_contiguous(const Tensor& tensor) noexcept;

/// Row-major strides of `sizes`, with max(size, 1) in the products.
std::vector<std::uint64_t> contiguous_strides(std::span<const std::uint64_t> sizes);

}  // namespace ptd
