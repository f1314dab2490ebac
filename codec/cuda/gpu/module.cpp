// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// The kernels, as bytes of the library: the assembler puts the file here that nvcc wrote.
#include "cuda/gpu/module.hpp"

#ifdef PTD_GPU_MODULE

asm(".pushsection .rodata\n"
    ".balign 64\n"
    "ptd_gpu_module_begin:\n"
    ".incbin \"" PTD_GPU_MODULE
    "\"\n"
    "ptd_gpu_module_end:\n"
    ".byte 0\n"
    ".popsection\n");

extern "C" {
[[gnu::visibility("hidden")]] extern const std::byte ptd_gpu_module_begin[];
[[gnu::visibility("hidden")]] extern const std::byte ptd_gpu_module_end[];
}

namespace ptd::cuda::gpu {

Bytes module_image() noexcept { return {ptd_gpu_module_begin, ptd_gpu_module_end}; }

}  // namespace ptd::cuda::gpu

#else

namespace ptd::cuda::gpu {

Bytes module_image() noexcept { return {}; }

}  // namespace ptd::cuda::gpu

#endif
