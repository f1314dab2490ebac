// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "foreign/import.hpp"

#include <fnmatch.h>

#include <algorithm>

#include "foreign/detect.hpp"
#include "foreign/executorch_inputs.hpp"
#include "foreign/guard.hpp"
#include "foreign/import_sinks.hpp"

namespace ptd::foreign {
namespace {

namespace fs = std::filesystem;

Result<Detection> detect_source(const ByteSource& source) {
  std::vector<std::byte> first(std::min<std::uint64_t>(source.size(), detect_bytes));
  PTD_TRY(source.read(0, first));
  return detect(first, source.size());
}

// What to do with a file, said of this one.
std::string advice_for(FileKind kind, const fs::path& path) {
  auto text = advice(kind);
  for (auto at = text.find("FILE"); at != std::string::npos;
       at = text.find("FILE", at + path.string().size()))
    text.replace(at, 4, path.string());
  return text;
}

Failure not_imported(const fs::path& path, const Detection& detection) {
  const auto what = advice_for(detection.kind, path);
  return fail_on(
      ErrorCode::unsupported_input, "", path.string(),
      "this is " + describe(detection) + ", which cannot be converted" + (what.empty() ? "" : "; " + what));
}

// The one file of a folder with that ending, if there is exactly one.
Result<fs::path> only_file(const fs::path& folder, const std::string& ending) {
  std::vector<fs::path> found;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(folder, failed))
    if (entry.path().filename().string().ends_with(ending)) found.push_back(entry.path());
  if (failed)
    return fail_on(ErrorCode::io, "", folder.string(), "cannot list the folder: " + failed.message());
  if (found.size() == 1) return found.front();
  return fail_on(ErrorCode::unsupported_input, "", folder.string(),
                 "the folder has " + std::to_string(found.size()) + " files \"*" + ending +
                     "\" where one is needed; name the file or its index instead");
}

// An index decides which files count, so it comes before whatever else lies there.
Result<fs::path> model_in(const fs::path& folder) {
  if (auto index = only_file(folder, ".safetensors.index.json")) return index;
  return only_file(folder, ".safetensors");
}

Result<void> import_as(FileKind kind, Writer& writer, const fs::path& path, const ImportOptions& options,
                       ImportReport& report) {
  switch (kind) {
    case FileKind::ptd:
      return import_ptd(writer, path, options, report);
    case FileKind::safetensors:
      return import_safetensors(writer, path, options, report);
    case FileKind::gguf:
      return import_gguf(writer, path, options, report);
    default:
      return import_safetensors_index(writer, path, options, report);
  }
}

bool is_imported_alone(FileKind kind) {
  return kind == FileKind::ptd || kind == FileKind::safetensors || kind == FileKind::safetensors_index ||
         kind == FileKind::gguf;
}

bool is_executorch_method(FileKind kind) {
  return kind == FileKind::executorch_program || kind == FileKind::et_cuda_manifest ||
         kind == FileKind::et_newline_keys;
}

struct FoundInput {
  ImportInput input;
  FileKind kind;
};

Result<FoundInput> find_input(ImportInput input) {
  if (fs::is_directory(input.path)) {
    PTD_LET(inside, model_in(input.path));
    input.path = inside;
  }
  PTD_LET(opened, open_file(input.path));
  PTD_LET(detection, detect_source(*opened.source));
  const auto kind = detection.kind;
  if (!is_imported_alone(kind) && !is_executorch_method(kind) && kind != FileKind::flat_tensor)
    return not_imported(input.path, detection);
  return FoundInput{std::move(input), kind};
}

Result<void> add_data(ExecutorchInputs& executorch, const fs::path& path) {
  PTD_LET(opened, open_file(path));
  PTD_LET(detection, detect_source(*opened.source));
  if (detection.kind == FileKind::flat_tensor) return executorch.add_data(path);
  return fail_on(ErrorCode::unsupported_input, "", path.string(),
                 "--data wants ExecuTorch FlatTensor files; this is " + describe(detection));
}

Result<void> add_method(ExecutorchInputs& executorch, const FoundInput& found) {
  const auto& [method, path] = found.input;
  if (found.kind == FileKind::executorch_program) return executorch.add_program(path, method);
  const auto name = method.empty() ? std::string(default_method) : method;
  if (found.kind == FileKind::flat_tensor) return executorch.add_whole(path, name);
  return executorch.add_payload(path, name);
}

// Data first, so that methods find it. A FlatTensor file without METHOD= beside programs or manifests is data
// too.
Result<void> read_executorch(const std::vector<FoundInput>& inputs, const std::vector<fs::path>& data,
                             ExecutorchInputs& executorch) {
  const bool has_methods =
      std::ranges::any_of(inputs, [](const auto& found) { return is_executorch_method(found.kind); });
  const auto is_data = [&](const FoundInput& found) {
    return has_methods && found.kind == FileKind::flat_tensor && found.input.method.empty();
  };
  for (const auto& path : data) PTD_TRY(add_data(executorch, path));
  for (const auto& found : inputs)
    if (is_data(found)) PTD_TRY(executorch.add_data(found.input.path));
  for (const auto& found : inputs)
    if (!is_imported_alone(found.kind) && !is_data(found)) PTD_TRY(add_method(executorch, found));
  if (data.empty() || !executorch.is_empty()) return {};
  return fail(ErrorCode::argument, "",
              "--data goes with ExecuTorch programs and manifests, and there is none among the inputs");
}

Result<ImportReport> import_all(Writer& writer, const std::vector<ImportInput>& inputs,
                                const std::vector<fs::path>& data, const ImportOptions& options) {
  std::vector<FoundInput> found;
  for (const auto& input : inputs) {
    PTD_LET(one, find_input(input));
    found.push_back(std::move(one));
  }
  ExecutorchInputs executorch;
  PTD_TRY(read_executorch(found, data, executorch));
  ImportReport report;
  for (const auto& [input, kind] : found) {
    if (!is_imported_alone(kind)) continue;
    auto its_options = options;
    its_options.method = input.method;
    PTD_TRY(import_as(kind, writer, input.path, its_options, report));
  }
  if (!executorch.is_empty()) PTD_TRY(import_executorch(writer, executorch, options, report));
  return report;
}

bool might_be_foreign(ErrorCode code) {
  return code == ErrorCode::not_ptd || code == ErrorCode::too_short || code == ErrorCode::byte_order;
}

// What the file is, behind what it is not.
Error explain(Error error, const fs::path& path) {
  const auto opened = open_file(path);
  if (!opened) return error;
  const auto detection = detect_source(*opened->source);
  if (!detection || detection->kind == FileKind::ptd) return error;
  error.message += "; it is " + describe(*detection);
  if (const auto what = advice_for(detection->kind, path); !what.empty()) error.message += ": " + what;
  return error;
}

}  // namespace

bool matches_glob(const std::string& pattern, const std::string& name) {
  return fnmatch(pattern.c_str(), name.c_str(), FNM_NOESCAPE) == 0;
}

Failure in_file(Error error, const fs::path& path) {
  error.message += " (in \"" + escaped(path.string()) + "\")";
  if (error.subject.empty()) error.subject = path.string();
  return Failure(std::move(error));
}

bool matches_any(const std::vector<std::string>& globs, const std::string& name) {
  return std::ranges::any_of(globs, [&](const auto& glob) { return matches_glob(glob, name); });
}

bool is_made_mutable(const ImportOptions& options, const std::string& name) {
  return matches_any(options.mutable_globs, name);
}

OwnerSpec owner_in(const ImportOptions& options, MethodId method, const std::string& name) {
  return matches_any(options.own_globs, name) ? OwnerSpec::method(method) : OwnerSpec::model();
}

Result<MethodId> add_method_metadata(Writer& writer, const std::string& name, const std::string& label,
                                     std::vector<PairSpec> metadata) {
  auto method = writer.add_method(name, metadata);
  if (method || method.error().code != ErrorCode::duplicate) return method;
  for (auto& pair : metadata) pair.key.insert(0, label + ":");
  return writer.add_method(name, std::move(metadata));
}

Result<ImportReport> import_file(Writer& writer, const fs::path& path, const ImportOptions& options) {
  return import_files(writer, {{options.method, path}}, {}, options);
}

Result<ImportReport> import_files(Writer& writer, const std::vector<ImportInput>& inputs,
                                  const std::vector<fs::path>& data, const ImportOptions& options) {
  return guarded([&] { return import_all(writer, inputs, data, options); });
}

Result<Reader> open_ptd(const fs::path& path, const OpenOptions& options) {
  auto opened = Reader::open(path, options);
  if (opened) return opened;
  auto& error = opened.error();
  if (error.subject.empty()) error.subject = path.string();
  if (might_be_foreign(error.code))
    return guarded([&] { return Result<Reader>(Failure(explain(error, path))); });
  return opened;
}

}  // namespace ptd::foreign
