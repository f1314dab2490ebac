// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "cli/terminal.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "wire/utf8.hpp"

namespace ptd::cli {
namespace {

// Columns line up by characters, not bytes. Wide characters are rare in names and left alone.
std::size_t width_of(std::string_view text) {
  std::size_t width = 0;
  for (const char c : text) width += (static_cast<unsigned char>(c) & 0xC0) != 0x80 ? 1 : 0;
  return width;
}

void append_cell(std::string& out, const std::string& cell, std::size_t width, bool right, bool last) {
  const std::string pad(width - width_of(cell), ' ');
  if (right) out += pad;
  out += cell;
  if (!right && !last) out += pad;
  if (!last) out += "  ";
}

std::string human_time(double seconds) {
  const auto whole = std::llround(seconds);
  if (whole < 60) return fmt::format("{} s", whole);
  return fmt::format("{} min {:02} s", whole / 60, whole % 60);
}

}  // namespace

Exit exit_of(const Error& error) noexcept {
  switch (error_class(error.code)) {
    case ErrorClass::usage:
      return Exit::usage;
    case ErrorClass::environment:
    case ErrorClass::internal:
      return Exit::environment;
    default:
      return Exit::refused;
  }
}

Exit report(const Error& error) {
  fmt::print(stderr, "ptd: {}\n", error.to_string());
  return exit_of(error);
}

void remark(std::string_view text) { fmt::print(stderr, "ptd: note: {}\n", escaped(text)); }

void print(std::string_view text) {
  // What fails here is remembered by the stream and found at the end.
  static_cast<void>(std::fwrite(text.data(), 1, text.size(), stdout));
}

Exit finish_output(Exit so_far) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return so_far;
  fmt::print(stderr, "ptd: io: standard output could not be written: {}\n", std::strerror(errno));
  return Exit::environment;
}

std::string human_size(std::uint64_t bytes) {
  if (bytes < 1000) return fmt::format("{} bytes", bytes);
  constexpr const char* units[] = {"kB", "MB", "GB", "TB", "PB", "EB"};
  auto value = static_cast<double>(bytes) / 1000;
  std::size_t unit = 0;
  for (; value >= 999.5 && unit + 1 < std::size(units); ++unit) value /= 1000;
  return fmt::format("{:.3g} {}", value, units[unit]);
}

std::string grouped(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3)
    digits.insert(static_cast<std::size_t>(at), ",");
  return digits;
}

Table::Table(std::vector<std::string> titles, std::string right) : right_(std::move(right)) {
  add(std::move(titles));
}

void Table::add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }

std::string Table::render() const {
  std::vector<std::size_t> widths(right_.size());
  for (const auto& row : rows_)
    for (std::size_t i = 0; i < widths.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  std::string out;
  for (const auto& row : rows_) {
    out += "  ";
    for (std::size_t i = 0; i < widths.size(); ++i)
      append_cell(out, row[i], widths[i], right_[i] == 'r', i + 1 == widths.size());
    // An empty last cell should leave no blanks behind.
    out.erase(out.find_last_not_of(' ') + 1);
    out += '\n';
  }
  return out;
}

ProgressLine::ProgressLine(std::string what)
    : what_(std::move(what)), on_terminal_(isatty(STDERR_FILENO) == 1) {}

ProgressLine::~ProgressLine() {
  if (shown_) fmt::print(stderr, "\r\033[K");
}

Progress ProgressLine::callback() {
  if (!on_terminal_) return {};
  return [this](std::uint64_t done, std::uint64_t total) {
    show(done, total);
    return true;
  };
}

void ProgressLine::show(std::uint64_t done, std::uint64_t total) {
  using namespace std::chrono_literals;
  const auto now = Clock::now();
  if (now - start_ < 1s || now - last_ < 100ms || done == 0) return;
  last_ = now;
  shown_ = true;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const double rate = static_cast<double>(done) / seconds;
  const double left = static_cast<double>(total - std::min(done, total)) / rate;
  fmt::print(stderr, "\r\033[K{} {:3.0f}%  {}/s  {} left", what_,
             100 * static_cast<double>(done) / static_cast<double>(std::max<std::uint64_t>(total, 1)),
             human_size(static_cast<std::uint64_t>(rate)), human_time(left));
  static_cast<void>(std::fflush(stderr));
}

}  // namespace ptd::cli
