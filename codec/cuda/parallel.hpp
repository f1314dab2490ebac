// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
#pragma once

#include <functional>
#include <ptd/error.hpp>

namespace ptd::cuda {

/// Calls `work` on so many threads at once, this one among them (0: one a core), and returns when all have
/// returned. A thread that cannot be started is done without.
void run_on_threads(unsigned threads, const std::function<void()>& work);

/// Calls `body` for each number below `count`, on several threads. Gives the error of the lowest number that
/// failed.
Result<void> for_each(unsigned threads, std::size_t count,
                      const std::function<Result<void>(std::size_t)>& body);

}  // namespace ptd::cuda
