// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "support/scratch_folder.hpp"

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "support/require.hpp"

namespace ptd::fuzz {
namespace {

namespace fs = std::filesystem;

fs::path parent() {
  std::error_code none;
  if (std::getenv("TMPDIR") == nullptr && fs::is_directory("/dev/shm", none)) return "/dev/shm";
  return fs::temp_directory_path();
}

}  // namespace

const ScratchFolder& ScratchFolder::get() {
  static const ScratchFolder folder;
  return folder;
}

ScratchFolder::ScratchFolder() {
  std::string pattern = (parent() / "ptd-fuzz-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) broken("the machine has room for a folder", pattern);
  folder_ = pattern;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

fs::path ScratchFolder::write(const std::string& name, Bytes bytes) const {
  std::ofstream file(path(name), std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) broken("the machine has room for an input", path(name).string());
  return path(name);
}

std::vector<std::byte> ScratchFolder::read(const std::string& name) const {
  std::ifstream file(path(name), std::ios::binary);
  const std::vector<char> text{std::istreambuf_iterator<char>(file), {}};
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

}  // namespace ptd::fuzz
