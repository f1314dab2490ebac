// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <filesystem>

#include "cli/commands.hpp"
#include "foreign/import.hpp"

namespace ptd::cli {
namespace {

namespace fs = std::filesystem;

struct Input {
  std::string method;
  std::string path;
};

// METHOD=FILE, unless a file has that whole name.
Input split_input(const std::string& argument) {
  const auto equals = argument.find('=');
  std::error_code ignored;
  if (equals == std::string::npos || equals == 0 || fs::exists(argument, ignored)) return {"", argument};
  return {argument.substr(0, equals), argument.substr(equals + 1)};
}

std::string ending_of(const std::string& path) { return fs::path(path).extension().string(); }

Result<void> add_inputs(Writer& writer, const ConvertCommand& command) {
  for (const auto& argument : command.inputs) {
    const auto input = split_input(argument);
    foreign::ImportOptions options;
    options.method = input.method;
    options.mutable_globs = command.mutable_globs;
    options.allow_shared = command.allow_shared;
    options.allow_partial = command.allow_partial;
    options.metadata_as_json = command.metadata_as_json;
    PTD_LET(report, foreign::import_file(writer, input.path, options));
    for (const auto& note : report.notes) remark(note);
  }
  return {};
}

std::string describe(const WriteReport& report, const std::string& output) {
  return fmt::format(
      "{}: {} ({} bytes) from {} of tensors and blobs: sharing saved {}, zeros {}, compression {}\n"
      "model id {}\n",
      escaped(output), human_size(report.file_bytes), grouped(report.file_bytes),
      human_size(report.input_bytes), human_size(report.shared_bytes), human_size(report.zero_bytes),
      human_size(report.raw_bytes - report.stored_bytes), to_hex(report.model_id));
}

Exit convert_to_ptd(const ConvertCommand& command) {
  Writer writer;
  if (auto added = add_inputs(writer, command); !added) return report(added.error());
  ProgressLine progress("writing");
  WriteOptions options;
  options.compress = command.compress;
  options.threads = command.threads;
  options.progress = progress.callback();
  const auto written = writer.write(command.output, options);
  if (!written) return report(written.error());
  print(describe(*written, command.output));
  return Exit::good;
}

Exit convert_to_safetensors(const ConvertCommand& command) {
  if (command.inputs.size() != 1)
    return report(
        fail(ErrorCode::argument, "", "one .ptd file at a time becomes a safetensors file").value());
  const auto file = foreign::open_ptd(command.inputs.front());
  if (!file) return report(file.error());
  ProgressLine progress("writing");
  const auto written = foreign::export_safetensors(*file, command.output,
                                                   {command.method, command.threads, progress.callback()});
  if (!written) return report(written.error());
  for (const auto& note : written->notes) remark(note);
  print(fmt::format("{}: {} ({} bytes), {} tensors\n", escaped(command.output),
                    human_size(written->file_bytes), grouped(written->file_bytes), written->tensors));
  return Exit::good;
}

}  // namespace

Exit convert(const ConvertCommand& command) {
  const auto ending = ending_of(command.output);
  if (ending == ".safetensors") return convert_to_safetensors(command);
  if (ending != ".ptd")
    return report(fail_on(ErrorCode::argument, "", command.output,
                          "an output is named *.ptd or *.safetensors; that decides what is written")
                      .value());
  if (!command.method.empty())
    return report(
        fail(ErrorCode::argument, "",
             "--method chooses what becomes a safetensors file; name an input's method with METHOD=FILE")
            .value());
  return convert_to_ptd(command);
}

}  // namespace ptd::cli
