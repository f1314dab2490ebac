// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// What people see: text without surprises, sizes, tables, progress.
#pragma once

#include <chrono>
#include <cstdint>
#include <ptd/error.hpp>
#include <ptd/reader.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace ptd::cli {

/// Exit codes of the command, part of its interface.
enum class Exit : int { good = 0, refused = 1, usage = 2, environment = 3 };

Exit exit_of(const Error& error) noexcept;

/// Prints the error to standard error as one line and gives its exit code.
Exit report(const Error& error);

/// Prints a remark to standard error.
void remark(std::string_view text);

/// Writes to standard output; a disk that is full is found by finish_output.
void print(std::string_view text);

/// Flushes standard output: `environment` with a message if not all of it could be written.
Exit finish_output(Exit so_far);

/// "1.36 MB", with 1 MB = 1,000,000 bytes; "812 bytes" below 1,000.
std::string human_size(std::uint64_t bytes);

/// "1,357,512".
std::string grouped(std::uint64_t number);

/// Columns set apart by two spaces; numbers right-aligned where `right` says so. Cells must be escaped
/// already.
class Table {
 public:
  explicit Table(std::vector<std::string> titles, std::string right);  ///< right: 'r' or 'l' a column
  void add(std::vector<std::string> row);
  [[nodiscard]] std::string render() const;

 private:
  std::vector<std::vector<std::string>> rows_;
  std::string right_;
};

/// A progress line on a terminal for work that takes over a second: share, rate, time left. Nothing in a
/// pipe.
class ProgressLine {
 public:
  explicit ProgressLine(std::string what);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// To hand to the library; refers to this object.
  [[nodiscard]] Progress callback();

 private:
  using Clock = std::chrono::steady_clock;
  void show(std::uint64_t done, std::uint64_t total);

  std::string what_;
  bool on_terminal_;
  bool shown_ = false;
  Clock::time_point start_ = Clock::now(), last_ = start_;
};

}  // namespace ptd::cli
