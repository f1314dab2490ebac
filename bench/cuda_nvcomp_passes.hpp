// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Frames in the GPU's memory, decoded there by nvCOMP, over and over.
#pragma once

#include "cuda_batches.hpp"
#include "cuda_frames.hpp"
#include "cuda_nvcomp.hpp"

namespace ptd::bench {

/// So many copies of a sample as one batch of nvCOMP's. Chunks that are stored as they are have no frame, and
/// are left out.
class NvcompPasses {
 public:
  /// Decodes the batch once, and compares it with the sample's plane bytes.
  NvcompPasses(const Frames& frames, Bytes planes, std::uint64_t copies);

  /// The seconds that a run takes.
  [[nodiscard]] double run() { return run(batches_of_a_run()); }
  /// Plane bytes.
  [[nodiscard]] std::uint64_t bytes_of_a_run() const { return batches_of_a_run() * arrays_.total; }
  /// Throws if nvCOMP has refused a frame of the last batch.
  void check_statuses() const;

 private:
  /// Where each frame is, and where it decodes to: addresses of the GPU.
  struct Arrays {
    Arrays(const Frames& of, std::uint64_t copies, const DeviceMemory& stored, const DeviceMemory& planes);

    std::vector<const void*> frames;
    std::vector<void*> outputs;
    std::vector<std::size_t> frame_bytes, output_bytes;
    std::size_t total = 0, largest = 0;
  };

  [[nodiscard]] std::uint64_t batches_of_a_run() const { return moved_bytes / sample_bytes / copies_; }
  [[nodiscard]] Nvcomp::Batch batch() const;
  double run(std::uint64_t batches);
  void compare(const Frames& frames, Bytes planes) const;

  std::uint64_t copies_;
  DeviceMemory stored_, planes_;
  Arrays arrays_;
  DeviceMemory inputs_, input_bytes_, outputs_, output_bytes_, decoded_bytes_, statuses_;
  std::size_t scratch_bytes_;
  DeviceMemory scratch_;
};

}  // namespace ptd::bench
