// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// A file that exists in memory alone, for what opens files by their path.
#pragma once

#include <filesystem>
#include <ptd/bytes.hpp>

namespace ptd::fuzz {

class InMemoryFile {
 public:
  explicit InMemoryFile(Bytes bytes);
  InMemoryFile(const InMemoryFile&) = delete;
  InMemoryFile& operator=(const InMemoryFile&) = delete;
  ~InMemoryFile();

  /// Opens it for as long as this object lives.
  [[nodiscard]] std::filesystem::path path() const;

 private:
  int descriptor_;
};

}  // namespace ptd::fuzz
