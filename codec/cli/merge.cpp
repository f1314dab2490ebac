// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "cli/commands.hpp"
#include "cli/diff_text.hpp"
#include "cli/merge_conflicts.hpp"
#include "cli/write_ptd.hpp"
#include "foreign/import.hpp"
#include "foreign/import_sinks.hpp"

namespace ptd::cli {
namespace {

struct Input {
  std::string path;
  Reader file;
};

using Inputs = std::vector<Input>;

// A model that is there already adds nothing.
Result<Inputs> open_inputs(const std::vector<std::string>& paths) {
  Inputs inputs;
  std::map<Digest, std::string> seen;
  for (const auto& path : paths) {
    PTD_LET(file, foreign::open_ptd(path));
    const auto [known, is_new] = seen.try_emplace(file.model_id(), path);
    if (is_new)
      inputs.push_back({path, file});
    else
      remark(fmt::format("\"{}\" is the same model as \"{}\"", path, known->second));
  }
  return inputs;
}

std::vector<const Model*> models_of(const Inputs& inputs) {
  std::vector<const Model*> models;
  for (const auto& input : inputs) models.push_back(&input.file.model());
  return models;
}

Error conflict_error(const MergeConflict& conflict, const Inputs& inputs) {
  return fail_on(ErrorCode::conflict, "WRT-4", conflict.name,
                 fmt::format("\"{}\" and \"{}\" differ in {}", escaped(inputs[conflict.first].path),
                             escaped(inputs[conflict.second].path), conflict_text(conflict)))
      .value();
}

Exit report_conflicts(const std::vector<MergeConflict>& conflicts, const Inputs& inputs) {
  constexpr std::size_t most = 100;
  for (std::size_t i = 0; i < std::min(conflicts.size(), most); ++i)
    report(conflict_error(conflicts[i], inputs));
  if (conflicts.size() > most) remark(fmt::format("and {} more conflicts", conflicts.size() - most));
  remark(
      "nothing was written; rename what conflicts, let methods own it, or compare the files with `ptd diff`");
  return Exit::refused;
}

void note_common_methods(const Inputs& inputs) {
  std::map<std::string_view, std::size_t> files;
  for (const auto& input : inputs)
    for (const auto& method : input.file.model().methods) ++files[method.name];
  for (const auto& [name, count] : files)
    if (count > 1)
      remark(fmt::format("the method \"{}\" is in {} of the files: it now binds what it binds in any of them",
                         name, count));
}

Result<void> add_inputs(Writer& writer, const Inputs& inputs) {
  foreign::PtdUnion all;
  for (const auto& input : inputs) PTD_TRY(foreign::add_ptd(writer, input.file, input.path, all));
  return {};
}

Exit write_union(const Inputs& inputs, const MergeCommand& command) {
  Writer writer;
  if (auto added = add_inputs(writer, inputs); !added) return report(added.error());
  const auto exit = write_ptd(writer, command.output, command.compress, command.threads);
  if (exit == Exit::good) note_common_methods(inputs);
  return exit;
}

}  // namespace

Exit merge(const MergeCommand& command) {
  if (std::filesystem::path(command.output).extension() != ".ptd")
    return report(fail_on(ErrorCode::argument, "", command.output, "the output is named *.ptd").value());
  const auto inputs = open_inputs(command.inputs);
  if (!inputs) return report(inputs.error());
  const auto conflicts = find_conflicts(models_of(*inputs));
  return conflicts.empty() ? write_union(*inputs, command) : report_conflicts(conflicts, *inputs);
}

}  // namespace ptd::cli
