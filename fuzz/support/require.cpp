// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "support/require.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace ptd::fuzz {

void broken(std::string_view promise, std::string_view detail) {
  std::fprintf(stderr, "\nbroken promise: %.*s%s%.*s\n", static_cast<int>(promise.size()), promise.data(),
               detail.empty() ? "" : ": ", static_cast<int>(detail.size()), detail.data());
  std::abort();
}

void require_honest(const Error& error) {
  if (error.code == ErrorCode::internal) broken("no input leads to an internal error", error.to_string());
  if (error.code == ErrorCode::no_memory) broken("no input makes memory run out", error.to_string());
  require(!error.message.empty(), "every error says what is wrong");
  const auto text = error.to_string();
  require(std::ranges::none_of(text, [](unsigned char c) { return c < 0x20 || c == 0x7F; }),
          "errors have no control characters");
}

void require_about_file(const Error& error) {
  require_honest(error);
  const auto error_class = ptd::error_class(error.code);
  require(error_class <= ErrorClass::corrupt, "errors of files are of the four classes");
  require(!error_class_name(error_class).empty(), "classes have names");
  require(!error.rule.empty(), "errors of files name the rule");
}

}  // namespace ptd::fuzz
