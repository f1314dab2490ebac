// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "cuda_nvcomp_passes.hpp"

#include <algorithm>
#include <cstring>

namespace ptd::bench {
namespace {

template <class T>
DeviceMemory on_gpu(const std::vector<T>& values) {
  DeviceMemory memory(values.size() * sizeof(T));
  cuda_check(cudaMemcpy(memory.get(), values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice),
             "cudaMemcpy");
  return memory;
}

std::byte* at(const DeviceMemory& memory, std::uint64_t offset) {
  return static_cast<std::byte*>(memory.get()) + offset;
}

}  // namespace

NvcompPasses::Arrays::Arrays(const Frames& of, std::uint64_t copies, const DeviceMemory& stored,
                             const DeviceMemory& planes) {
  for (std::uint64_t copy = 0; copy < copies; ++copy)
    for (const auto& frame : of.all) {
      if (!frame.is_frame()) continue;
      frames.push_back(at(stored, copy * of.bytes.size() + frame.at));
      outputs.push_back(at(planes, copy * sample_bytes + frame.planes_at));
      frame_bytes.push_back(frame.stored);
      output_bytes.push_back(frame.planes);
      total += frame.planes;
      largest = std::max<std::size_t>(largest, frame.planes);
    }
  need_that(!frames.empty(), "no chunk of the sample is a frame");
}

NvcompPasses::NvcompPasses(const Frames& frames, Bytes planes, std::uint64_t copies)
    : copies_(copies),
      stored_(copies * frames.bytes.size()),
      planes_(copies * sample_bytes),
      arrays_(frames, copies, stored_, planes_),
      inputs_(on_gpu(arrays_.frames)),
      input_bytes_(on_gpu(arrays_.frame_bytes)),
      outputs_(on_gpu(arrays_.outputs)),
      output_bytes_(on_gpu(arrays_.output_bytes)),
      decoded_bytes_(arrays_.frames.size() * sizeof(std::size_t)),
      statuses_(arrays_.frames.size() * sizeof(int)),
      scratch_bytes_(
          Nvcomp::get().scratch_bytes(arrays_.frames.size(), arrays_.largest, arrays_.total, nullptr)),
      scratch_(std::max<std::size_t>(scratch_bytes_, 1)) {
  for (std::uint64_t copy = 0; copy < copies; ++copy)
    cuda_check(cudaMemcpy(at(stored_, copy * frames.bytes.size()), frames.bytes.data(), frames.bytes.size(),
                          cudaMemcpyHostToDevice),
               "cudaMemcpy");
  cuda_check(cudaMemset(planes_.get(), 0xA5, copies * sample_bytes), "cudaMemset");
  (void)run(1);
  compare(frames, planes);
}

void NvcompPasses::check_statuses() const {
  std::vector<int> statuses(arrays_.frames.size());
  cuda_check(
      cudaMemcpy(statuses.data(), statuses_.get(), statuses.size() * sizeof(int), cudaMemcpyDeviceToHost),
      "cudaMemcpy");
  need_that(std::ranges::all_of(statuses, [](int status) { return status == 0; }), "nvCOMP refuses a frame");
}

Nvcomp::Batch NvcompPasses::batch() const {
  return {static_cast<const void* const*>(inputs_.get()),
          static_cast<const std::size_t*>(input_bytes_.get()),
          static_cast<void* const*>(outputs_.get()),
          static_cast<const std::size_t*>(output_bytes_.get()),
          static_cast<std::size_t*>(decoded_bytes_.get()),
          static_cast<int*>(statuses_.get()),
          arrays_.frames.size(),
          scratch_.get(),
          scratch_bytes_};
}

// One batch in flight, as with the library's decoder.
double NvcompPasses::run(std::uint64_t batches) {
  const auto one = batch();
  const Stopwatch watch;
  for (std::uint64_t i = 0; i < batches; ++i) {
    Nvcomp::get().enqueue(one, nullptr);
    cuda_check(cudaStreamSynchronize(nullptr), "decoding with nvCOMP");
  }
  return watch.seconds();
}

void NvcompPasses::compare(const Frames& frames, Bytes planes) const {
  check_statuses();
  Buffer back(sample_bytes);
  for (std::uint64_t copy = 0; copy < copies_; ++copy) {
    cuda_check(
        cudaMemcpy(back.data(), at(planes_, copy * sample_bytes), sample_bytes, cudaMemcpyDeviceToHost),
        "cudaMemcpy");
    for (const auto& frame : frames.all)
      need_that(!frame.is_frame() || std::memcmp(back.data() + frame.planes_at,
                                                 planes.data() + frame.planes_at, frame.planes) == 0,
                "nvCOMP's bytes are not the plane bytes");
  }
}

}  // namespace ptd::bench
