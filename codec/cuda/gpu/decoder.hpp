// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Chunks decoded and checked on the GPU, and leaves of contents hashed there: what the host enqueues. Sizes
// are in bytes, addresses the GPU's where they are numbers.
#pragma once

#include "cuda/cuda_api.hpp"
#include "cuda/gpu/workspace.hpp"

namespace ptd::cuda::gpu {

/// The kernels in one context. Thread-safe; every call makes the context current and restores what was.
/// Nothing here waits, allocates on the GPU, or touches the default stream.
class Decoder {
 public:
  /// Loads the kernels into a context that outlives the decoder. Error `device` if the driver does not take
  /// them, or this build has none.
  static Result<std::shared_ptr<const Decoder>> create(CudaApiPtr api, CUcontext context);

  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;
  ~Decoder();

  // These enqueue. Kernels fetch the lists from the workspace's host memory, where they are put before the
  // call returns. Errors: `argument` for a job, a run or a workspace that cannot be; `device`, after which
  // what was enqueued still runs.

  /// Decodes, merges and checks. Stored bytes must be there when the stream comes to it; raw bytes may be
  /// used after it has passed.
  [[nodiscard]] Result<void> decode_chunks(CUstream stream, std::span<const ChunkJob> jobs,
                                           const Workspace& workspace) const;

  /// Many leaves at once are far better than a few: a GPU has room for tens of thousands.
  [[nodiscard]] Result<void> hash_leaves(CUstream stream, std::span<const LeafRun> runs,
                                         const Workspace& workspace) const;

 private:
  Decoder(CudaApiPtr api, CUcontext context) : api_(std::move(api)), context_(context) {}
  [[nodiscard]] Result<void> load();
  [[nodiscard]] Result<void> find(CUfunction& function, const char* name) const;

  struct Grid {
    unsigned x, y, threads;
  };
  [[nodiscard]] Result<void> launch(CUstream stream, CUfunction function, const Grid& grid, void** arguments,
                                    std::string_view doing) const;
  [[nodiscard]] Result<void> fetch_list(CUstream stream, const Workspace& workspace,
                                        std::uint64_t bytes) const;

  CudaApiPtr api_;
  CUcontext context_;
  CUmodule module_ = nullptr;
  CUfunction fetch_ = nullptr;
  CUfunction decode_ = nullptr;
  CUfunction restore_ = nullptr;
  CUfunction hash_ = nullptr;
};

}  // namespace ptd::cuda::gpu
