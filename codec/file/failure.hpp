// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Error values of the file layer. Making one never throws: short of memory, it becomes `no_memory`.
#pragma once

#include <exception>
#include <new>
#include <ptd/error.hpp>
#include <string_view>
#include <type_traits>

namespace ptd::file {

/// The value of an exception that should not have happened. Call it in a catch block only.
Failure exception_failure() noexcept;

/// Runs `body`, which returns a Result or a Failure; an exception becomes its error.
template <class Body>
std::invoke_result_t<Body> guarded(Body&& body) noexcept {
  try {
    return body();
  } catch (...) {
    return exception_failure();
  }
}

/// What the operating system calls `error`, for example "Permission denied".
std::string error_text(int error);

/// `io`: "<what> (<error text>): <what to do about it>". `what` starts the sentence: "the file cannot be
/// opened".
Failure system_failure(std::string_view what, std::string_view subject, int error) noexcept;

/// `argument`, on a path or a call that cannot be meant.
Failure argument_failure(std::string_view what, std::string_view subject) noexcept;

/// Fails with `io` unless [offset, offset + count) lies inside [0, size), whatever the numbers are.
Result<void> check_range(std::string_view subject, std::uint64_t size, std::uint64_t offset,
                         std::uint64_t count);

/// Fails with `argument` for a path that the system would take for another one: it ends at the first NUL.
Result<void> check_path(const std::string& path);

}  // namespace ptd::file
