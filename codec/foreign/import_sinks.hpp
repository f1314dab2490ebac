// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// What the importers have in common.
#pragma once

#include <functional>
#include <map>
#include <set>

#include "foreign/import.hpp"

namespace ptd::foreign {

inline constexpr const char* default_method = "forward";

/// The same error, naming the file that it was found in.
Failure in_file(Error error, const std::filesystem::path& path);

/// True if one of the options' patterns makes this tensor state.
bool is_made_mutable(const ImportOptions& options, const std::string& name);

/// True if one of the patterns matches the name.
bool matches_any(const std::vector<std::string>& globs, const std::string& name);

/// The owner of a method's tensor of that name: the model, unless the options give it to the method.
OwnerSpec owner_in(const ImportOptions& options, MethodId method, const std::string& name);

/// A method that exists from now on; metadata pairs that it has already with another value get the label
/// before their key.
Result<MethodId> add_method_metadata(Writer& writer, const std::string& name, const std::string& label,
                                     std::vector<PairSpec> metadata);

Result<void> import_safetensors(Writer& writer, const std::filesystem::path& path,
                                const ImportOptions& options, ImportReport& report);
Result<void> import_safetensors_index(Writer& writer, const std::filesystem::path& path,
                                      const ImportOptions& options, ImportReport& report);
Result<void> import_gguf(Writer& writer, const std::filesystem::path& path, const ImportOptions& options,
                         ImportReport& report);
Result<void> import_ptd(Writer& writer, const std::filesystem::path& path, const ImportOptions& options,
                        ImportReport& report);

struct ExecutorchInputs;

/// Adds what ExecuTorch's files say together. Errors: those of CudaWeights and NamedTensors.
Result<void> import_executorch(Writer& writer, ExecutorchInputs& inputs, const ImportOptions& options,
                               ImportReport& report);

/// What .ptd files that become one have in common: objects of one name, added once.
struct PtdUnion {
  std::map<std::string, BlobId, std::less<>> blobs;
  std::map<std::string, LibraryId, std::less<>> libraries;
  std::set<std::string, std::less<>> metadata;  ///< keys of files' metadata
};

/// Adds a file to those in `all`. The caller has made sure that blobs, libraries and metadata of one name are
/// equal; tensors that are not are the writer's `conflict`. Fails for files of a later minor version, which
/// hold what a copy would lose [EVO-5].
Result<void> add_ptd(Writer& writer, const Reader& file, const std::string& label, PtdUnion& all);

}  // namespace ptd::foreign
