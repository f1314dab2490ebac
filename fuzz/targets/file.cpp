// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// A whole file: opened, verified, read to the last byte, and written again. Input: the file.
#include "foreign/detect.hpp"
#include "support/require.hpp"
#include "support/target.hpp"
#include "support/whole_file.hpp"

namespace ptd::fuzz {
namespace {

void check_detection(Bytes file) {
  const auto found = foreign::detect(file, file.size());
  require(found.kind == foreign::FileKind::ptd, "what opens is detected as PTD");
}

/// Every stored byte belongs to a chunk, and a verification reads them all.
void require_complete(const VerifyReport& report, const Reader& reader, std::uint64_t file_bytes) {
  std::uint64_t stored = 0, chunks = 0;
  for (const auto& segment : reader.layout().segments) {
    stored += segment.stored_size;
    chunks += segment.chunks;
  }
  require(report.stored_bytes == stored && report.chunks == chunks && report.file_bytes == file_bytes,
          "a verification reads every byte");
}

void run(Bytes input) {
  const auto reader = Reader::open(borrow_memory(input));
  if (!reader) return require_about_file(reader.error());
  check_detection(input);
  require_names(reader->model());
  if (!raw_bytes(*reader)) return;
  const auto report = reader->verify({.threads = 1});
  if (report)
    require_complete(*report, *reader, input.size());
  else
    require_about_file(report.error());
  const bool readable = read_everything(*reader);
  require(!report || readable, "a verified file can be read");
  // Of a later minor version a copy would lose what this version does not know.
  if (!report || reader->model().minor != 0) return;
  require_copy(*reader, false);
  require_copy(*reader, true);
}

}  // namespace

// Contents are held while all is compared, and the writer has buffers of its own for each thread.
Target file_target() { return {"file", run, {96 << 20, 256}}; }

}  // namespace ptd::fuzz
