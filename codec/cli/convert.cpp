// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <filesystem>

#include "cli/commands.hpp"
#include "cli/write_ptd.hpp"
#include "foreign/import.hpp"

namespace ptd::cli {
namespace {

namespace fs = std::filesystem;

// METHOD=FILE, unless a file has that whole name.
foreign::ImportInput split_input(const std::string& argument) {
  const auto equals = argument.find('=');
  std::error_code ignored;
  if (equals == std::string::npos || equals == 0 || fs::exists(argument, ignored)) return {"", argument};
  return {argument.substr(0, equals), argument.substr(equals + 1)};
}

std::string ending_of(const std::string& path) { return fs::path(path).extension().string(); }

Result<void> add_inputs(Writer& writer, const ConvertCommand& command) {
  std::vector<foreign::ImportInput> inputs;
  for (const auto& argument : command.inputs) inputs.push_back(split_input(argument));
  foreign::ImportOptions options;
  options.mutable_globs = command.mutable_globs;
  options.immutable_globs = command.immutable_globs;
  options.own_globs = command.own_globs;
  options.allow_shared = command.allow_shared;
  options.allow_partial = command.allow_partial;
  options.metadata_as_json = command.metadata_as_json;
  options.keep_program = command.keep_program;
  PTD_LET(report, foreign::import_files(writer, inputs, {command.data.begin(), command.data.end()}, options));
  for (const auto& note : report.notes) remark(note);
  return {};
}

Exit convert_to_ptd(const ConvertCommand& command) {
  Writer writer;
  if (auto added = add_inputs(writer, command); !added) return report(added.error());
  return write_ptd(writer, command.output, command.compress, command.threads);
}

using Exporter = Result<foreign::ExportReport> (*)(const Reader&, const fs::path&,
                                                   const foreign::ExportOptions&);

Exit convert_from_ptd(const ConvertCommand& command, Exporter export_to) {
  if (command.inputs.size() != 1)
    return report(
        fail(ErrorCode::argument, "", "one .ptd file at a time becomes a file of another format").value());
  const auto file = foreign::open_ptd(command.inputs.front());
  if (!file) return report(file.error());
  ProgressLine progress("writing");
  const auto written =
      export_to(*file, command.output, {command.method, command.threads, progress.callback()});
  if (!written) return report(written.error());
  for (const auto& note : written->notes) remark(note);
  print(fmt::format("{}: {} ({} bytes), {} tensors\n", escaped(command.output),
                    human_size(written->file_bytes), grouped(written->file_bytes), written->tensors));
  return Exit::good;
}

// What --to says, else what the ending says.
std::string target_format(const ConvertCommand& command) {
  if (!command.to.empty()) return command.to;
  const auto ending = ending_of(command.output);
  return ending.empty() ? ending : ending.substr(1);
}

}  // namespace

Exit convert(const ConvertCommand& command) {
  const auto format = target_format(command);
  if (format == "safetensors") return convert_from_ptd(command, foreign::export_safetensors);
  if (format == "gguf") return convert_from_ptd(command, foreign::export_gguf);
  if (format == "flat-tensor") return convert_from_ptd(command, foreign::export_flat_tensor);
  if (format != "ptd")
    return report(fail_on(ErrorCode::argument, "", command.output,
                          "an output is named *.ptd, *.safetensors or *.gguf, which decides what is written, "
                          "or --to says what it is")
                      .value());
  if (!command.method.empty())
    return report(fail(ErrorCode::argument, "",
                       "--method chooses what becomes a file of another format; name an input's method with "
                       "METHOD=FILE")
                      .value());
  return convert_to_ptd(command);
}

}  // namespace ptd::cli
