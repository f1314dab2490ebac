// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// The border where exceptions of the standard library and of nlohmann's parser become values.
#pragma once

#include <exception>
#include <new>
#include <ptd/error.hpp>
#include <string>

namespace ptd::foreign {

/// Calls `body`, which returns a Result, and turns what it throws into an error.
template <class Body>
auto guarded(Body&& body) -> decltype(body()) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::no_memory, "",
                "out of memory while reading or writing a header; close other programs");
  } catch (const std::exception& error) {
    return fail(ErrorCode::internal, "", std::string("unexpected exception: ") + error.what());
  }
}

}  // namespace ptd::foreign
