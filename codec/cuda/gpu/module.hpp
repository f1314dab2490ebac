// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ptd/bytes.hpp>

namespace ptd::cuda::gpu {

/// The compiled kernels, for every GPU from compute capability 8.0 on. Nothing where the library was built
/// without nvcc.
Bytes module_image() noexcept;

}  // namespace ptd::cuda::gpu
