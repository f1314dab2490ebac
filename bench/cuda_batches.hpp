// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Batches of chunks that the GPU's decoder takes from its own memory, or from the host's through a ring of
// buffers.
#pragma once

#include <memory>
#include <optional>

#include "cuda/gpu/decoder.hpp"
#include "cuda_chunks.hpp"
#include "cuda_device.hpp"

namespace ptd::bench {

constexpr std::uint64_t region_bytes = 256 * mebi;  // copies of the sample, more than the GPU's cache
constexpr std::uint64_t moved_bytes = 1024 * mebi;  // of a run, and four times that through the ring, for its
                                                    // ends to count less

/// On the first GPU; made when first asked for.
const cuda::gpu::Decoder& gpu_decoder();

CUdeviceptr address(const DeviceMemory& memory);

/// A stream with what a batch in flight needs.
class Slot {
 public:
  Slot(const cuda::gpu::WorkspaceNeeds& needs, std::uint64_t stored_bytes);
  Slot(const Slot&) = delete;
  Slot& operator=(const Slot&) = delete;
  ~Slot();

  void copy(Bytes stored) const;
  void decode(std::span<const cuda::gpu::ChunkJob> jobs);
  void hash(std::span<const cuda::gpu::LeafRun> leaf_runs, cudaStream_t stream);
  /// Waits for its batch, and throws if a chunk of it is not what it should be.
  void finish();
  [[nodiscard]] cudaStream_t stream() const { return stream_; }
  [[nodiscard]] CUdeviceptr stored() const { return address(stored_); }

 private:
  cudaStream_t stream_ = nullptr;
  Pinned host_;
  DeviceMemory device_, stored_;
  cuda::gpu::Workspace workspace_;
  std::size_t jobs_ = 0;
};

/// Copies of a coded sample, one behind the other, on the host and on the GPU, and room there for what they
/// decode to.
class Region {
 public:
  explicit Region(const Coded& coded);

  [[nodiscard]] const Coded& coded() const { return coded_; }
  [[nodiscard]] Bytes host() const { return host_.bytes(); }
  [[nodiscard]] CUdeviceptr stored() const { return address(stored_); }
  [[nodiscard]] CUdeviceptr raw() const { return address(raw_); }
  /// So that nothing is right already.
  void spoil() const;
  /// Throws unless the region begins with so many decoded bytes.
  void compare(std::uint64_t bytes) const;

 private:
  const Coded& coded_;
  Pinned host_;
  DeviceMemory stored_, raw_;
};

/// How a region is decoded.
struct Way {
  std::uint64_t batch_bytes = 64 * mebi;
  unsigned streams = 1;  ///< batches in flight
  bool copied = false;   ///< from pinned memory, each time
  bool checked = true;   ///< XXH3 of every chunk

  [[nodiscard]] std::uint64_t bytes_of_a_run() const { return (copied ? 4 : 1) * moved_bytes; }
};

/// A region decoded one way, over and over.
class Passes {
 public:
  /// Decodes what there is once, and compares it.
  Passes(const Region& region, const Way& way);

  /// The seconds that a run takes.
  [[nodiscard]] double run() { return run(way_.bytes_of_a_run() / way_.batch_bytes); }
  [[nodiscard]] const Way& way() const { return way_; }

 private:
  struct Batch {
    std::vector<cuda::gpu::ChunkJob> jobs;
    std::uint64_t stored_begin = 0, stored_end = 0;
  };

  double run(std::size_t batches);
  void cut();
  void make_slots();
  void place();
  Slot& slot_of(std::size_t batch) { return *slots_[batch % slots_.size()]; }

  const Region& region_;
  Way way_;
  std::vector<Batch> batches_;
  std::vector<std::unique_ptr<Slot>> slots_;
};

}  // namespace ptd::bench
