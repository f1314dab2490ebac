// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// nvCOMP's batched zstd decoder, found when the program runs. Declared here as far as it is used, so that
// nothing of it is needed to build.
#pragma once

#include <string>
#include <vector>

#include "cuda_device.hpp"

namespace ptd::bench {

class Nvcomp {
 public:
  /// The library that PTD_NVCOMP names, or the system's. Throws if there is none, or it is of a version whose
  /// functions are not known here.
  static const Nvcomp& get();

  [[nodiscard]] const std::string& version() const { return version_; }

  /// Addresses are the GPU's. Arrays are there too.
  struct Batch {
    const void* const* frames = nullptr;
    const std::size_t* frame_bytes = nullptr;
    void* const* outputs = nullptr;
    const std::size_t* output_bytes = nullptr;
    std::size_t* decoded_bytes = nullptr;
    int* statuses = nullptr;
    std::size_t count = 0;
    void* scratch = nullptr;
    std::size_t scratch_bytes = 0;
  };

  [[nodiscard]] std::size_t scratch_bytes(std::size_t frames, std::size_t largest, std::size_t total,
                                          cudaStream_t stream) const;
  void enqueue(const Batch& batch, cudaStream_t stream) const;

 private:
  Nvcomp();

  // It is passed by value; zeros are the defaults.
  struct Options {
    int backend = 0;
    char reserved[60] = {};
  };
  struct Properties {
    std::uint32_t version = 0, cuda_version = 0;
  };
  using GetProperties = int(Properties*);
  using GetScratch = int(std::size_t, std::size_t, Options, std::size_t*, std::size_t, cudaStream_t);
  using Decode = int(const void* const*, const std::size_t*, const std::size_t*, std::size_t*, std::size_t,
                     void*, std::size_t, void* const*, Options, int*, cudaStream_t);

  void read_version(GetProperties* properties);

  std::string version_;
  GetScratch* get_scratch_ = nullptr;
  Decode* decode_ = nullptr;
};

}  // namespace ptd::bench
