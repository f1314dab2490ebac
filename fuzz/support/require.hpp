// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// How a target says that a promise was broken.
#pragma once

#include <ptd/error.hpp>
#include <string>
#include <string_view>

namespace ptd::fuzz {

/// Ends the process as a crash, so that the fuzzer keeps the input. Prints what was promised.
[[noreturn]] void broken(std::string_view promise, std::string_view detail = {});

inline void require(bool kept, std::string_view promise) {
  if (!kept) broken(promise);
}

/// The promises that every error keeps: it is not `internal`, has a sentence, and is printable.
void require_honest(const Error& error);

/// What is wrong with a .ptd file is one of the four classes that classify files.
void require_about_file(const Error& error);

/// The same of a result; gives whether it succeeded.
template <class T>
bool succeeded(const Result<T>& result) {
  if (result) return true;
  require_honest(result.error());
  return false;
}

/// For calls that must succeed.
template <class T>
void require_success(const Result<T>& result, std::string_view promise) {
  if (!result) broken(promise, result.error().to_string());
}

}  // namespace ptd::fuzz
