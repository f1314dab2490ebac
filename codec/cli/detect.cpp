// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/first_bytes.hpp"
#include "foreign/detect.hpp"

namespace ptd::cli {
namespace {

using foreign::FileKind;

std::string line_of(const std::string& path, const foreign::Detection& found) {
  return fmt::format("{}: {}: {}\n", escaped(path), foreign::kind_name(found.kind), foreign::describe(found));
}

std::string json_of(const std::string& path, const foreign::Detection& found) {
  using Json = nlohmann::ordered_json;
  const Json json = {{"file", path},
                     {"kind", std::string(foreign::kind_name(found.kind))},
                     {"detail", found.detail},
                     {"description", foreign::describe(found)},
                     {"advice", foreign::advice(found.kind)}};
  // Neither paths nor what stands in a file need be UTF-8.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Exit detect_file(const std::string& path, bool json) {
  const auto first = read_first_bytes(path, foreign::detect_bytes);
  if (!first) return report(first.error());
  const auto found = foreign::detect(first->bytes, first->size);
  print(json ? json_of(path, found) : line_of(path, found));
  return found.kind == FileKind::unknown ? Exit::refused : Exit::good;
}

}  // namespace

std::string detect_kinds() {
  std::string text = "Kinds:";
  for (unsigned i = 0; i <= static_cast<unsigned>(FileKind::unknown); ++i) {
    const foreign::Detection kind{static_cast<FileKind>(i), {}};
    text += fmt::format("\n  {:<22}{}", foreign::kind_name(kind.kind), foreign::describe(kind));
  }
  return text + "\n";
}

Exit detect(const DetectCommand& command) {
  auto worst = Exit::good;
  for (const auto& path : command.files) worst = std::max(worst, detect_file(path, command.json));
  return worst;
}

}  // namespace ptd::cli
