// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// The CUDA driver's functions, found at run time: a program that links this library starts on machines
// without a GPU, and no call goes through the runtime library, whose pending error and current device are the
// caller's.
#pragma once

#include <cuda.h>

#include <memory>
#include <ptd/error.hpp>
#include <string_view>

namespace ptd::cuda {

// Each function under the name that it has in the driver; cuda.h's macros lead to the same.
#define PTD_CUDA_FUNCTIONS(use)                                                                             \
  use(cuInit, "cuInit") use(cuGetErrorString, "cuGetErrorString") use(cuDeviceGetCount, "cuDeviceGetCount") \
      use(cuDeviceGet, "cuDeviceGet") use(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain") use(        \
          cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2")                                        \
          use(cuCtxPushCurrent, "cuCtxPushCurrent_v2") use(cuCtxPopCurrent, "cuCtxPopCurrent_v2") use(      \
              cuMemAlloc, "cuMemAlloc_v2") use(cuMemFree, "cuMemFree_v2") use(cuMemGetInfo,                 \
                                                                              "cuMemGetInfo_v2")            \
              use(cuMemHostAlloc, "cuMemHostAlloc") use(cuMemFreeHost, "cuMemFreeHost") use(                \
                  cuMemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2") use(cuMemsetD8Async, "cuMemsetD8Async")        \
                  use(cuMemGetAddressRange, "cuMemGetAddressRange_v2") use(                                 \
                      cuPointerGetAttribute, "cuPointerGetAttribute") use(cuStreamCreate, "cuStreamCreate") \
                      use(cuStreamDestroy, "cuStreamDestroy_v2")                                            \
                          use(cuStreamSynchronize, "cuStreamSynchronize") use(                              \
                              cuStreamWaitEvent, "cuStreamWaitEvent") use(cuEventCreate, "cuEventCreate")   \
                              use(cuEventRecord, "cuEventRecord") use(cuEventQuery, "cuEventQuery")         \
                                  use(cuEventSynchronize, "cuEventSynchronize")                             \
                                      use(cuEventDestroy, "cuEventDestroy_v2")                              \
                                          use(cuMemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2")                    \
                                              use(cuModuleLoadData, "cuModuleLoadData")                     \
                                                  use(cuModuleUnload, "cuModuleUnload")                     \
                                                      use(cuModuleGetFunction, "cuModuleGetFunction")       \
                                                          use(cuLaunchKernel, "cuLaunchKernel")

struct CudaApi {
#define PTD_CUDA_MEMBER(name, symbol) decltype(&::name) name = nullptr;
  PTD_CUDA_FUNCTIONS(PTD_CUDA_MEMBER)
#undef PTD_CUDA_MEMBER

  /// Loads the driver and initialises it. Error `device` if there is none, or it has no GPU.
  static Result<std::shared_ptr<const CudaApi>> load();

  /// Nothing, or what the driver says: `device`, or `no_memory` if it is out of memory.
  Result<void> check(CUresult result, std::string_view doing) const;
};

using CudaApiPtr = std::shared_ptr<const CudaApi>;

/// Makes a context current for as long as it lives; whatever was current before, or nothing, is again
/// afterwards.
class CurrentContext {
 public:
  CurrentContext(const CudaApi& api, CUcontext context) : api_(api), result_(api.cuCtxPushCurrent(context)) {}
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;
  ~CurrentContext() {
    CUcontext popped = nullptr;
    if (result_ == CUDA_SUCCESS) api_.cuCtxPopCurrent(&popped);
  }

  [[nodiscard]] CUresult result() const noexcept { return result_; }

 private:
  const CudaApi& api_;
  CUresult result_;
};

}  // namespace ptd::cuda
