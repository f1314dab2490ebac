// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Chunks decoded and checked on the GPU: from its own memory, and from the host's through a ring of buffers,
// beside plain copies of the same bytes. Everything is compared once before it is timed.
#include <algorithm>
#include <array>
#include <cstring>
#include <map>

#include "cuda/gpu/decoder.hpp"
#include "cuda_device.hpp"
#include "segment/chunk.hpp"
#include "segment/digest.hpp"
#include "tests/segment_samples.hpp"

namespace ptd::bench {
namespace {

using namespace segment::samples;
using cuda::gpu::ChunkJob;

constexpr std::uint64_t kibi = 1024, mebi = kibi * kibi;
constexpr std::uint64_t sample_bytes = 64 * mebi;   // made and encoded once
constexpr std::uint64_t region_bytes = 256 * mebi;  // copies of it, more than the GPU's cache
constexpr std::uint64_t moved_bytes = 1024 * mebi;  // of a run, and four times that through the ring, for its
                                                    // ends to count less
constexpr unsigned slots = 3;
constexpr int runs = 5;

struct Weights {
  const char* name;
  FloatFormat format;
  Encoding encoding;
  double sigma;
};

// fp8 weights are scaled to fill the format's range of +-448.
constexpr std::array kinds = {Weights{"bf16", bf16, Encoding::zstd_planes2, 0.02},
                              Weights{"bf16-rotated", bf16, Encoding::zstd_rotated2, 0.02},
                              Weights{"fp16", fp16, Encoding::zstd_planes2, 0.02},
                              Weights{"fp8", fp8_e4m3, Encoding::zstd, 80},
                              Weights{"fp32", fp32, Encoding::zstd_planes4, 0.02}};

using Buffer = std::vector<std::byte>;

const Buffer& sample(const Weights& weights) {
  static std::map<std::string, Buffer> made;
  Buffer& all = made[std::string(weights.name).substr(0, 4)];
  if (!all.empty()) return all;
  all.resize(sample_bytes);
  constexpr std::uint64_t part = 2 * mebi;
  parallel(sample_bytes / part, setup().cores, [&](std::uint64_t i) {
    const auto numbers = normal(weights.format, part / weights.format.bytes(), weights.sigma, i + 1);
    std::ranges::copy(numbers, all.begin() + static_cast<std::ptrdiff_t>(i * part));
  });
  return all;
}

/// The sample in chunks, and the jobs for them with offsets in place of addresses.
struct Coded {
  Buffer stored;
  std::vector<ChunkJob> jobs;

  Coded(const Weights& weights, std::uint64_t chunk_bytes) {
    const Bytes raw = sample(weights);
    std::vector<Buffer> chunks(raw.size() / chunk_bytes);
    jobs.resize(chunks.size());
    parallel(chunks.size(), setup().cores, [&](std::uint64_t i) {
      thread_local segment::ChunkEncoder encoder;
      const Bytes part = raw.subspan(i * chunk_bytes, chunk_bytes);
      const Bytes coded = need(encoder.encode(weights.encoding, part));
      chunks[i].assign(coded.begin(), coded.end());
      jobs[i].raw = i * chunk_bytes;
      jobs[i].hash = segment::xxh3(part);
      jobs[i].stored_bytes = static_cast<std::uint32_t>(coded.size());
      jobs[i].raw_bytes = static_cast<std::uint32_t>(chunk_bytes);
      jobs[i].width = plane_width(weights.encoding);
      jobs[i].rotated = sign_rotated(weights.encoding) ? 1 : 0;
    });
    for (std::size_t i = 0; i < chunks.size(); ++i) {
      jobs[i].stored = stored.size();
      stored.insert(stored.end(), chunks[i].begin(), chunks[i].end());
    }
  }
};

/// The last sample that was coded, as benchmarks of the same one follow each other.
const Coded& coded_sample(const Weights& weights, std::uint64_t chunk_bytes) {
  static std::unique_ptr<Coded> last;
  static std::pair<std::string, std::uint64_t> of;
  if (const std::pair key(std::string(weights.name), chunk_bytes); !last || of != key) {
    last = std::make_unique<Coded>(weights, chunk_bytes);
    of = key;
  }
  return *last;
}

const cuda::gpu::Decoder& decoder() {
  static const auto made = [] {
    need_gpu();
    auto api = need(cuda::CudaApi::load());
    CUcontext context = nullptr;
    need(api->check(api->cuDevicePrimaryCtxRetain(&context, 0), "using the GPU"));
    return need(cuda::gpu::Decoder::create(api, context));
  }();
  return *made;
}

CUdeviceptr number(const DeviceMemory& memory) { return reinterpret_cast<CUdeviceptr>(memory.get()); }

/// A stream with what a batch in flight needs.
class Slot {
 public:
  Slot(const cuda::gpu::WorkspaceNeeds& needs, std::uint64_t stored)
      : host_(needs.host_bytes), device_(needs.device_bytes), stored_(stored + 4) {
    cuda_check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
    workspace_ = {number(device_), needs.device_bytes, host_.bytes()};
  }
  Slot(const Slot&) = delete;
  Slot& operator=(const Slot&) = delete;
  ~Slot() { cudaStreamDestroy(stream_); }

  void copy(Bytes stored) const {
    cuda_check(cudaMemcpyAsync(stored_.get(), stored.data(), stored.size(), cudaMemcpyHostToDevice, stream_),
               "cudaMemcpyAsync");
  }
  void decode(std::span<const ChunkJob> jobs) {
    need(decoder().enqueue(stream_, jobs, workspace_));
    jobs_ = jobs.size();
  }
  void hash(std::span<const cuda::gpu::LeafRun> leaf_runs, cudaStream_t stream) {
    need(decoder().enqueue_leaves(stream, leaf_runs, workspace_));
  }
  /// Waits for its batch, and throws if a chunk of it is not what it should be.
  void finish() {
    cuda_check(cudaStreamSynchronize(stream_), "decoding");
    const auto statuses = cuda::gpu::statuses(workspace_, std::exchange(jobs_, 0));
    need_that(std::ranges::all_of(statuses, [](auto s) { return s == cuda::gpu::ChunkStatus::ok; }),
              "a chunk was not decoded");
  }
  [[nodiscard]] cudaStream_t stream() const { return stream_; }
  [[nodiscard]] CUdeviceptr stored() const { return number(stored_); }

 private:
  cudaStream_t stream_ = nullptr;
  Pinned host_;
  DeviceMemory device_, stored_;
  cuda::gpu::Workspace workspace_;
  std::size_t jobs_ = 0;
};

/// The jobs of each batch of the region, and where their stored bytes lie.
struct Batch {
  std::vector<ChunkJob> jobs;
  std::uint64_t stored_begin = 0, stored_end = 0;
};

std::vector<Batch> batches_of(const Coded& coded, std::uint64_t batch_bytes) {
  std::vector<Batch> batches;
  for (std::uint64_t copy = 0; copy < region_bytes / sample_bytes; ++copy)
    for (auto job : coded.jobs) {
      if (job.raw % batch_bytes == 0) batches.push_back({{}, job.stored + copy * coded.stored.size(), 0});
      job.raw += copy * sample_bytes;
      job.stored += copy * coded.stored.size();
      batches.back().jobs.push_back(job);
      batches.back().stored_end = job.stored + job.stored_bytes;
    }
  return batches;
}

std::uint64_t most_stored(const std::vector<Batch>& batches) {
  std::uint64_t most = 0;
  for (const auto& batch : batches) most = std::max(most, batch.stored_end - batch.stored_begin);
  return most;
}

class Slots {
 public:
  Slots(unsigned count, const std::vector<Batch>& batches, std::uint64_t stored_bytes) {
    cuda::gpu::WorkspaceNeeds most;
    for (const auto& batch : batches) {
      const auto needs = cuda::gpu::workspace_needs(batch.jobs);
      most = {std::max(most.device_bytes, needs.device_bytes), std::max(most.host_bytes, needs.host_bytes)};
    }
    for (unsigned i = 0; i < count; ++i) slots_.push_back(std::make_unique<Slot>(most, stored_bytes));
  }
  [[nodiscard]] Slot& of(std::size_t batch) { return *slots_[batch % slots_.size()]; }
  void finish() {
    for (const auto& slot : slots_) slot->finish();
  }

 private:
  std::vector<std::unique_ptr<Slot>> slots_;
};

void compare(const DeviceMemory& raw, const Weights& weights) {
  Buffer back(region_bytes);
  cuda_check(cudaMemcpy(back.data(), raw.get(), back.size(), cudaMemcpyDeviceToHost), "cudaMemcpy");
  for (std::uint64_t at = 0; at < region_bytes; at += sample_bytes)
    need_that(std::memcmp(back.data() + at, sample(weights).data(), sample_bytes) == 0,
              "decoded bytes are not the raw ones");
}

struct Case {
  Weights weights;
  std::uint64_t chunk_bytes;
  std::uint64_t batch_bytes;
  unsigned streams;
  bool copied;   ///< from pinned memory, each time
  bool checked;  ///< XXH3 of every chunk

  [[nodiscard]] std::string name() const {
    return std::string("decode/") + weights.name + "/chunk:" + std::to_string(chunk_bytes / kibi) +
           "/batch:" + std::to_string(batch_bytes / mebi) + (copied ? "/ring" : "/resident") +
           "/streams:" + std::to_string(streams) + (checked ? "" : "/unchecked");
  }
};

/// Copies of the sample's stored bytes on the host, one behind the other.
void fill(MutableBytes to, const Coded& coded) {
  for (std::size_t at = 0; at < to.size(); at += coded.stored.size())
    std::ranges::copy(coded.stored, to.begin() + static_cast<std::ptrdiff_t>(at));
}

void place(std::vector<Batch>& batches, CUdeviceptr raw, CUdeviceptr stored, Slots& ring, const Case& of) {
  for (std::size_t i = 0; i < batches.size(); ++i)
    for (auto& job : batches[i].jobs) {
      job.raw += raw;
      job.stored =
          of.copied ? job.stored - batches[i].stored_begin + ring.of(i).stored() : job.stored + stored;
      job.checked = of.checked ? 1 : 0;
    }
}

void time_decoding(benchmark::State& state, const Case& of) {
  const Coded& coded = coded_sample(of.weights, of.chunk_bytes);
  auto batches = batches_of(coded, of.batch_bytes);
  const DeviceMemory raw(region_bytes);
  const Pinned host(coded.stored.size() * (region_bytes / sample_bytes));
  fill(host.bytes(), coded);
  const DeviceMemory stored(host.bytes().size() + 4);
  cuda_check(cudaMemcpy(stored.get(), host.bytes().data(), host.bytes().size(), cudaMemcpyHostToDevice),
             "cudaMemcpy");
  Slots ring(of.streams, batches, most_stored(batches));
  // A ring's buffers take turns with the batches only if each batch always meets the same one.
  while (batches.size() % of.streams != 0) batches.pop_back();
  place(batches, number(raw), number(stored), ring, of);
  const auto run = [&](std::size_t count) {
    for (std::size_t n = 0; n < count; ++n) {
      const auto& batch = batches[n % batches.size()];
      Slot& slot = ring.of(n);
      slot.finish();
      if (of.copied)
        slot.copy(host.bytes().subspan(batch.stored_begin, batch.stored_end - batch.stored_begin));
      slot.decode(batch.jobs);
    }
    ring.finish();
  };
  const auto count = (of.copied ? 4 : 1) * moved_bytes / of.batch_bytes;
  cuda_check(cudaMemset(raw.get(), 0xA5, region_bytes), "cudaMemset");
  run(batches.size());
  if (batches.size() * of.batch_bytes == region_bytes) compare(raw, of.weights);
  Times times;
  for (auto _ : state) {
    const Stopwatch watch;
    run(count);
    times.add(state, watch.seconds());
  }
  times.report(state, count * of.batch_bytes);
  state.counters["ratio"] = static_cast<double>(coded.stored.size()) / static_cast<double>(sample_bytes);
}

/// Plain copies of batches that are all raw bytes: the link, at this size of piece.
void time_link(benchmark::State& state, std::uint64_t piece_bytes) {
  need_gpu();
  const Pinned host(region_bytes);
  parallel(region_bytes / mebi, setup().cores, [&](std::uint64_t i) {
    const auto noise = uniform(mebi, i);
    std::ranges::copy(noise, host.bytes().subspan(i * mebi, mebi).begin());
  });
  const DeviceMemory device(region_bytes);
  Times times;
  for (auto _ : state) {
    const Stopwatch watch;
    for (std::uint64_t at = 0; at < moved_bytes; at += piece_bytes)
      cuda_check(cudaMemcpyAsync(static_cast<std::byte*>(device.get()) + at % region_bytes,
                                 host.bytes().data() + at % region_bytes, piece_bytes, cudaMemcpyHostToDevice,
                                 nullptr),
                 "cudaMemcpyAsync");
    cuda_check(cudaDeviceSynchronize(), "copying");
    times.add(state, watch.seconds());
  }
  times.report(state, moved_bytes);
}

/// Chunks that are in place already, and only hashed.
void time_xxh3(benchmark::State& state, std::uint64_t chunk_bytes) {
  const Buffer& bytes = sample(kinds[0]);
  const DeviceMemory memory(region_bytes);
  std::vector<Batch> batches(1);
  for (std::uint64_t at = 0; at < region_bytes; at += chunk_bytes) {
    if (at % sample_bytes == 0)
      cuda_check(cudaMemcpy(static_cast<std::byte*>(memory.get()) + at, bytes.data(), sample_bytes,
                            cudaMemcpyHostToDevice),
                 "cudaMemcpy");
    ChunkJob job;
    job.raw = job.stored = number(memory) + at;
    job.raw_bytes = job.stored_bytes = static_cast<std::uint32_t>(chunk_bytes);
    job.hash = segment::xxh3(Bytes(bytes).subspan(at % sample_bytes, chunk_bytes));
    batches[0].jobs.push_back(job);
  }
  Slots one(1, batches, 0);
  Times times;
  for (auto _ : state) {
    const Stopwatch watch;
    for (int i = 0; i < 8; ++i) one.of(0).decode(batches[0].jobs);
    one.finish();
    times.add(state, watch.seconds());
  }
  times.report(state, 8 * region_bytes);
}

void time_leaves(benchmark::State& state, std::uint64_t window_bytes) {
  (void)decoder();
  const Buffer& bytes = sample(kinds[0]);
  const DeviceMemory memory(moved_bytes), digests(moved_bytes / segment::leaf_bytes * 32);
  for (std::uint64_t at = 0; at < moved_bytes; at += sample_bytes)
    cuda_check(cudaMemcpy(static_cast<std::byte*>(memory.get()) + at, bytes.data(), sample_bytes,
                          cudaMemcpyHostToDevice),
               "cudaMemcpy");
  std::vector<cuda::gpu::LeafRun> windows;
  for (std::uint64_t at = 0; at < moved_bytes; at += window_bytes)
    windows.push_back(
        {number(memory) + at, window_bytes, number(digests) + at / segment::leaf_bytes * 32, 0});
  std::vector<std::unique_ptr<Slot>> of_windows;  // each says what it wants until the GPU has come to it
  for (std::size_t i = 0; i < windows.size(); ++i)
    of_windows.push_back(std::make_unique<Slot>(cuda::gpu::leaves_needs(1), 0));
  const cudaStream_t stream = of_windows[0]->stream();
  Times times;
  for (auto _ : state) {
    const Stopwatch watch;
    for (std::size_t i = 0; i < windows.size(); ++i) of_windows[i]->hash({&windows[i], 1}, stream);
    of_windows[0]->finish();
    times.add(state, watch.seconds());
  }
  Buffer expected(64 * 32), found(expected.size());
  segment::hash_leaves(Bytes(bytes).first(64 * segment::leaf_bytes), expected);
  cuda_check(cudaMemcpy(found.data(), digests.get(), found.size(), cudaMemcpyDeviceToHost), "cudaMemcpy");
  need_that(found == expected, "the leaves' digests differ");
  times.report(state, moved_bytes);
}

void add_case(const Case& of) {
  add(of.name(), runs, [of](benchmark::State& state) { time_decoding(state, of); });
}

void add_kind(const Weights& weights) {
  for (const std::uint64_t chunk : {16, 32, 64, 128, 256}) {
    Case of{weights, chunk * kibi, 64 * mebi, 1, false, true};
    add_case(of);
    of.streams = slots + 1;
    add_case(of);
    if (chunk == 64) {
      of.checked = false;
      add_case(of);
    }
    of = {weights, chunk * kibi, 32 * mebi, slots, true, true};
    add_case(of);
    of.batch_bytes = 64 * mebi;
    add_case(of);
  }
}

}  // namespace

void add_decoding() {
  const auto add_link = [](std::uint64_t piece) {
    add("link/pieces:" + std::to_string(piece), runs,
        [piece](benchmark::State& state) { time_link(state, piece * mebi); });
  };
  for (const std::uint64_t piece : {32, 64}) add_link(piece);
  for (const auto& weights : kinds) add_kind(weights);
  for (const std::uint64_t chunk : {16, 64, 256, 1024})
    add("xxh3/chunk:" + std::to_string(chunk), runs,
        [chunk](benchmark::State& state) { time_xxh3(state, chunk * kibi); });
  for (const std::uint64_t window : {32, 64, 128, 256, 1024})
    add("leaves/window:" + std::to_string(window), runs,
        [window](benchmark::State& state) { time_leaves(state, window * mebi); });
}

}  // namespace ptd::bench
