// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "file/temp_file.hpp"

#include <fcntl.h>
#include <sys/random.h>

#include <array>

#include "file/failure.hpp"

namespace ptd::file {
namespace {

constexpr mode_t owner_only = 0600;

// Room for the rest of the name within the 143 bytes that the strictest file systems (eCryptfs) allow.
constexpr std::size_t longest_stem = 100;

std::string_view cut_stem(std::string_view stem) {
  if (stem.size() <= longest_stem) return stem;
  std::size_t end = longest_stem;
  // Not inside a UTF-8 character: some file systems refuse such names.
  while (end > 0 && (static_cast<unsigned char>(stem[end]) & 0xC0U) == 0x80U) --end;
  return stem.substr(0, end);
}

// 64 random bits as hexadecimal digits; empty, with errno, if the system gives none.
std::string random_digits() {
  std::array<unsigned char, 8> random{};
  if (uninterrupted([&] { return ::getrandom(random.data(), random.size(), 0); }) < 0) return {};
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const unsigned byte : random) text.append({digits[byte >> 4U], digits[byte & 15U]});
  return text;
}

}  // namespace

Result<Fd> open_directory(const std::string& path) {
  const char* name = path.empty() ? "." : path.c_str();
  Fd opened(uninterrupted([&] { return ::open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  if (!opened) return system_failure("the directory cannot be opened", name, errno);
  return opened;
}

Result<TempFile> create_temp(const Fd& directory, std::string_view stem, mode_t mode,
                             std::string_view subject) {
  constexpr int attempts = 100;
  constexpr int flags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    const auto digits = random_digits();
    if (digits.empty()) break;
    auto name = std::string(".").append(cut_stem(stem)).append(".").append(digits).append(".tmp");
    Fd file(uninterrupted([&] { return ::openat(directory.get(), name.c_str(), flags, mode); }));
    if (file) return TempFile{std::move(file), std::move(name)};
    if (errno != EEXIST) break;
  }
  return system_failure("no temporary file can be created in the directory", subject, errno);
}

Result<Fd> create_unlinked(const Fd& directory, std::string_view subject) {
  PTD_LET(temp, create_temp(directory, "ptd-spool", owner_only, subject));
  if (::unlinkat(directory.get(), temp.name.c_str(), 0) == 0) return std::move(temp.file);
  return system_failure("the temporary file cannot be unlinked", subject, errno);
}

Result<Fd> create_unnamed(const Fd& directory, std::string_view subject) {
  constexpr int flags = O_TMPFILE | O_RDWR | O_CLOEXEC;
  Fd file(uninterrupted([&] { return ::openat(directory.get(), ".", flags, owner_only); }));
  if (file) return file;
  const bool unknown = errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL || errno == ENOENT;
  if (unknown) return create_unlinked(directory, subject);
  return system_failure("no temporary file can be created in the directory", subject, errno);
}

}  // namespace ptd::file
