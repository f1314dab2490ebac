// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "cuda_nvcomp.hpp"

#include <dlfcn.h>

#include <cstdlib>

namespace ptd::bench {
namespace {

constexpr unsigned known_major = 6;

void* open_library() {
  const char* const named = std::getenv("PTD_NVCOMP");
  void* const library = ::dlopen(named != nullptr ? named : "libnvcomp.so.6", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error(std::string("nvCOMP is absent: ") + ::dlerror());
  return library;
}

template <class Function>
Function* find(void* library, const char* name) {
  void* const found = ::dlsym(library, name);
  need_that(found != nullptr, std::string("nvCOMP has no ") + name);
  return reinterpret_cast<Function*>(found);
}

void check(int status, const char* doing) {
  need_that(status == 0, std::string("nvCOMP refuses: ") + doing + ": status " + std::to_string(status));
}

}  // namespace

// The library stays: what it has put on the GPU may not be there any more when it goes.
Nvcomp::Nvcomp() {
  void* const library = open_library();
  read_version(find<GetProperties>(library, "nvcompGetProperties"));
  get_scratch_ = find<GetScratch>(library, "nvcompBatchedZstdDecompressGetTempSize");
  decode_ = find<Decode>(library, "nvcompBatchedZstdDecompressAsync");
}

void Nvcomp::read_version(GetProperties* properties) {
  Properties found;
  check(properties(&found), "its version");
  const unsigned major = found.version / 1000;
  version_ = std::to_string(major) + "." + std::to_string(found.version % 1000 / 100) + "." +
             std::to_string(found.version % 100);
  need_that(major == known_major, "nvCOMP is " + version_ + ", and only 6 is known here");
}

const Nvcomp& Nvcomp::get() {
  static const Nvcomp found;
  return found;
}

std::size_t Nvcomp::scratch_bytes(std::size_t frames, std::size_t largest, std::size_t total,
                                  cudaStream_t stream) const {
  std::size_t bytes = 0;
  check(get_scratch_(frames, largest, {}, &bytes, total, stream), "the size of its scratch memory");
  return bytes;
}

void Nvcomp::enqueue(const Batch& batch, cudaStream_t stream) const {
  check(decode_(batch.frames, batch.frame_bytes, batch.output_bytes, batch.decoded_bytes, batch.count,
                batch.scratch, batch.scratch_bytes, batch.outputs, {}, batch.statuses, stream),
        "decoding");
}

}  // namespace ptd::bench
