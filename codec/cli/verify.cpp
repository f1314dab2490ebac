// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "cli/commands.hpp"
#include "foreign/import.hpp"

namespace ptd::cli {
namespace {

std::string describe(const std::string& path, const VerifyReport& report) {
  auto text = fmt::format(
      "{}: good: all {} bytes checked, {} tensors, {} bytes of content in {} segments and {} chunks\n",
      escaped(path), grouped(report.file_bytes), grouped(report.tensors), grouped(report.raw_bytes),
      grouped(report.segments), grouped(report.chunks));
  if (report.unknown_bytes > 0)
    text += fmt::format(
        "{}: note: {} bytes of the manifest are of a later minor version and were not understood\n",
        escaped(path), grouped(report.unknown_bytes));
  return text;
}

Exit verify_file(const std::string& path, unsigned threads) {
  const auto file = foreign::open_ptd(path);
  if (!file) return report(file.error());
  Result<VerifyReport> verified;
  {
    ProgressLine progress("verifying");
    verified = file->verify({threads, progress.callback()});
  }
  if (!verified) {
    auto error = verified.error();
    error.message += " (in \"" + path + "\")";
    return report(error);
  }
  print(describe(path, *verified));
  return Exit::good;
}

}  // namespace

Exit verify(const VerifyCommand& command) {
  auto worst = Exit::good;
  for (const auto& path : command.files) worst = std::max(worst, verify_file(path, command.threads));
  return worst;
}

}  // namespace ptd::cli
