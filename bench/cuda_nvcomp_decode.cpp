// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// nvCOMP's zstd decoder beside the library's, on the same frames in the GPU's memory. nvCOMP gives plane
// bytes, which it neither merges nor hashes.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "cuda_batches.hpp"
#include "cuda_frames.hpp"
#include "cuda_nvcomp.hpp"
#include "cuda_turns.hpp"

namespace ptd::bench {
namespace {

constexpr int runs = 7;
constexpr int ordinary_level = 3;

template <class T>
DeviceMemory on_gpu(const std::vector<T>& values) {
  DeviceMemory memory(values.size() * sizeof(T));
  cuda_check(cudaMemcpy(memory.get(), values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice),
             "cudaMemcpy");
  return memory;
}

/// Copies of a sample's frames, and where each decodes to. Chunks that are stored as they are have no frame,
/// and are left out.
struct Arrays {
  std::vector<const void*> frames;
  std::vector<void*> outputs;
  std::vector<std::size_t> frame_bytes, output_bytes;
  std::size_t total = 0, largest = 0;

  Arrays(const Frames& of, std::uint64_t copies, const std::byte* stored, std::byte* planes) {
    for (std::uint64_t copy = 0; copy < copies; ++copy)
      for (const auto& frame : of.all) {
        if (!frame.is_frame()) continue;
        frames.push_back(stored + copy * of.bytes.size() + frame.at);
        outputs.push_back(planes + copy * sample_bytes + frame.planes_at);
        frame_bytes.push_back(frame.stored);
        output_bytes.push_back(frame.planes);
        total += frame.planes;
        largest = std::max<std::size_t>(largest, frame.planes);
      }
    need_that(!frames.empty(), "no chunk of the sample is a frame");
  }
};

/// So many copies of a sample as one batch of nvCOMP's.
class NvcompPasses {
 public:
  /// Decodes the batch once, and compares it.
  NvcompPasses(const Frames& frames, Bytes planes, std::uint64_t copies)
      : copies_(copies),
        stored_(copies * frames.bytes.size()),
        planes_(copies * sample_bytes),
        arrays_(frames, copies, static_cast<const std::byte*>(stored_.get()),
                static_cast<std::byte*>(planes_.get())),
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
      cuda_check(cudaMemcpy(static_cast<std::byte*>(stored_.get()) + copy * frames.bytes.size(),
                            frames.bytes.data(), frames.bytes.size(), cudaMemcpyHostToDevice),
                 "cudaMemcpy");
    cuda_check(cudaMemset(planes_.get(), 0xA5, copies * sample_bytes), "cudaMemset");
    (void)run(1);
    compare(frames, planes);
  }

  /// The seconds that a run takes.
  [[nodiscard]] double run() { return run(batches_of_a_run()); }
  [[nodiscard]] std::uint64_t bytes_of_a_run() const { return batches_of_a_run() * arrays_.total; }

  void check_statuses() const {
    std::vector<int> statuses(arrays_.frames.size());
    cuda_check(
        cudaMemcpy(statuses.data(), statuses_.get(), statuses.size() * sizeof(int), cudaMemcpyDeviceToHost),
        "cudaMemcpy");
    const auto bad = std::ranges::find_if(statuses, [](int status) { return status != 0; });
    need_that(bad == statuses.end(), "nvCOMP refuses a frame");
  }

 private:
  [[nodiscard]] std::uint64_t batches_of_a_run() const { return moved_bytes / sample_bytes / copies_; }

  double run(std::uint64_t batches) {
    const Nvcomp::Batch batch{static_cast<const void* const*>(inputs_.get()),
                              static_cast<const std::size_t*>(input_bytes_.get()),
                              static_cast<void* const*>(outputs_.get()),
                              static_cast<const std::size_t*>(output_bytes_.get()),
                              static_cast<std::size_t*>(decoded_bytes_.get()),
                              static_cast<int*>(statuses_.get()),
                              arrays_.frames.size(),
                              scratch_.get(),
                              scratch_bytes_};
    const Stopwatch watch;
    for (std::uint64_t i = 0; i < batches; ++i) {
      Nvcomp::get().enqueue(batch, nullptr);
      cuda_check(cudaStreamSynchronize(nullptr), "decoding with nvCOMP");
    }
    return watch.seconds();
  }

  void compare(const Frames& frames, Bytes planes) const {
    check_statuses();
    Buffer back(sample_bytes);
    for (std::uint64_t copy = 0; copy < copies_; ++copy) {
      cuda_check(cudaMemcpy(back.data(), static_cast<const std::byte*>(planes_.get()) + copy * sample_bytes,
                            sample_bytes, cudaMemcpyDeviceToHost),
                 "cudaMemcpy");
      for (const auto& frame : frames.all)
        need_that(!frame.is_frame() || std::memcmp(back.data() + frame.planes_at,
                                                   planes.data() + frame.planes_at, frame.planes) == 0,
                  "nvCOMP's bytes are not the plane bytes");
    }
  }

  std::uint64_t copies_;
  DeviceMemory stored_, planes_;
  Arrays arrays_;
  DeviceMemory inputs_, input_bytes_, outputs_, output_bytes_, decoded_bytes_, statuses_;
  std::size_t scratch_bytes_;
  DeviceMemory scratch_;
};

template <class AnyPasses>
Turn turn_of(std::string name, std::uint64_t bytes, AnyPasses& passes) {
  return {std::move(name), bytes, [&passes] { return passes.run(); }};
}

void decode_both(benchmark::State& state, const Weights& weights, std::uint64_t chunk_bytes) {
  need_gpu();
  const Region region(coded_sample(weights, chunk_bytes));
  Passes ptd_64(region, {}), ptd_256(region, {.batch_bytes = region_bytes});
  Passes bare_256(region, {.batch_bytes = region_bytes, .checked = false});
  const Buffer planes = planes_of(region.coded());
  const auto literals = literal_frames(region.coded());
  const auto ordinary = ordinary_frames(region.coded(), planes, ordinary_level);
  NvcompPasses nvcomp_64(literals, planes, 1), nvcomp_256(literals, planes, region_bytes / sample_bytes);
  NvcompPasses ordinary_256(ordinary, planes, region_bytes / sample_bytes);
  Turn turns[] = {turn_of("nvcomp_64", nvcomp_64.bytes_of_a_run(), nvcomp_64),
                  turn_of("nvcomp_256", nvcomp_256.bytes_of_a_run(), nvcomp_256),
                  turn_of("nvcomp_ordinary_256", ordinary_256.bytes_of_a_run(), ordinary_256),
                  turn_of("ptd_64", moved_bytes, ptd_64),
                  turn_of("ptd_256", moved_bytes, ptd_256),
                  turn_of("ptd_unchecked_256", moved_bytes, bare_256)};
  take_turns(state, turns);
  for (const auto* const passes : {&nvcomp_64, &nvcomp_256, &ordinary_256}) passes->check_statuses();
  state.counters["ratio"] = region.coded().ratio;
  state.counters["ordinary_ratio"] = ratio_of(ordinary, sample(weights).distinct);
}

void report_library(benchmark::State& state) {
  state.SetLabel("nvCOMP " + Nvcomp::get().version());
  for (auto _ : state) state.SetIterationTime(0);
}

/// Why nvCOMP cannot be used; nothing if it can.
std::string absence() {
  try {
    (void)Nvcomp::get();
    return {};
  } catch (const std::exception& error) {
    return error.what();
  }
}

void report_absence(benchmark::State& state, const std::string& why) {
  state.SetLabel(why + "; nothing is compared with it");
  for (auto _ : state) state.SetIterationTime(0);
}

std::vector<Weights> compared_weights() {
  std::vector<Weights> some;
  for (const auto& weights : all_weights())
    if (const auto extension = weights.file.extension(); weights.name == "bf16-rotated" ||
                                                         weights.name == "fp16" || weights.name == "fp8" ||
                                                         extension == ".bf16")
      some.push_back(weights);
  return some;
}

}  // namespace

void add_nvcomp() {
  // Who names a library wants it: without it that row fails.
  const auto why = std::getenv("PTD_NVCOMP") == nullptr ? absence() : std::string();
  if (!why.empty()) {
    add("nvcomp/library", 1, [why](benchmark::State& state) { report_absence(state, why); });
    return;
  }
  add("nvcomp/library", 1, report_library);
  for (const auto& weights : compared_weights())
    for (const std::uint64_t chunk : {16, 64, 256})
      add("nvcomp/" + weights.name + "/chunk:" + std::to_string(chunk), runs,
          [weights, chunk](benchmark::State& state) { decode_both(state, weights, chunk * kibi); });
}

}  // namespace ptd::bench
