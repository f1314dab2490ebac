// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Detection of what a file is. Input: the file's first bytes.
#include "foreign/detect.hpp"

#include <algorithm>

#include "support/require.hpp"
#include "support/target.hpp"
#include "wire/header.hpp"

namespace ptd::fuzz {
namespace {

using foreign::Detection;
using foreign::FileKind;

void require_printable(std::string_view text) {
  require(std::ranges::none_of(text, [](unsigned char c) { return c < 0x20 || c == 0x7F; }),
          "descriptions have no control characters");
}

void require_sensible(const Detection& found, Bytes first) {
  const auto magic = std::as_bytes(std::span(wire::magic));
  if (found.kind == FileKind::ptd)
    require(first.size() >= wire::header_bytes && std::ranges::equal(first.first(magic.size()), magic),
            "nothing is called PTD that does not begin as PTD does");
  require(!foreign::kind_name(found.kind).empty(), "kinds have names");
  require_printable(foreign::describe(found));
  require_printable(foreign::advice(found.kind));
}

bool same(const Detection& a, const Detection& b) { return a.kind == b.kind && a.detail == b.detail; }

void run(Bytes input) {
  const auto first = input.first(std::min(input.size(), foreign::detect_bytes));
  const auto found = foreign::detect(first, input.size());
  require_sensible(found, first);
  require(same(found, foreign::detect(input, input.size())), "no more than the first bytes are looked at");
  if (first.size() == foreign::detect_bytes)
    require_sensible(foreign::detect(first, ~std::uint64_t{0}), first);
}

}  // namespace

Target detect_target() { return {"detect", run, {256 << 10, 128}}; }

}  // namespace ptd::fuzz
