// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Whether what arrived is what the file holds: every tensor of a load against what Reader gives.
#include <algorithm>
#include <cstring>
#include <set>

#include "cuda_device.hpp"
#include "cuda_loads.hpp"
#include "cuda_models.hpp"

namespace ptd::bench {
namespace {

constexpr std::uint64_t piece = std::uint64_t{4} << 20;

// Part of a storage, on the device and in the file.
struct Piece {
  std::uint32_t storage = 0;
  const std::byte* device = nullptr;
  std::uint64_t offset = 0, bytes = 0;
};

// A worker's buffers and queue.
class Comparer {
 public:
  Comparer() { cuda_check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate"); }
  Comparer(const Comparer&) = delete;
  Comparer& operator=(const Comparer&) = delete;
  ~Comparer() { cudaStreamDestroy(stream_); }

  void compare(const Reader& reader, const Piece& part) {
    auto* const got = got_.bytes().data();
    cuda_check(cudaMemcpyAsync(got, part.device + part.offset, part.bytes, cudaMemcpyDeviceToHost, stream_),
               "copying from the GPU");
    const auto wanted = MutableBytes(wanted_).first(part.bytes);
    need(reader.read_storage(part.storage, part.offset, wanted, {.check = true, .threads = 1}));
    cuda_check(cudaStreamSynchronize(stream_), "copying from the GPU");
    need_that(std::memcmp(got, wanted.data(), part.bytes) == 0,
              "storage " + std::to_string(part.storage) + " differs from its file at or after byte " +
                  std::to_string(part.offset));
  }

 private:
  Pinned got_{piece};
  std::vector<std::byte> wanted_ = std::vector<std::byte>(piece);
  cudaStream_t stream_ = nullptr;
};

// Shape and place of a tensor; its bytes are its storage's.
void compare_view(const cuda::DeviceTensor& got, const Tensor& wanted, const Storage& storage) {
  const auto name = std::string(wanted.name);
  need_that(got.dtype == wanted.dtype && got.storage_offset == wanted.storage_offset &&
                std::ranges::equal(got.sizes, wanted.sizes) &&
                std::ranges::equal(got.strides, wanted.strides),
            name + " has another shape");
  need_that(got.storage_bytes == storage.size && got.is_mutable == (storage.access == Access::mutable_),
            name + " has another storage");
  const auto offset = wanted.storage_offset * 2;  // all models are of bfloat16
  need_that(static_cast<const std::byte*>(got.data) == static_cast<const std::byte*>(got.storage) + offset,
            name + " is at another place in its storage");
  need_that(reinterpret_cast<std::uintptr_t>(got.storage) % 256 == 0, name + " is not aligned");
}

// One address for each storage, and one storage for each address.
std::vector<Piece> pieces_of(const cuda::Weights& weights, const Model& model, const std::string& method) {
  std::vector<const void*> addresses(model.storages.size());
  std::set<const void*> taken;
  std::vector<Piece> pieces;
  for (const auto index : tensors_of(model, method)) {
    const auto& tensor = model.tensors[index];
    const auto& storage = model.storages[tensor.storage];
    const auto got = weights.tensor(index);
    need_that(got.has_value(), "the load did not bring " + std::string(tensor.name));
    compare_view(*got, tensor, storage);
    auto& address = addresses[tensor.storage];
    need_that(address == nullptr || address == got->storage, "one storage has two addresses");
    if (address != nullptr) continue;
    address = got->storage;
    need_that(taken.insert(address).second, "two storages have one address");
    for (std::uint64_t at = 0; at < storage.size; at += piece)
      pieces.push_back(
          {tensor.storage, static_cast<const std::byte*>(address), at, std::min(piece, storage.size - at)});
  }
  return pieces;
}

void compare_load(benchmark::State& state, const LoadCase& load) {
  need_gpu();
  Loader loader(load);
  for (auto _ : state) {
    const auto loaded = loader.load();
    const Stopwatch watch;
    const auto& reader = loader.model().reader();
    const auto pieces = pieces_of(loaded.weights, reader.model(), load.method);
    std::atomic<std::uint64_t> bytes = 0;
    parallel(pieces.size(), setup().cores, [&](std::uint64_t i) {
      thread_local Comparer comparer;
      comparer.compare(reader, pieces[i]);
      bytes += pieces[i].bytes;
    });
    state.SetIterationTime(watch.seconds());
    state.counters["tensors"] = static_cast<double>(tensors_of(reader.model(), load.method).size());
    state.counters["compared_GB"] = static_cast<double>(bytes) / 1e9;
    report_load(state, loaded.weights.report());
  }
}

void add_comparison(LoadCase load) {
  if (load.engine == cuda::Engine::host) load.more += "/engine:host";
  if (load.path != cuda::ReadPath::automatic) load.more += "/path:" + std::string(name_of(load.path));
  add("results/" + load.name(), 1, [load](benchmark::State& state) { compare_load(state, load); });
}

}  // namespace

void add_results() {
  for (const auto& shape : shapes())
    for (const bool compressed : {false, true})
      for (const auto engine : {cuda::Engine::gpu, cuda::Engine::host})
        add_comparison({.shape = shape, .compressed = compressed, .engine = engine});
  for (const auto path : {cuda::ReadPath::mapped, cuda::ReadPath::buffered, cuda::ReadPath::direct})
    for (const bool compressed : {false, true})
      add_comparison({.shape = "two", .compressed = compressed, .path = path});
  LoadCase tight{.shape = "moe", .compressed = true, .check = cuda::Check::content, .more = "/pinned:16"};
  tight.options.pinned_bytes = std::uint64_t{16} << 20;
  tight.options.buffer_bytes = std::uint64_t{1} << 20;
  add_comparison(tight);
}

}  // namespace ptd::bench
