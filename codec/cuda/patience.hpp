// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Waiting for a device by one thread that nothing else depends on.
#pragma once

#include "cuda/device.hpp"

namespace ptd::cuda {

/// Waits, at first by looking again and again for about as long as a few buffers take to be copied: to sleep
/// and be woken takes as long as to copy one.
Result<void> wait_actively(const Mark& mark);

}  // namespace ptd::cuda
