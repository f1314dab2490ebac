// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Pickles: two bytes of magic, so a few instructions must make sense as well.
#include <array>

#include "foreign/detect_rules.hpp"

namespace ptd::foreign {
namespace {

using namespace std::string_view_literals;

/// What follows an instruction's byte: a fixed number of bytes, a counted string, or lines.
struct Shape {
  std::string_view codes;
  std::uint8_t fixed;  ///< bytes of a number, a count included
  bool is_count;       ///< that number counts bytes that follow
  std::uint8_t lines;
};
constexpr Shape shapes[] = {
    {"(.012NQR]})abdelostu\x81\x85\x86\x87\x88\x89\x8F\x90\x91\x92\x93\x94\x97\x98"sv, 0, false, 0},
    {"Khq\x82"sv, 1, false, 0},
    {"M\x83"sv, 2, false, 0},
    {"Jjr\x84"sv, 4, false, 0},
    {"G"sv, 8, false, 0},
    {"UC\x8A\x8C"sv, 1, true, 0},
    {"TXB\x8B"sv, 4, true, 0},
    {"\x8D\x8E\x96"sv, 8, true, 0},
    {"FILPSVgp"sv, 0, false, 1},
    {"ci"sv, 0, false, 2},
};

// What can come first: instructions that need nothing on the stack.
constexpr auto openers = "(NKMJGUCTXBFILSVc]})\x88\x89\x8A\x8B\x8C\x8D\x8E\x8F\x96"sv;
constexpr auto frame = '\x95';
constexpr auto stop = '.';
constexpr int enough = 4;  // instructions

enum class Verdict : std::uint8_t { go_on, pickle, other };

const Shape* shape_of(char code) {
  for (const auto& shape : shapes)
    if (shape.codes.find(code) != std::string_view::npos) return &shape;
  return nullptr;
}

/// Steps over the instruction at `at`. One that leads out of sight but not out of the file is believed.
Verdict step(const Probe& probe, std::size_t& at) {
  const Shape* shape = shape_of(probe.bytes()[at++]);
  if (shape == nullptr) return Verdict::other;
  for (int line = 0; line < shape->lines; ++line) {
    const auto end = probe.bytes().find('\n', at);
    if (end == std::string_view::npos) return Verdict::other;
    at = end + 1;
  }
  if (shape->fixed == 0) return Verdict::go_on;
  const auto number = probe.number(at, shape->fixed);
  if (!number) return Verdict::other;
  at += shape->fixed;
  if (!shape->is_count) return Verdict::go_on;
  if (*number > probe.file_size() - at) return Verdict::other;
  if (*number >= probe.bytes().size() - at) return shape->fixed > 1 ? Verdict::pickle : Verdict::other;
  at += static_cast<std::size_t>(*number);
  return Verdict::go_on;
}

bool ends_well(const Probe& probe, std::size_t at) {
  return at == probe.file_size() || probe.has("\x80"sv, at);  // old checkpoints are pickles in a row
}

bool runs(const Probe& probe, std::size_t at) {
  if (at >= probe.bytes().size() || openers.find(probe.bytes()[at]) == std::string_view::npos) return false;
  for (int count = 0; count < enough; ++count) {
    if (at >= probe.bytes().size()) return false;
    if (probe.bytes()[at] == stop) return ends_well(probe, at + 1);
    const auto verdict = step(probe, at);
    if (verdict != Verdict::go_on) return verdict == Verdict::pickle;
  }
  return true;
}

}  // namespace

std::optional<Detection> detect_pickle(const Probe& probe) {
  const auto protocol = probe.number(1, 1).value_or(0);
  if (!probe.has("\x80"sv) || protocol < 2 || protocol > 5) return std::nullopt;
  std::size_t at = 2;
  if (probe.bytes().size() > at && probe.bytes()[at] == frame) {
    const auto size = probe.number(at + 1, 8);
    if (!size || *size > probe.file_size()) return std::nullopt;
    at += 9;
  }
  if (!runs(probe, at)) return std::nullopt;
  return Detection{FileKind::pickle, {}};
}

}  // namespace ptd::foreign
