// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Keeps Cap'n Proto's exceptions inside wire/.
#pragma once

#include <kj/exception.h>

#include <new>
#include <ptd/error.hpp>

namespace ptd::wire {

/// Calls `body` and turns whatever it throws into an error: `no_memory`, or `internal`, since the walker has
/// refused before everything that Cap'n Proto could object to.
template <class Body>
auto guarded(Body&& body) -> Result<decltype(body())> {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::no_memory, "", "not enough memory for the manifest");
  } catch (const kj::Exception& exception) {
    return fail(ErrorCode::internal, "", std::string("Cap'n Proto: ") + exception.getDescription().cStr());
  } catch (const std::exception& exception) {
    return fail(ErrorCode::internal, "", exception.what());
  }
}

}  // namespace ptd::wire
