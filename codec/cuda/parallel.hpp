// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
#pragma once

#include <functional>

namespace ptd::cuda {

/// Calls `work` on so many threads at once, this one among them (0: one a core), and returns when all have
/// returned. A thread that cannot be started is done without.
void run_on_threads(unsigned threads, const std::function<void()>& work);

}  // namespace ptd::cuda
