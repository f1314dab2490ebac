// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "cuda/cufile_api.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <string>

#include "cuda/device.hpp"

namespace ptd::cuda {
namespace {

Failure absent(const std::string& why) {
  return fail(ErrorCode::device, "", "GPUDirect Storage is not to be had here: " + why);
}

template <class Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

Result<CuFileApi> load() {
  if (const auto driver = cuda_driver(); !driver) return absent(driver.error().message);
  // cuFile 1.17 reads lines of this file until it has them all, which it never has of a file that is missing.
  if (::access("/proc/modules", R_OK) != 0)
    return absent("this system has no /proc/modules, without which cuFile's driver never finishes opening");
  // Never closed: its threads do not survive that.
  void* library = dlopen("libcufile.so.0", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* why = dlerror();
    return absent(why != nullptr ? why : "libcufile.so.0 cannot be opened");
  }
  CuFileApi api;
  const bool is_whole = find(library, "cuFileDriverOpen", api.open_driver) &&
                        find(library, "cuFileDriverGetProperties", api.get_properties) &&
                        find(library, "cuFileHandleRegister", api.register_file) &&
                        find(library, "cuFileHandleDeregister", api.deregister_file) &&
                        find(library, "cuFileRead", api.read);
  if (!is_whole) return absent("libcufile.so.0 lacks functions of cuFile 1.0");
  if (const auto status = api.open_driver(); status.error != 0)
    return absent("libcufile.so.0 is there, but its driver does not open (cuFile's error " +
                  std::to_string(status.error) + ", CUDA's " + std::to_string(status.cuda_error) + ")");
  return api;
}

}  // namespace

Result<const CuFileApi*> CuFileApi::get() {
  static const auto api = load();
  if (!api) return Failure(Error(api.error()));
  return &*api;
}

}  // namespace ptd::cuda
