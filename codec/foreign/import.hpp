// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Model files of any kind that is understood, into a Writer.
#pragma once

#include <filesystem>
#include <ptd/reader.hpp>
#include <ptd/writer.hpp>
#include <string>
#include <vector>

namespace ptd::foreign {

struct ImportOptions {
  std::string method;  ///< that the tensors are bound to; empty: "forward", or what the file says
  std::vector<std::string> mutable_globs;  ///< names (shell patterns) of tensors that are state
  std::vector<std::string>
      immutable_globs;                 ///< ExecuTorch: of tensors that are not, though nothing else says so
  std::vector<std::string> own_globs;  ///< of tensors that belong to their method, so that methods may give
                                       ///< one name to different tensors
  bool allow_shared = false;           ///< safetensors: several names over one byte range are one storage
  bool metadata_as_json = false;       ///< safetensors: keep metadata values that are not strings as JSON
  bool allow_partial = false;          ///< safetensors, GGUF: take one shard of several
  bool keep_program = false;           ///< ExecuTorch: store the .pte itself as a blob
};

/// One file to import.
struct ImportInput {
  std::string method;  ///< as ImportOptions::method
  std::filesystem::path path;
};

/// What an import found that its user may want to know; each a sentence.
struct ImportReport {
  std::uint64_t tensors = 0;
  std::uint64_t mutable_tensors = 0;
  std::vector<std::string> notes;
};

/// Adds everything in the file to the writer, by what its bytes say it is: a .ptd file, a safetensors file,
/// the index of a sharded one, a folder that holds one of the latter two, a GGUF file, or one of
/// ExecuTorch's. Sources keep the files open. Errors: those of the format at hand; `unsupported_input`,
/// naming what the file is, for formats that are not imported.
Result<ImportReport> import_file(Writer& writer, const std::filesystem::path& path,
                                 const ImportOptions& options);

/// Adds several files. ExecuTorch's are taken together: its programs and manifests refer to named data, which
/// is looked for in `data` and in FlatTensor files among the inputs. Errors: as import_file; `not_found` for
/// weights that no file has; `conflict` where files disagree.
Result<ImportReport> import_files(Writer& writer, const std::vector<ImportInput>& inputs,
                                  const std::vector<std::filesystem::path>& data,
                                  const ImportOptions& options);

/// Opens a .ptd file; if it is none, the error says what it is and what to do with it.
Result<Reader> open_ptd(const std::filesystem::path& path, const OpenOptions& options = {});

/// Writes a model, or what one method binds, as a file of another format that appears whole or not at all.
struct ExportOptions {
  std::string method;  ///< empty: all tensors
  unsigned threads = 0;
  Progress progress;
};

struct ExportReport {
  std::uint64_t tensors = 0;
  std::uint64_t file_bytes = 0;
  std::vector<std::string> notes;  ///< what the format cannot say and was left out
};

Result<ExportReport> export_safetensors(const Reader& file, const std::filesystem::path& target,
                                        const ExportOptions& options = {});

/// An ExecuTorch FlatTensor file, as its runtime reads it: tensors under their names or, where they came from
/// the CUDA backend, storages under its keys; blobs as opaque entries, but for those that the program carries
/// itself. Dense strides become dim orders. Errors: `unsupported_input` for dtypes and sizes that ExecuTorch
/// lacks, and for two different things under one key.
Result<ExportReport> export_flat_tensor(const Reader& file, const std::filesystem::path& target,
                                        const ExportOptions& options = {});

/// Versions 2 and 3. What came from a GGUF file goes back as it was: metadata, order, alignment, bytes. What
/// did not gets its text metadata as strings. Errors `unsupported_input` for what GGUF cannot say: dtypes and
/// schemes that GGML lacks, more than 4 dimensions, names that are too long, tensors of several GGUF files.
Result<ExportReport> export_gguf(const Reader& file, const std::filesystem::path& target,
                                 const ExportOptions& options = {});

/// True if `name` matches a shell pattern: * any bytes, ? one byte, [a-z] one of a set.
bool matches_glob(const std::string& pattern, const std::string& name);

}  // namespace ptd::foreign
