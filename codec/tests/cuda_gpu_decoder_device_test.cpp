// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// The decoder on a real GPU, beside the host's: the same bytes and the same verdicts. Without a GPU every
// test here is skipped, and says so.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <ptd/ptd.hpp>

#include "cuda/gpu/decoder.hpp"
#include "cuda/gpu/on_host.hpp"
#include "reader/table.hpp"
#include "segment/digest.hpp"
#include "segment/planes.hpp"
#include "tests/cuda_gpu_samples.hpp"

namespace ptd::cuda::gpu {
namespace {

using namespace samples;

constexpr std::uint64_t page = 256;
constexpr std::byte canary{0xC5};

template <class T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().to_string());
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

/// The first GPU, a stream on it, and the decoder.
class Lab {
 public:
  static Lab* get() {
    static const auto made = make();
    return made.get();
  }

  [[nodiscard]] const CudaApi& api() const { return *api_; }
  [[nodiscard]] CUstream stream() const { return stream_; }
  [[nodiscard]] const Decoder& decoder() const { return *decoder_; }
  void must_be(CUresult result) const { must(api_->check(result, "a test")); }
  void wait() const { must_be(api_->cuStreamSynchronize(stream_)); }

 private:
  static std::unique_ptr<Lab> make() {
    auto api = CudaApi::load();
    if (!api) return nullptr;
    auto lab = std::make_unique<Lab>();
    lab->api_ = *api;
    CUdevice device = 0;
    lab->must_be(lab->api_->cuDeviceGet(&device, 0));
    lab->must_be(lab->api_->cuDevicePrimaryCtxRetain(&lab->context_, device));
    lab->must_be(lab->api_->cuCtxPushCurrent(lab->context_));
    lab->must_be(lab->api_->cuStreamCreate(&lab->stream_, CU_STREAM_NON_BLOCKING));
    lab->decoder_ = must(Decoder::create(lab->api_, lab->context_));
    return lab;
  }

  CudaApiPtr api_;
  CUcontext context_ = nullptr;
  CUstream stream_ = nullptr;
  std::shared_ptr<const Decoder> decoder_;
};

/// Memory of the GPU with what the host had.
class OnGpu {
 public:
  explicit OnGpu(const Buffer& bytes) : lab_(*Lab::get()), size_(bytes.size()) {
    lab_.must_be(lab_.api().cuMemAlloc(&address_, std::max<std::size_t>(size_, 1)));
    if (size_ == 0) return;
    lab_.must_be(lab_.api().cuMemcpyHtoDAsync(address_, bytes.data(), size_, lab_.stream()));
    lab_.wait();
  }
  OnGpu(const OnGpu&) = delete;
  OnGpu& operator=(const OnGpu&) = delete;
  ~OnGpu() { lab_.api().cuMemFree(address_); }

  [[nodiscard]] CUdeviceptr address() const { return address_; }
  [[nodiscard]] Buffer read() const {
    Buffer bytes(size_);
    lab_.must_be(lab_.api().cuMemcpyDtoHAsync(bytes.data(), address_, size_, lab_.stream()));
    lab_.wait();
    return bytes;
  }

 private:
  Lab& lab_;
  CUdeviceptr address_ = 0;
  std::size_t size_;
};

/// Page-locked memory of the host.
class OnHost {
 public:
  explicit OnHost(std::size_t size) : size_(size) {
    Lab::get()->must_be(Lab::get()->api().cuMemHostAlloc(&memory_, std::max<std::size_t>(size_, 1), 0));
  }
  OnHost(const OnHost&) = delete;
  OnHost& operator=(const OnHost&) = delete;
  ~OnHost() { Lab::get()->api().cuMemFreeHost(memory_); }

  [[nodiscard]] MutableBytes bytes() const { return {static_cast<std::byte*>(memory_), size_}; }

 private:
  void* memory_ = nullptr;
  std::size_t size_;
};

/// A workspace of exactly what is needed, so that the sanitizer sees any access outside.
struct Desk {
  explicit Desk(const WorkspaceNeeds& needs) : host(needs.host_bytes), device(Buffer(needs.device_bytes)) {
    workspace = {device.address(), needs.device_bytes, host.bytes()};
  }
  OnHost host;
  OnGpu device;
  Workspace workspace;
};

void decode(std::span<const ChunkJob> jobs, const Workspace& workspace) {
  must(Lab::get()->decoder().decode_chunks(Lab::get()->stream(), jobs, workspace));
}

struct Decoded {
  std::vector<ChunkStatus> statuses;
  std::vector<Buffer> raw;
};

struct Manner {
  bool checked = true;
  std::size_t shift = 0;  ///< of all raw bytes from an aligned address
};

/// Stored bytes stand one behind the other, raw bytes between canaries.
class Batch {
 public:
  Batch(const std::vector<Chunk>& chunks, const std::vector<std::uint64_t>& hashes, const Manner& manner) {
    for (std::size_t i = 0; i < chunks.size(); ++i) add(chunks[i], hashes[i], manner);
    stored_.resize((stored_.size() + 3) / 4 * 4);
    raw_.resize(raw_.size() + page, canary);
  }

  Decoded run() {
    const OnGpu stored(stored_), raw(raw_);
    auto jobs = jobs_;
    for (auto& job : jobs) job.stored += stored.address(), job.raw += raw.address();
    Desk room(workspace_needs(jobs));
    decode(jobs, room.workspace);
    Lab::get()->wait();
    const auto found = statuses(room.workspace, jobs.size());
    Decoded decoded{{found.begin(), found.end()}, {}};
    const Buffer all = raw.read();
    std::size_t end = 0;
    for (const auto& job : jobs_) {
      expect_canaries(all, end, job.raw);
      end = job.raw + job.raw_bytes;
      decoded.raw.emplace_back(all.begin() + static_cast<std::ptrdiff_t>(job.raw),
                               all.begin() + static_cast<std::ptrdiff_t>(end));
    }
    expect_canaries(all, end, all.size());
    return decoded;
  }

 private:
  void add(const Chunk& chunk, std::uint64_t hash, const Manner& manner) {
    ChunkJob job;
    job.stored = stored_.size();
    raw_.resize((raw_.size() + 2 * page - 1) / page * page + manner.shift, canary);
    job.raw = raw_.size();
    job.hash = hash;
    job.stored_bytes = static_cast<std::uint32_t>(chunk.stored.size());
    job.raw_bytes = static_cast<std::uint32_t>(chunk.raw_size);
    job.width = plane_width(chunk.encoding);
    job.rotated = sign_rotated(chunk.encoding) ? 1 : 0;
    job.checked = manner.checked ? 1 : 0;
    jobs_.push_back(job);
    stored_.insert(stored_.end(), chunk.stored.begin(), chunk.stored.end());
    raw_.resize(raw_.size() + chunk.raw_size, canary);
  }
  static void expect_canaries(const Buffer& all, std::uint64_t begin, std::uint64_t end) {
    const auto at = [&](std::uint64_t i) { return all.begin() + static_cast<std::ptrdiff_t>(i); };
    EXPECT_TRUE(std::all_of(at(begin), at(end), [](std::byte byte) { return byte == canary; }))
        << "between " << begin << " and " << end;
  }

  Buffer stored_, raw_;
  std::vector<ChunkJob> jobs_;
};

Decoded decode(const std::vector<Chunk>& chunks, const std::vector<std::uint64_t>& hashes,
               const Manner& manner = {}) {
  return Batch(chunks, hashes, manner).run();
}

std::vector<Buffer> raw_by_library(const std::vector<Chunk>& chunks) {
  std::vector<Buffer> raw;
  for (const auto& chunk : chunks) raw.push_back(decode_by_library(chunk).value());
  return raw;
}

std::vector<std::uint64_t> hashes_of(const std::vector<Buffer>& raw) {
  std::vector<std::uint64_t> hashes;
  for (const auto& bytes : raw) hashes.push_back(segment::xxh3(bytes));
  return hashes;
}

class CudaGpuDecoder : public testing::Test {
 protected:
  void SetUp() override {
    if (Lab::get() == nullptr) GTEST_SKIP() << "there is no GPU on this machine";
  }

  static void expect_decoded(const std::vector<Chunk>& chunks, const Manner& manner) {
    const auto expected = raw_by_library(chunks);
    const auto decoded = decode(chunks, hashes_of(expected), manner);
    for (std::size_t i = 0; i < chunks.size(); ++i) {
      ASSERT_EQ(decoded.statuses[i], ChunkStatus::ok) << chunks[i].name;
      ASSERT_TRUE(decoded.raw[i] == expected[i]) << chunks[i].name;
    }
  }
};

TEST_F(CudaGpuDecoder, DecodesWhatTheLibraryWrites) { expect_decoded(valid_chunks(), {}); }

TEST_F(CudaGpuDecoder, PutsRawBytesAtAnyAlignment) {
  for (const std::size_t shift : {1, 4, 8, 16})
    expect_decoded(valid_chunks(), {.checked = true, .shift = shift});
}

TEST_F(CudaGpuDecoder, DecodesWithoutChecking) { expect_decoded(valid_chunks(), {.checked = false}); }

TEST_F(CudaGpuDecoder, DecodesTheLargestChunks) {
  std::vector<Chunk> chunks;
  for (const auto encoding : {Encoding::zstd, Encoding::zstd_rotated2, Encoding::zstd_planes8})
    chunks.push_back(encoded("16 MiB", encoding, skewed(std::size_t{16} << 20, 50, 0.8, 5)));
  expect_decoded(chunks, {});
}

TEST_F(CudaGpuDecoder, SaysWhichHashesDiffer) {
  const auto chunks = valid_chunks();
  auto expected = raw_by_library(chunks);
  auto hashes = hashes_of(expected);
  for (std::size_t i = 0; i < hashes.size(); i += 2) hashes[i] ^= std::uint64_t{1} << i % 64;
  const auto decoded = decode(chunks, hashes);
  for (std::size_t i = 0; i < hashes.size(); ++i)
    ASSERT_EQ(decoded.statuses[i], i % 2 == 0 ? ChunkStatus::wrong_hash : ChunkStatus::ok) << chunks[i].name;
}

std::vector<Chunk> stored_as_they_are(std::size_t most) {
  std::vector<Chunk> chunks;
  for (std::size_t size = 1; size <= most; size += size < 1100 ? 1 : 997)
    chunks.push_back(
        {"raw " + std::to_string(size), Encoding::zstd_planes2, segment::samples::uniform(size, size), size});
  for (auto& chunk : chunks)
    if (chunk.raw_size % 2 != 0) chunk.encoding = Encoding::zstd;
  return chunks;
}

TEST_F(CudaGpuDecoder, CopiesAndHashesChunksThatAreStoredAsTheyAre) {
  expect_decoded(stored_as_they_are(140'000), {});
  expect_decoded(stored_as_they_are(5'000), {.checked = true, .shift = 3});
}

TEST_F(CudaGpuDecoder, HashesWhatIsInPlace) {
  const Buffer bytes = segment::samples::uniform(300'000);
  const OnGpu there(bytes);
  std::vector<ChunkJob> jobs;
  for (std::uint32_t size = 1; size <= bytes.size(); size += 1 + size / 5)
    for (const std::uint32_t begin : {0U, 8U, 5U}) {
      if (begin + size > bytes.size()) continue;
      ChunkJob job;
      job.stored = job.raw = there.address() + begin;
      job.stored_bytes = job.raw_bytes = size;
      job.hash = segment::xxh3(Bytes(bytes).subspan(begin, size));
      if (begin == 5) ++job.hash;
      jobs.push_back(job);
    }
  Desk room(workspace_needs(jobs));
  decode(jobs, room.workspace);
  Lab::get()->wait();
  const auto found = statuses(room.workspace, jobs.size());
  for (std::size_t i = 0; i < jobs.size(); ++i)
    ASSERT_EQ(found[i], jobs[i].stored % 8 == 5 ? ChunkStatus::wrong_hash : ChunkStatus::ok)
        << jobs[i].raw_bytes;
  EXPECT_EQ(there.read(), bytes);
}

/// What the host says to a frame, and its bytes.
ChunkStatus status_on_host(const Chunk& chunk, Buffer& raw) {
  const unsigned width = plane_width(chunk.encoding);
  Buffer planes(chunk.raw_size);
  raw.resize(chunk.raw_size);
  const auto status = static_cast<ChunkStatus>(decode_on_host(chunk.stored, width, planes));
  if (status == ChunkStatus::ok) segment::merge_planes(planes, raw, width, sign_rotated(chunk.encoding));
  return status;
}

/// How many frames with changes; a sanitizer takes its time.
int mutants() {
  const char* const asked = std::getenv("PTD_GPU_MUTANTS");
  return asked != nullptr ? std::atoi(asked) : 20'000;
}

TEST_F(CudaGpuDecoder, HostileFramesHaveTheHostsVerdicts) {
  std::vector<Chunk> frames, hostile;
  for (auto& chunk : valid_chunks())
    if (is_frame(chunk) && chunk.stored.size() < 6000) frames.push_back(std::move(chunk));
  Mutator mutator(7);
  for (int i = 0; i < mutants(); ++i) {
    Chunk chunk = frames[mutator.below(frames.size())];
    mutator.change(chunk.stored);
    if (is_frame(chunk) && !chunk.stored.empty() && chunk.stored.size() < chunk.raw_size)
      hostile.push_back(std::move(chunk));
  }
  const auto decoded = decode(hostile, std::vector<std::uint64_t>(hostile.size()), {.checked = false});
  std::size_t ok = 0;
  for (std::size_t i = 0; i < hostile.size(); ++i) {
    Buffer raw;
    ASSERT_EQ(decoded.statuses[i], status_on_host(hostile[i], raw)) << hostile[i].name;
    if (decoded.statuses[i] != ChunkStatus::ok) continue;
    ++ok;
    ASSERT_TRUE(decoded.raw[i] == raw) << hostile[i].name;
  }
  EXPECT_GT(ok, hostile.size() / 20);
}

TEST_F(CudaGpuDecoder, HashesLeaves) {
  constexpr std::size_t leaf = gpu_leaf_bytes;
  const Buffer bytes = segment::samples::uniform(200 * leaf);
  const OnGpu there(bytes);
  const std::pair<std::size_t, std::size_t> parts[] = {{0, 100 * leaf},
                                                       {100 * leaf, 1},
                                                       {101 * leaf, 65},
                                                       {102 * leaf, 8191},
                                                       {104 * leaf, 8193},
                                                       {3, 5 * leaf + 70},
                                                       {110 * leaf, 50 * leaf + 100},
                                                       {48, 40 * leaf}};
  std::vector<LeafRun> runs;
  Buffer expected;
  for (const auto& [begin, size] : parts) {
    Buffer leaves((size + leaf - 1) / leaf * 32);
    segment::hash_leaves(Bytes(bytes).subspan(begin, size), leaves);
    runs.push_back({there.address() + begin, size, expected.size(), 0});
    expected.insert(expected.end(), leaves.begin(), leaves.end());
  }
  const OnGpu digests(Buffer(expected.size()));
  for (auto& run : runs) run.digests += digests.address();
  Desk room(leaves_needs(runs.size()));
  must(Lab::get()->decoder().hash_leaves(Lab::get()->stream(), runs, room.workspace));
  Lab::get()->wait();
  EXPECT_EQ(digests.read(), expected);
}

TEST_F(CudaGpuDecoder, RefusesWhatCannotBe) {
  const auto& decoder = Lab::get()->decoder();
  const auto code = [&](ChunkJob job, Workspace workspace) {
    const auto result = decoder.decode_chunks(Lab::get()->stream(), {&job, 1}, workspace);
    return result ? ErrorCode::internal : result.error().code;
  };
  ChunkJob job;
  job.stored_bytes = 10, job.raw_bytes = 20;
  Desk room(workspace_needs({&job, 1}));
  for (const std::uint32_t raw : {0U, 9U, max_raw_bytes + 1}) {
    ChunkJob bad = job;
    bad.raw_bytes = raw;
    EXPECT_EQ(code(bad, room.workspace), ErrorCode::argument) << raw;
  }
  ChunkJob odd = job;
  odd.width = 3;
  EXPECT_EQ(code(odd, room.workspace), ErrorCode::argument);
  odd.width = 8;
  EXPECT_EQ(code(odd, room.workspace), ErrorCode::argument) << "20 bytes are no whole elements";
  EXPECT_EQ(code(job, {}), ErrorCode::argument);
  Workspace small = room.workspace;
  --small.device_bytes;
  EXPECT_EQ(code(job, small), ErrorCode::argument);
}

// --- vectors -------------------------------------------------------------------------------------------

std::filesystem::path vectors_folder() {
  const char* const folder = std::getenv("PTD_VECTORS");
  return folder != nullptr ? folder : PTD_SOURCE_DIR "/conformance/vectors/1.0";
}

struct Vectors {
  std::vector<Chunk> chunks;
  std::vector<std::uint64_t> hashes;

  void add(const std::filesystem::path& path) {
    const auto file = open_file(path);
    const auto reader = Reader::open(path);
    if (!file || !reader || file->source->size() > std::uint64_t{32} << 20) return;
    for (const auto& segment : reader->layout().segments) add(path, *reader, *file->source, segment);
  }

 private:
  void add(const std::filesystem::path& path, const Reader& reader, const ByteSource& source,
           const Segment& segment) {
    const auto size = reader.model().contents[segment.content].size;
    const auto table = reader::load_table(source, segment, size);
    if (!table || !is_coded(segment.encoding)) return;
    for (std::uint64_t i = 0; i < segment.chunks; ++i) {
      const auto begin = (*table)->stored_begin(i), end = (*table)->stored_begin(i + 1);
      Chunk chunk{path.filename().string(), segment.encoding, Buffer(end - begin),
                  (*table)->raw_end(i) - (*table)->raw_begin(i)};
      must(source.read(segment.offset + begin, chunk.stored));
      chunks.push_back(std::move(chunk));
      hashes.push_back((*table)->raw_hash(i));
    }
  }
};

TEST_F(CudaGpuDecoder, DecodesTheVectors) {
  Vectors vectors;
  if (!std::filesystem::exists(vectors_folder())) GTEST_SKIP() << "there are no vectors here";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(vectors_folder()))
    if (entry.is_regular_file()) vectors.add(entry.path());
  const auto decoded = decode(vectors.chunks, vectors.hashes);
  std::size_t ok = 0;
  for (std::size_t i = 0; i < vectors.chunks.size(); ++i) {
    const auto& chunk = vectors.chunks[i];
    const auto library = decode_by_library(chunk);
    const bool is_right = library && segment::xxh3(*library) == vectors.hashes[i];
    if (decoded.statuses[i] == ChunkStatus::ok) {
      ++ok;
      ASSERT_TRUE(is_right) << chunk.name << ": accepted what the host refuses";
      ASSERT_TRUE(decoded.raw[i] == *library) << chunk.name;
    } else if (is_right) {
      ASSERT_EQ(decoded.statuses[i], ChunkStatus::outside_profile) << chunk.name;
      ASSERT_FALSE(is_of_profile(chunk)) << chunk.name;
    }
  }
  EXPECT_GT(ok, 20U);
}

}  // namespace
}  // namespace ptd::cuda::gpu
