// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Ceilings (the link, copies and decoding on the CPU) and ExecuTorch's own way of loading.
#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <optional>
#include <span>

#include "cuda_device.hpp"
#include "cuda_models.hpp"
#include "segment/chunk.hpp"
#include "segment/digest.hpp"

namespace ptd::bench {
namespace {

void time_link(benchmark::State& state) {
  need_gpu();
  constexpr int copies = 4;
  Link link;
  (void)link.copy(1);
  Times times;
  for (auto _ : state) times.add(state, link.copy(copies));
  times.report(state, copies * link.bytes());
}

// --- ExecuTorch: one cudaMalloc and one cudaMemcpy from a mapping for each storage ----------------------

void load_one(const Reader& reader, const Mapping& file, std::uint32_t index,
              std::deque<DeviceMemory>& memory) {
  const auto& storage = reader.model().storages[index];
  auto* const to = memory.emplace_back(storage.size).get();
  if (storage.content == no_index) return cuda_check(cudaMemset(to, 0, storage.size), "cudaMemset");
  const auto& segment = reader.segment_of(storage.content);
  const auto from = file.bytes().subspan(segment.offset, segment.stored_size);
  cuda_check(cudaMemcpy(to, from.data(), from.size(), cudaMemcpyHostToDevice), "cudaMemcpy");
}

void time_executorch(benchmark::State& state, const std::string& shape, const std::string& method) {
  need_gpu();
  const auto path = model_path(shape, false);
  warm_up(path);
  const auto reader = need(Reader::open(path));
  const auto storages = storages_of(reader.model(), method);
  const Mapping file(path);
  std::uint64_t bytes = 0;
  for (const auto index : storages) bytes += reader.model().storages[index].size;
  Times times;
  for (auto _ : state) {
    std::deque<DeviceMemory> memory;  // given back outside of the time
    const Stopwatch watch;
    for (const auto index : storages) load_one(reader, file, index, memory);
    cuda_check(cudaDeviceSynchronize(), "copying to the GPU");
    times.add(state, watch.seconds());
  }
  times.report(state, bytes);
  state.counters["of_link"] = static_cast<double>(bytes) / times.median() / link_rate();
}

// --- the CPU ---------------------------------------------------------------------------------------------

struct Frame {
  Encoding encoding = Encoding::raw;
  Bytes stored;
  std::uint64_t raw = 0;
};

std::uint64_t u64_at(Bytes bytes, std::uint64_t offset) {
  std::uint64_t value = 0;
  std::memcpy(&value, bytes.subspan(offset, sizeof value).data(), sizeof value);
  return value;
}

// The chunks of a coded segment that are frames, in the order of its table (SPEC.md, "Chunks").
void add_frames(const Segment& segment, std::uint64_t raw_size, Bytes file, std::vector<Frame>& frames) {
  auto at = segment.offset;
  for (std::uint64_t chunk = 0; chunk < segment.chunks; ++chunk) {
    const auto stored = u64_at(file, segment.table_offset + chunk * 24 + 16);
    const auto raw = std::min(segment.chunk_bytes(), raw_size - chunk * segment.chunk_bytes());
    if (stored != raw) frames.push_back({segment.encoding, file.subspan(at, stored), raw});
    at += stored;
  }
}

std::vector<Frame> frames_of(const Reader& reader, Bytes file) {
  std::vector<Frame> frames;
  for (const auto& segment : reader.layout().segments)
    if (is_coded(segment.encoding))
      add_frames(segment, reader.model().contents[segment.content].size, file, frames);
  return frames;
}

/// What is done with each frame.
enum class Decoding : std::uint8_t {
  frames,  ///< by libzstd and nothing else
  chunks,  ///< by the library: planes are merged, too, and XXH3 is computed
};

class Decoder {
 public:
  void decode(Decoding how, const Frame& frame, MutableBytes to) {
    if (how == Decoding::frames) {
      const auto size =
          ZSTD_decompressDCtx(context_.get(), to.data(), to.size(), frame.stored.data(), frame.stored.size());
      need_that(size == frame.raw, "a frame does not decode");
    } else {
      need(chunks_.decode(frame.encoding, frame.stored, to));
      benchmark::DoNotOptimize(segment::xxh3(to));
    }
  }

  /// Memory that stays in the core's cache.
  MutableBytes near(std::uint64_t bytes) {
    if (near_.size() < bytes) near_.resize(bytes);
    return MutableBytes(near_).first(bytes);
  }

 private:
  std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context_{ZSTD_createDCtx(), &ZSTD_freeDCtx};
  segment::ChunkDecoder chunks_;
  std::vector<std::byte> near_;
};

/// As much page-locked memory as a load takes, whose parts frames go to in turn.
class Buffers {
 public:
  [[nodiscard]] MutableBytes next(std::uint64_t number) const {
    return pinned_.bytes().subspan(number % count * bytes, bytes);
  }

 private:
  static constexpr std::uint64_t bytes = std::uint64_t{4} << 20, count = 16;
  Pinned pinned_{bytes * count};
};

/// On all cores: into buffers, as a load must, or each frame into what the one before was decoded to.
void time_decoding(benchmark::State& state, const std::string& shape, Decoding how, bool is_near) {
  const auto path = model_path(shape, true);
  warm_up(path);
  const auto reader = need(Reader::open(path));
  const Mapping file(path);
  const auto frames = frames_of(reader, file.bytes());
  std::uint64_t bytes = 0;
  for (const auto& frame : frames) bytes += frame.raw;
  std::optional<Buffers> buffers;
  if (!is_near) buffers.emplace();
  constexpr std::uint64_t batch = 64;
  const auto decode_batch = [&](std::uint64_t number) {
    thread_local Decoder decoder;
    auto room = buffers ? buffers->next(number) : MutableBytes();
    const auto end = std::min<std::uint64_t>(frames.size(), (number + 1) * batch);
    for (const auto& frame : std::span(frames).subspan(number * batch, end - number * batch)) {
      need_that(is_near || frame.raw <= room.size(), "chunks are too large for the buffers");
      decoder.decode(how, frame, is_near ? decoder.near(frame.raw) : room.first(frame.raw));
      if (!is_near) room = room.subspan(frame.raw);
    }
  };
  const auto run = [&] {
    const Stopwatch watch;
    parallel((frames.size() + batch - 1) / batch, setup().cores, decode_batch);
    return watch.seconds();
  };
  run();  // maps the pages
  Times times;
  for (auto _ : state) times.add(state, run());
  times.report(state, bytes);
  state.counters["frames"] = static_cast<double>(frames.size());
}

// From the page cache into pinned buffers, as a load must, but with nothing behind it.
void time_copies(benchmark::State& state, unsigned threads) {
  need_gpu();
  constexpr std::uint64_t piece = std::uint64_t{8} << 20, buffers = 16;
  const auto path = model_path("large", false);
  warm_up(path);
  const Mapping file(path);
  const Pinned pinned(piece * buffers);
  const auto run = [&] {
    const Stopwatch watch;
    std::atomic<unsigned> next = 0;
    parallel(file.bytes().size() / piece, threads, [&](std::uint64_t i) {
      thread_local unsigned mine = next++;
      std::memcpy(pinned.bytes().data() + mine % buffers * piece, file.bytes().data() + i * piece, piece);
    });
    return watch.seconds();
  };
  run();
  Times times;
  for (auto _ : state) times.add(state, run());
  times.report(state, file.bytes().size() / piece * piece);
}

}  // namespace

void add_link(const std::string& when) { add("link/" + when, 10, time_link); }

void add_rivals() {
  const auto executorch = [](const std::string& shape, const std::string& method) {
    add("executorch/" + shape + "/raw", 3,
        [shape, method](benchmark::State& state) { time_executorch(state, shape, method); });
  };
  executorch("large", "half");
  executorch("small", "forward");
  executorch("moe", "forward");
  executorch("two", "");
  const auto decoding = [](const std::string& name, const std::string& shape, Decoding how, bool is_near) {
    add("cpu/" + name, 5, [=](benchmark::State& state) { time_decoding(state, shape, how, is_near); });
  };
  for (const auto& shape : shapes()) decoding("zstd/" + shape, shape, Decoding::frames, true);
  decoding("zstd/large/pinned", "large", Decoding::frames, false);
  decoding("chunks/large/pinned", "large", Decoding::chunks, false);
  for (const unsigned threads : {4U, 8U, 16U})
    add("cpu/copy/threads:" + std::to_string(threads), 5,
        [threads](benchmark::State& state) { time_copies(state, threads); });
}

}  // namespace ptd::bench
