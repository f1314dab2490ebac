// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// What is used of cuFile's interface, declared here because its header need not be on the machine that
// builds, and found at run time because its library need not be on the one that runs.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <ptd/error.hpp>

namespace ptd::cuda {

/// CUfileError_t: how cuFile's functions return.
struct CuFileStatus {
  int error = 0;  ///< CUfileOpError; 0 is success
  int cuda_error = 0;
};

/// CUfileDescr_t
struct CuFileDescription {
  static constexpr int opaque_fd = 1;
  int type = opaque_fd;
  union {
    int fd = -1;
    void* unused;  ///< as wide as on other systems
  };
  const void* file_system = nullptr;
};

/// CUfileDrvProps_t
struct CuFileProperties {
  struct {
    unsigned major_version;
    unsigned minor_version;
    std::size_t poll_threshold;
    std::size_t largest_direct_read;
    unsigned status;
    unsigned control;
  } nvidia_fs;
  unsigned features;
  unsigned device_cache;
  unsigned buffer_cache;
  unsigned pinned_memory;
  unsigned batch_size;
  unsigned batch_timeout;
  unsigned reserved[32];  ///< for what later versions add
};

struct CuFileApi {
  CuFileStatus (*open_driver)() = nullptr;
  CuFileStatus (*get_properties)(CuFileProperties*) = nullptr;
  CuFileStatus (*register_file)(void** handle, CuFileDescription*) = nullptr;
  void (*deregister_file)(void* handle) = nullptr;
  ssize_t (*read)(void* handle, void* device_memory, std::size_t bytes, off_t file_offset,
                  off_t memory_offset) = nullptr;

  /// Opens the library and its driver, once a process. Error `device`, with what is missing.
  static Result<const CuFileApi*> get();
};

}  // namespace ptd::cuda
