// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "cli/written_text.hpp"

#include <fmt/format.h>

#include "cli/terminal.hpp"

namespace ptd::cli {

std::string written_text(const WriteReport& report, const std::string& output) {
  return fmt::format(
      "{}: {} ({} bytes) from {} of tensors and blobs: sharing saved {}, zeros {}, compression {}\n"
      "model id {}\n",
      escaped(output), human_size(report.file_bytes), grouped(report.file_bytes),
      human_size(report.input_bytes), human_size(report.shared_bytes), human_size(report.zero_bytes),
      human_size(report.raw_bytes - report.stored_bytes), to_hex(report.model_id));
}

}  // namespace ptd::cli
