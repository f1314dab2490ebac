// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// The named data of ExecuTorch: keys and their bytes, from FlatTensor files and from programs.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <ptd/bytes.hpp>
#include <span>
#include <string>
#include <vector>

#include "foreign/executorch_program.hpp"
#include "foreign/flat_tensor.hpp"

namespace ptd::foreign {

/// The bytes that one file gives to one key.
struct NamedBytes {
  std::string key;
  std::string origin;                          ///< the file's path
  std::uint32_t file = 0;                      ///< its number
  FileRange range;                             ///< in the file; keys with one range share it
  SourcePtr content;                           ///< keeps the file open; null if there are no bytes
  std::optional<FlatTensorLayoutInfo> layout;  ///< none: opaque
  bool in_program = false;                     ///< the program carries them itself
  bool is_used = false;                        ///< by a method; kept by the importer
};

/// All named data of one conversion. A key may come from several files; whoever uses it must find them equal.
class NamedData {
 public:
  /// Takes in a FlatTensor file; gives its number. Errors: those of parse_flat_tensor, naming the file.
  Result<std::uint32_t> add_flat_tensor(const std::filesystem::path& path);

  /// Takes in what a program carries.
  Result<void> add_program(const SourcePtr& file, const std::string& origin, const ProgramInfo& program);

  /// What files give to a key, in the order in which they were added. Valid until something is added.
  [[nodiscard]] std::vector<NamedBytes*> find(const std::string& key);

  [[nodiscard]] std::span<NamedBytes> all() noexcept { return entries_; }

  /// The entries of one file.
  [[nodiscard]] std::span<NamedBytes> of_file(std::uint32_t file) noexcept;

 private:
  Result<void> add(NamedBytes entry, const SourcePtr& file);
  std::vector<NamedBytes> entries_;
  std::multimap<std::string, std::size_t> by_key_;  ///< equal keys stay in insertion order
  std::vector<std::size_t> ends_;                   ///< of each file's entries
};

/// Reads a file's message, of which `size_of` tells the size from the file's first `header_bytes`.
Result<std::vector<std::byte>> read_message(const ByteSource& file, std::size_t header_bytes,
                                            Result<std::uint64_t> (*size_of)(Bytes, std::uint64_t));

}  // namespace ptd::foreign
