// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// A folder of this process's own, in memory where there is such a place, removed at the end.
#pragma once

#include <filesystem>
#include <ptd/bytes.hpp>
#include <string>
#include <vector>

namespace ptd::fuzz {

class ScratchFolder {
 public:
  /// The one folder of the process.
  static const ScratchFolder& get();

  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  [[nodiscard]] std::filesystem::path path(const std::string& name) const { return folder_ / name; }

  /// Makes or replaces a file; gives its path.
  [[nodiscard]] std::filesystem::path write(const std::string& name, Bytes bytes) const;

  [[nodiscard]] std::vector<std::byte> read(const std::string& name) const;

 private:
  ScratchFolder();
  ~ScratchFolder();

  std::filesystem::path folder_;
};

}  // namespace ptd::fuzz
