// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "cuda/cuda_api.hpp"

#include <dlfcn.h>

#include <string>

namespace ptd::cuda {
namespace {

// Never closed: the driver does not survive being unloaded, and there is one a process anyway.
void* open_library() {
  for (const char* name : {"libcuda.so.1", "libcuda.so"})
    if (auto* library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
  return nullptr;
}

Failure no_device(const std::string& why) {
  return fail(ErrorCode::device, "", "weights cannot be loaded onto a GPU: " + why);
}

}  // namespace

Result<CudaApiPtr> CudaApi::load() {
  void* library = open_library();
  if (library == nullptr) return no_device("there is no CUDA driver (libcuda.so.1) on this machine");
  auto api = std::make_shared<CudaApi>();
#define PTD_CUDA_FIND(name, symbol)                                                     \
  api->name = reinterpret_cast<decltype(&::name)>(dlsym(library, symbol));              \
  if (api->name == nullptr) return no_device("its CUDA driver is too old: no " symbol); \
  static_assert(true)
#define PTD_CUDA_FIND_ONE(name, symbol) PTD_CUDA_FIND(name, symbol);
  PTD_CUDA_FUNCTIONS(PTD_CUDA_FIND_ONE)
#undef PTD_CUDA_FIND_ONE
#undef PTD_CUDA_FIND
  PTD_TRY(api->check(api->cuInit(0), "initialising the CUDA driver"));
  int count = 0;
  PTD_TRY(api->check(api->cuDeviceGetCount(&count), "counting GPUs"));
  if (count == 0) return no_device("there is no GPU on this machine");
  return api;
}

Result<void> CudaApi::check(CUresult result, std::string_view doing) const {
  if (result == CUDA_SUCCESS) return {};
  const char* text = nullptr;
  cuGetErrorString(result, &text);
  const auto code = result == CUDA_ERROR_OUT_OF_MEMORY ? ErrorCode::no_memory : ErrorCode::device;
  return fail(
      code, "",
      std::string(doing) + " failed: " + (text != nullptr ? text : "error " + std::to_string(result)));
}

}  // namespace ptd::cuda
