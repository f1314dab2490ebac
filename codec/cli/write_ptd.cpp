// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "cli/write_ptd.hpp"

#include <fmt/format.h>

namespace ptd::cli {
namespace {

std::string written_text(const WriteReport& report, const std::string& output) {
  return fmt::format(
      "{}: {} ({} bytes) from {} of tensors and blobs: sharing saved {}, zeros {}, compression {}\n"
      "model id {}\n",
      escaped(output), human_size(report.file_bytes), grouped(report.file_bytes),
      human_size(report.input_bytes), human_size(report.shared_bytes), human_size(report.zero_bytes),
      human_size(report.raw_bytes - report.stored_bytes), to_hex(report.model_id));
}

}  // namespace

Exit write_ptd(Writer& writer, const std::string& output, bool compress, unsigned threads) {
  ProgressLine progress("writing");
  WriteOptions options;
  options.compress = compress;
  options.threads = threads;
  options.progress = progress.callback();
  const auto written = writer.write(output, options);
  if (!written) return report(written.error());
  print(written_text(*written, output));
  return Exit::good;
}

}  // namespace ptd::cli
