// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Runs targets on files, without any fuzzer: for regressions in tests, for measuring coverage, and for
// whoever looks into a find.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "support/meter.hpp"
#include "support/target.hpp"

extern "C" [[gnu::weak]] void __sanitizer_set_death_callback(void (*callback)());

namespace ptd::fuzz {
namespace {

namespace fs = std::filesystem;

constexpr const char* usage =
    "usage: ptd_replay TARGET PATH...\n"
    "       ptd_replay --list\n\n"
    "Runs a fuzz target on each file and on each file in each folder. The process ends at the first find, "
    "with\n"
    "the sanitizer's report or the broken promise, and the name of the file. Exit codes: 0 no find, 2 bad\n"
    "arguments or unreadable files; anything else is a find.\n";

std::string current_file;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables): read on the way down

void name_current_file() { std::fprintf(stderr, "ptd_replay: the input is %s\n", current_file.c_str()); }

void announce_finds() {
  if (__sanitizer_set_death_callback != nullptr) __sanitizer_set_death_callback(name_current_file);
}

const Target* find_target(std::string_view name) {
  const auto all = all_targets();
  const auto found = std::ranges::find(all, name, &Target::name);
  return found == all.end() ? nullptr : &*found;
}

int list() {
  for (const auto& target : all_targets())
    std::printf("%.*s\n", static_cast<int>(target.name.size()), target.name.data());
  return 0;
}

std::vector<fs::path> files_in(const fs::path& path) {
  if (!fs::is_directory(path)) return {path};
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(path))
    if (entry.is_regular_file()) files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

bool replay(const Target& target, const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  if (!file.good() && !file.eof()) return false;
  current_file = path.string();
  run_within_limits(target, std::as_bytes(std::span(bytes)));
  return true;
}

int replay_all(const Target& target, std::span<char* const> paths) {
  std::size_t count = 0;
  for (const fs::path path : paths)
    for (const auto& file : files_in(path)) {
      if (!replay(target, file)) {
        std::fprintf(stderr, "ptd_replay: cannot read %s\n", file.c_str());
        return 2;
      }
      ++count;
    }
  std::printf("%.*s: %zu inputs, no find%s\n", static_cast<int>(target.name.size()), target.name.data(),
              count,
              MemoryMeter::is_available() ? "" : " (memory not measured: no AddressSanitizer in this build)");
  return 0;
}

int run(std::span<char* const> arguments) {
  if (arguments.size() == 1 && std::string_view(arguments[0]) == "--list") return list();
  if (arguments.size() == 1 && std::string_view(arguments[0]) == "--help")
    return std::fputs(usage, stdout), 0;
  if (arguments.size() < 2) return std::fputs(usage, stderr), 2;
  const Target* target = find_target(arguments[0]);
  if (target == nullptr) {
    std::fprintf(stderr, "ptd_replay: there is no target '%s'; see --list\n", arguments[0]);
    return 2;
  }
  announce_finds();
  return replay_all(*target, arguments.subspan(1));
}

}  // namespace
}  // namespace ptd::fuzz

int main(int argc, char** argv) {
  try {
    return ptd::fuzz::run(std::span(argv, static_cast<std::size_t>(argc)).subspan(1));
  } catch (const std::filesystem::filesystem_error& error) {
    std::fprintf(stderr, "ptd_replay: %s\n", error.what());
    return 2;
  }
}
