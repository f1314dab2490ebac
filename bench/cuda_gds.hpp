// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Reading to the GPU with cuFile.
#pragma once

#include "cuda_device.hpp"
#include "cuda_host.hpp"

namespace ptd::bench {

/// Reads the ranges one behind the other to device memory, in blocks of 4 MiB with 16 threads. The bytes land
/// as they are stored: nothing is verified or decoded. The memory has room for all of them.
void read_with_gds(const std::filesystem::path& path, const std::vector<Range>& ranges,
                   const DeviceMemory& memory);

}  // namespace ptd::bench
