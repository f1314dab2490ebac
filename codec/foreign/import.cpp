// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "foreign/import.hpp"

#include <fnmatch.h>

#include <algorithm>

#include "foreign/detect.hpp"
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
  if (const auto at = text.find("FILE"); at != std::string::npos) text.replace(at, 4, path.string());
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
    default:
      return import_safetensors_index(writer, path, options, report);
  }
}

bool is_imported(FileKind kind) {
  return kind == FileKind::ptd || kind == FileKind::safetensors || kind == FileKind::safetensors_index;
}

Result<ImportReport> import_path(Writer& writer, fs::path path, const ImportOptions& options) {
  if (fs::is_directory(path)) {
    PTD_LET(inside, model_in(path));
    path = inside;
  }
  PTD_LET(opened, open_file(path));
  PTD_LET(detection, detect_source(*opened.source));
  if (!is_imported(detection.kind)) return not_imported(path, detection);
  ImportReport report;
  PTD_TRY(import_as(detection.kind, writer, path, options, report));
  return report;
}

bool might_be_foreign(ErrorCode code) {
  return code == ErrorCode::not_ptd || code == ErrorCode::too_short || code == ErrorCode::byte_order;
}

// What the file is, behind what it is not.
Error explain(Error error, const fs::path& path) {
  const auto opened = open_file(path);
  const auto detection = opened ? detect_source(*opened->source) : Result<Detection>(Detection{});
  if (!detection || detection->kind == FileKind::unknown || detection->kind == FileKind::ptd) return error;
  error.message += "; it is " + describe(*detection);
  if (const auto what = advice_for(detection->kind, path); !what.empty()) error.message += ": " + what;
  return error;
}

}  // namespace

bool matches_glob(const std::string& pattern, const std::string& name) {
  return fnmatch(pattern.c_str(), name.c_str(), FNM_NOESCAPE) == 0;
}

bool is_made_mutable(const ImportOptions& options, const std::string& name) {
  return std::ranges::any_of(options.mutable_globs,
                             [&](const auto& glob) { return matches_glob(glob, name); });
}

Result<MethodId> add_method_metadata(Writer& writer, const std::string& name, const std::string& label,
                                     std::vector<PairSpec> metadata) {
  auto method = writer.add_method(name, metadata);
  if (method || method.error().code != ErrorCode::duplicate) return method;
  for (auto& pair : metadata) pair.key.insert(0, label + ":");
  return writer.add_method(name, std::move(metadata));
}

Result<ImportReport> import_file(Writer& writer, const fs::path& path, const ImportOptions& options) {
  return guarded([&] { return import_path(writer, path, options); });
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
