// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// File descriptors that close themselves, and calls that a signal may interrupt.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <utility>

namespace ptd::file {

class Fd {
 public:
  Fd() noexcept = default;
  explicit Fd(int fd) noexcept : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    Fd old(std::exchange(fd_, std::exchange(other.fd_, -1)));
    return *this;
  }
  // A close that a signal interrupts has closed on Linux: trying again could close another's file.
  ~Fd() {
    if (fd_ >= 0) ::close(fd_);
  }

  [[nodiscard]] int get() const noexcept { return fd_; }
  [[nodiscard]] explicit operator bool() const noexcept { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

/// The result of a system call that reports failure as -1 in errno, made again while a signal interrupts it.
template <class Call>
auto uninterrupted(Call&& call) {
  auto result = call();
  while (result == -1 && errno == EINTR) result = call();
  return result;
}

}  // namespace ptd::file
