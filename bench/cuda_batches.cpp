// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "cuda_batches.hpp"

#include <algorithm>

namespace ptd::bench {

using cuda::gpu::ChunkJob;

const cuda::gpu::Decoder& gpu_decoder() {
  static const auto made = [] {
    need_gpu();
    auto api = need(cuda::CudaApi::load());
    CUcontext context = nullptr;
    need(api->check(api->cuDevicePrimaryCtxRetain(&context, 0), "using the GPU"));
    return need(cuda::gpu::Decoder::create(api, context));
  }();
  return *made;
}

CUdeviceptr address(const DeviceMemory& memory) { return reinterpret_cast<CUdeviceptr>(memory.get()); }

// --- a batch in flight -----------------------------------------------------------------------------------

Slot::Slot(const cuda::gpu::WorkspaceNeeds& needs, std::uint64_t stored_bytes)
    : host_(needs.host_bytes), device_(needs.device_bytes), stored_(stored_bytes + 4) {
  cuda_check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
  workspace_ = {address(device_), needs.device_bytes, host_.bytes()};
}

Slot::~Slot() { cudaStreamDestroy(stream_); }

void Slot::copy(Bytes stored) const {
  cuda_check(cudaMemcpyAsync(stored_.get(), stored.data(), stored.size(), cudaMemcpyHostToDevice, stream_),
             "cudaMemcpyAsync");
}

void Slot::decode(std::span<const ChunkJob> jobs) {
  need(gpu_decoder().decode_chunks(stream_, jobs, workspace_));
  jobs_ = jobs.size();
}

void Slot::hash(std::span<const cuda::gpu::LeafRun> leaf_runs, cudaStream_t stream) {
  need(gpu_decoder().hash_leaves(stream, leaf_runs, workspace_));
}

void Slot::finish() {
  cuda_check(cudaStreamSynchronize(stream_), "decoding");
  const auto statuses = cuda::gpu::statuses(workspace_, std::exchange(jobs_, 0));
  need_that(std::ranges::all_of(statuses, [](auto s) { return s == cuda::gpu::ChunkStatus::ok; }),
            "a chunk was not decoded");
}

// --- what is decoded -------------------------------------------------------------------------------------

Region::Region(const Coded& coded)
    : coded_(coded),
      host_(coded.stored.size() * (region_bytes / sample_bytes)),
      stored_(host_.bytes().size() + 4),
      raw_(region_bytes) {
  for (std::size_t at = 0; at < host_.bytes().size(); at += coded.stored.size())
    std::ranges::copy(coded.stored, host_.bytes().subspan(at).begin());
  cuda_check(cudaMemcpy(stored_.get(), host_.bytes().data(), host_.bytes().size(), cudaMemcpyHostToDevice),
             "cudaMemcpy");
}

void Region::spoil() const {
  cuda_check(cudaMemset(raw_.get(), 0xA5, region_bytes), "cudaMemset");
  cuda_check(cudaDeviceSynchronize(), "cudaMemset");
}

void Region::compare(std::uint64_t bytes) const {
  Buffer back(sample_bytes);
  for (std::uint64_t at = 0; at < bytes; at += sample_bytes) {
    const auto part = std::min(sample_bytes, bytes - at);
    cuda_check(
        cudaMemcpy(back.data(), static_cast<const std::byte*>(raw_.get()) + at, part, cudaMemcpyDeviceToHost),
        "cudaMemcpy");
    compare_with_sample(coded_, Bytes(back).first(part));
  }
}

// --- decoding it -----------------------------------------------------------------------------------------

Passes::Passes(const Region& region, const Way& way) : region_(region), way_(way) {
  cut();
  make_slots();
  // A ring's buffers take turns with the batches only if each batch always meets the same one.
  while (batches_.size() % way_.streams != 0) batches_.pop_back();
  place();
  region_.spoil();
  (void)run(batches_.size());
  region_.compare(batches_.size() * way_.batch_bytes);
}

void Passes::cut() {
  const Coded& coded = region_.coded();
  std::uint64_t raw = 0;
  for (std::uint64_t copy = 0; copy < region_bytes / sample_bytes; ++copy)
    for (auto job : coded.jobs) {
      job.stored += copy * coded.stored.size();
      job.raw = raw;
      job.checked = way_.checked ? 1 : 0;
      if (raw % way_.batch_bytes == 0) batches_.push_back({{}, job.stored, 0});
      batches_.back().jobs.push_back(job);
      batches_.back().stored_end = job.stored + job.stored_bytes;
      raw += job.raw_bytes;
    }
}

void Passes::make_slots() {
  cuda::gpu::WorkspaceNeeds most;
  std::uint64_t most_stored = 0;
  for (const auto& batch : batches_) {
    const auto needs = cuda::gpu::workspace_needs(batch.jobs);
    most = {std::max(most.device_bytes, needs.device_bytes), std::max(most.host_bytes, needs.host_bytes)};
    most_stored = std::max(most_stored, batch.stored_end - batch.stored_begin);
  }
  for (unsigned i = 0; i < way_.streams; ++i)
    slots_.push_back(std::make_unique<Slot>(most, way_.copied ? most_stored : 0));
}

void Passes::place() {
  for (std::size_t i = 0; i < batches_.size(); ++i)
    for (auto& job : batches_[i].jobs) {
      job.raw += region_.raw();
      job.stored = way_.copied ? job.stored - batches_[i].stored_begin + slot_of(i).stored()
                               : job.stored + region_.stored();
    }
}

double Passes::run(std::size_t batches) {
  const Stopwatch watch;
  for (std::size_t n = 0; n < batches; ++n) {
    const auto& batch = batches_[n % batches_.size()];
    Slot& slot = slot_of(n);
    slot.finish();
    if (way_.copied)
      slot.copy(region_.host().subspan(batch.stored_begin, batch.stored_end - batch.stored_begin));
    slot.decode(batch.jobs);
  }
  for (const auto& slot : slots_) slot->finish();
  return watch.seconds();
}

}  // namespace ptd::bench
