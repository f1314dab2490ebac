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

  // What is told is enqueued as a copy to the workspace, best in a stream that does nothing but copy: a copy
  // that waits for a kernel makes those of other streams wait, too. The jobs and runs themselves are copied
  // before the call returns. Errors: `argument` for a job, a run or a workspace that cannot be; `device`.
  [[nodiscard]] Result<ChunkBatch> tell_chunks(CUstream stream, std::span<const ChunkJob> jobs,
                                               const Workspace& workspace) const;
  [[nodiscard]] Result<LeafBatch> tell_leaves(CUstream stream, std::span<const LeafRun> runs,
                                              const Workspace& workspace) const;

  // These enqueue what this workspace was told of last, which must have come there when the stream comes to
  // it. Error `device`, after which what was enqueued still runs.

  /// Decodes, merges and checks. Stored bytes must be there, too; raw bytes may be used after the stream has
  /// passed.
  [[nodiscard]] Result<void> decode_chunks(CUstream stream, const ChunkBatch& batch,
                                           const Workspace& workspace) const;

  /// Many leaves at once are far better than a few: a GPU has room for tens of thousands.
  [[nodiscard]] Result<void> hash_leaves(CUstream stream, const LeafBatch& batch,
                                         const Workspace& workspace) const;

 private:
  Decoder(CudaApiPtr api, CUcontext context) : api_(std::move(api)), context_(context) {}
  [[nodiscard]] Result<void> load();
  [[nodiscard]] Result<void> find(CUfunction& function, const char* name) const;

  CudaApiPtr api_;
  CUcontext context_;
  CUmodule module_ = nullptr;
  CUfunction decode_ = nullptr;
  CUfunction restore_ = nullptr;
  CUfunction hash_ = nullptr;
};

}  // namespace ptd::cuda::gpu
