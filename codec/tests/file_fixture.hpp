// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// What the tests of codec/file share: a folder that vanishes, whole files, child processes.
#pragma once

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <ptd/bytes.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace ptd::file_test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool sanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif
#else
inline constexpr bool sanitized = false;
#endif

inline Bytes as_bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

/// All of a source's range as text; the error's text if it cannot be read.
inline std::string read_text(const ByteSource& source, std::uint64_t offset, std::size_t size) {
  std::string text(size, '\0');
  const auto read = source.read(offset, std::as_writable_bytes(std::span(text)));
  return read ? text : read.error().to_string();
}

inline void write_file(const std::filesystem::path& path, std::string_view text) {
  std::ofstream(path, std::ios::binary) << text;
}

inline std::string file_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline mode_t mode_of(const std::filesystem::path& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? status.st_mode & 07777U : 0;
}

/// A folder of the test's own.
class Folder : public testing::Test {
 protected:
  Folder() : path_(std::filesystem::path(testing::TempDir()) / "ptd-file-XXXXXX") {
    if (::mkdtemp(path_.data()) == nullptr) ADD_FAILURE() << "no temporary folder";
  }
  ~Folder() override {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] std::filesystem::path in(std::string_view name) const { return folder() / name; }
  [[nodiscard]] std::filesystem::path folder() const { return path_; }

  /// The names in the folder, sorted.
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(path_))
      found.push_back(entry.path().filename());
    std::ranges::sort(found);
    return found;
  }

 private:
  std::string path_;
};

/// Starts a child process that exits with what `body` returns, or dies of SIGALRM after a minute.
template <class Body>
pid_t start_child(Body&& body) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::alarm(60);
  ::_exit(body());
}

/// The child's exit code; minus the signal's number if one ended it.
inline int wait_for(pid_t child) {
  int status = 0;
  if (::waitpid(child, &status, 0) != child) return -1000;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

template <class Body>
int in_child(Body&& body) {
  return wait_for(start_child(body));
}

/// Lets no file of this process grow past `size`; writes fail then, instead of a signal.
inline bool limit_file_size(rlim_t size) {
  const rlimit limit{size, size};
  return ::signal(SIGXFSZ, SIG_IGN) != SIG_ERR && ::setrlimit(RLIMIT_FSIZE, &limit) == 0;
}

}  // namespace ptd::file_test
