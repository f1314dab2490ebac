// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// GPUDirect Storage, NVIDIA's way from a disk to the memory of a GPU: what of it this machine has, and reads
// with it. Loads do not use it: bytes that never pass through the host cannot be checked there, and the
// loader cannot check them on the GPU yet.
#pragma once

#include <filesystem>
#include <memory>
#include <ptd/error.hpp>
#include <string>

namespace ptd::cuda {

enum class GdsMode : std::uint8_t {
  absent,         ///< no libcufile, or it cannot be used
  compatibility,  ///< cuFile reads to the host and copies, as anybody can
  native,         ///< the driver that lets disks write to GPUs is there; a file on a file system that it does
                  ///< not know is still read the other way
};

struct GdsProbe {
  GdsMode mode = GdsMode::absent;
  std::string text;  ///< the same as a sentence, with versions or what is missing
};

/// Where there is a GPU, opens the library, which starts its driver: that takes up to some hundred
/// milliseconds the first time, makes CUDA contexts on GPUs that cuFile finds, and leaves a cufile.log in the
/// current folder if its settings say so. So this is for whoever wants to know, never for a load. The library
/// stays open until the process ends.
GdsProbe probe_gds();

/// A file to read to the memory of GPUs.
class GdsFile {
 public:
  /// Errors: `device` without GPUDirect Storage; `io` if the file cannot be opened or is not one for cuFile.
  static Result<GdsFile> open(const std::filesystem::path& path);

  /// Device memory of the calling thread's current device. Blocks. Nothing is verified. Thread-safe. Error
  /// `io`.
  [[nodiscard]] Result<void> read(void* device_memory, std::uint64_t bytes, std::uint64_t offset) const;

 private:
  struct Inner;
  explicit GdsFile(std::shared_ptr<const Inner> inner) : inner_(std::move(inner)) {}
  std::shared_ptr<const Inner> inner_;
};

}  // namespace ptd::cuda
