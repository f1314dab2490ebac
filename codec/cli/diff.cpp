// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/diff_text.hpp"
#include "foreign/import.hpp"

namespace ptd::cli {
namespace {

constexpr auto same = Exit::good, different = Exit::refused, trouble = Exit::usage;

Result<ModelDiff> compare(const Reader& before, const Reader& after, const DiffCommand& command) {
  if (command.method.empty()) return diff_models(before.model(), after.model());
  const auto find = [&](const Reader& file, const std::string& path) -> Result<std::uint32_t> {
    if (const auto found = file.model().find_method(command.method)) return *found;
    return fail_on(ErrorCode::not_found, "", command.method,
                   "\"" + escaped(path) + "\" has no method of this name; see `ptd info`");
  };
  PTD_LET(in_before, find(before, command.before));
  PTD_LET(in_after, find(after, command.after));
  return diff_methods(before.model(), in_before, after.model(), in_after);
}

// What a later minor version says may differ unseen.
bool may_hide_something(const Reader& before, const Reader& after) {
  return before.model().minor > 0 || after.model().minor > 0;
}

void add_hidden(ModelDiff& diff) {
  Difference unknown;
  unknown.subject = Subject::file;
  unknown.details.push_back({"fields of a later minor version", "not understood", "not understood"});
  diff.differences.push_back(std::move(unknown));
}

void show(const ModelDiff& diff, const DiffIds& ids, const DiffCommand& command) {
  if (command.quiet) return;
  if (command.json) return print(diff_json(diff, ids, command.before, command.after));
  if (!command.stat)
    for (const auto& difference : diff.differences) print(difference_line(difference));
  print(summary_text(diff, ids));
}

Exit diff_files(const Reader& before, const Reader& after, const DiffCommand& command) {
  const DiffIds ids{before.model_id(), after.model_id()};
  auto found = compare(before, after, command);
  if (!found) return report(found.error()), trouble;
  const bool identical = ids.before == ids.after;
  if (!identical && found->differences.empty() && may_hide_something(before, after)) add_hidden(*found);
  show(*found, ids, command);
  return found->differences.empty() ? same : different;
}

}  // namespace

Exit diff(const DiffCommand& command) {
  const auto before = foreign::open_ptd(command.before);
  if (!before) return report(before.error()), trouble;
  const auto after = foreign::open_ptd(command.after);
  if (!after) return report(after.error()), trouble;
  return diff_files(*before, *after, command);
}

}  // namespace ptd::cli
