// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// The loader on real GPUs. Without one every test here is skipped, and says so.
#include <cuda.h>
#include <dlfcn.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <functional>
#include <ptd/cuda.hpp>
#include <random>
#include <thread>

#include "tests/write_samples.hpp"

namespace ptd::cuda {
namespace {

using namespace write_test;

constexpr std::uint64_t mib = std::uint64_t{1} << 20;

/// The driver, for what tests look at behind the loader's back.
class Gpu {
 public:
  static const Gpu& get() {
    static const Gpu gpu;
    return gpu;
  }

  template <class Function>
  Function* function(const char* name) const {
    return reinterpret_cast<Function*>(dlsym(library_, name));
  }

  [[nodiscard]] int count() const {
    int devices = 0;
    if (library_ == nullptr || function<decltype(cuInit)>("cuInit")(0) != CUDA_SUCCESS) return 0;
    function<decltype(cuDeviceGetCount)>("cuDeviceGetCount")(&devices);
    return devices;
  }

  [[nodiscard]] bool has_context(int device) const {
    unsigned flags = 0;
    int active = 0;
    function<decltype(cuDevicePrimaryCtxGetState)>("cuDevicePrimaryCtxGetState")(device, &flags, &active);
    return active != 0;
  }

  [[nodiscard]] CUcontext current() const {
    CUcontext context = nullptr;
    function<decltype(cuCtxGetCurrent)>("cuCtxGetCurrent")(&context);
    return context;
  }

  /// Calls with the device's primary context current.
  template <class Call>
  void on(int device, Call call) const {
    CUcontext context = nullptr, popped = nullptr;
    function<decltype(cuDevicePrimaryCtxRetain)>("cuDevicePrimaryCtxRetain")(&context, device);
    function<decltype(cuCtxPushCurrent)>("cuCtxPushCurrent_v2")(context);
    call();
    function<decltype(cuCtxPopCurrent)>("cuCtxPopCurrent_v2")(&popped);
    function<decltype(cuDevicePrimaryCtxRelease)>("cuDevicePrimaryCtxRelease_v2")(device);
  }

  [[nodiscard]] std::uint64_t free_bytes(int device) const {
    std::size_t free = 0, total = 0;
    on(device, [&] { function<decltype(cuMemGetInfo)>("cuMemGetInfo_v2")(&free, &total); });
    return free;
  }

  [[nodiscard]] Buffer read(int device, const void* memory, std::uint64_t bytes) const {
    Buffer out(bytes);
    CUresult result = CUDA_SUCCESS;
    on(device, [&] {
      result = function<decltype(cuMemcpyDtoH)>("cuMemcpyDtoH_v2")(
          out.data(), reinterpret_cast<CUdeviceptr>(memory), bytes);
    });
    if (result != CUDA_SUCCESS) throw std::runtime_error("cannot read from the GPU");
    return out;
  }

  void write(int device, void* memory, const Buffer& bytes) const {
    on(device, [&] {
      function<decltype(cuMemcpyHtoD)>("cuMemcpyHtoD_v2")(reinterpret_cast<CUdeviceptr>(memory), bytes.data(),
                                                          bytes.size());
    });
  }

  [[nodiscard]] void* allocate(int device, std::uint64_t bytes) const {
    CUdeviceptr memory = 0;
    on(device, [&] { function<decltype(cuMemAlloc)>("cuMemAlloc_v2")(&memory, bytes); });
    return reinterpret_cast<void*>(memory);
  }

  void release(int device, void* memory) const {
    on(device, [&] { function<decltype(cuMemFree)>("cuMemFree_v2")(reinterpret_cast<CUdeviceptr>(memory)); });
  }

 private:
  Gpu() : library_(dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL)) {}
  void* library_;
};

class CudaGpu : public testing::Test {
 protected:
  void SetUp() override {
    if (Gpu::get().count() == 0) GTEST_SKIP() << "there is no GPU on this machine";
    context_ = Gpu::get().current();
  }
  void TearDown() override {
    if (Gpu::get().count() == 0) return;
    EXPECT_EQ(Gpu::get().current(), context_) << "what was current is current again";
  }

  static WeightCache make_cache(std::uint64_t pinned = 128 * mib) {
    CacheOptions options;
    options.pinned_bytes = pinned;
    options.buffer_bytes = pinned >= 32 * mib ? 8 * mib : 4 * mib;
    return must(WeightCache::create(options));
  }

  static void expect_loaded(const LoadedModel& model, const Weights& weights) {
    must(weights.wait());
    const auto& reader = model.reader();
    for (std::uint32_t i = 0; i < reader.model().tensors.size(); ++i) {
      const auto found = weights.tensor(i);
      if (!found) continue;
      Buffer expected(found->storage_bytes);
      must(reader.read_storage(reader.model().tensors[i].storage, 0, expected));
      EXPECT_EQ(Gpu::get().read(weights.device(), found->storage, found->storage_bytes), expected)
          << reader.model().tensors[i].name;
    }
  }

 private:
  CUcontext context_ = nullptr;
};

constexpr std::uint64_t shared_bytes = 96 * mib + 1000, prefill_bytes = 40 * mib,
                        decode_bytes = 20 * mib + 12'345, cache_bytes = 300'000;

/// Two methods that share part of their weights and their state.
Buffer two_methods(bool compress = false) {
  Writer writer;
  const auto prefill = must(writer.add_method("prefill")), decode = must(writer.add_method("decode"));
  const auto bind = [&](TensorId tensor, std::initializer_list<MethodId> methods) {
    for (const auto method : methods) must(writer.bind(method, tensor));
  };
  Put state;
  state.access = Access::mutable_;
  bind(put(writer, "shared", soft(shared_bytes, 1)), {prefill, decode});
  bind(put(writer, "of.prefill", soft(prefill_bytes, 3)), {prefill});
  bind(put(writer, "of.decode", soft(decode_bytes, 4)), {decode});
  for (const char* name : {"k.cache", "v.cache"}) {
    state.label = name;
    bind(put(writer, name, noise(cache_bytes, 5), state), {prefill, decode});
  }
  return written(writer, options_of(compress));
}

LoadedModel open(const WeightCache& cache, const Buffer& file) { return cache.open(opened(file)); }

LoadRequest by(Engine engine, Check check) {
  LoadRequest request;
  request.engine = engine;
  request.check = check;
  return request;
}

TEST_F(CudaGpu, BringsEveryByte) {
  const auto cache = make_cache();
  for (const bool compress : {false, true}) {
    const auto model = open(cache, two_methods(compress));
    for (const auto check : {Check::none, Check::chunks, Check::content})
      for (const auto engine : {Engine::gpu, Engine::host}) {
        const auto weights = must(model.load(by(engine, check)));
        expect_loaded(model, weights);
        EXPECT_EQ(weights.report().fallback_chunks, 0U);
        if (compress) {
          EXPECT_EQ(weights.report().engine, engine);
        }
      }
  }
}

/// Contents of all sizes, raw and coded in turns.
Buffer mixed() {
  Writer writer;
  for (unsigned i = 0; i < 24; ++i) {
    put(writer, "soft." + std::to_string(i), soft(1'000 + i * i * 12'345, i));
    put(writer, "noise." + std::to_string(i), noise(500 + i * i * 6'000, 100 + i));
  }
  return written(writer, options_of(true));
}

TEST_F(CudaGpu, SaysTheSameOfDamageAsTheHost) {
  const auto cache = make_cache();
  const Buffer good = mixed();
  std::mt19937 random(1);
  int damaged = 0;
  for (int i = 0; i < 200; ++i) {
    Buffer bad = good;
    for (auto changes = 1 + random() % 3; changes > 0; --changes)
      bad[random() % bad.size()] ^= static_cast<std::byte>(1U << random() % 8);
    const auto opened = Reader::open(file_like(bad));
    if (!opened) continue;
    const auto model = cache.open(*opened);
    for (const auto check : {Check::chunks, Check::content}) {
      const auto by_host = model.load(by(Engine::host, check)), by_gpu = model.load(by(Engine::gpu, check));
      ASSERT_EQ(outcome(by_gpu), outcome(by_host)) << i;
      if (by_gpu) expect_loaded(model, *by_gpu);
      damaged += by_gpu ? 0 : 1;
    }
  }
  EXPECT_GT(damaged, 100);
}

TEST_F(CudaGpu, SixteenMebibytesOfPinnedMemoryAreEnough) {
  const auto cache = make_cache(16 * mib);
  const auto model = open(cache, two_methods());
  expect_loaded(model, must(model.load({})));
  EXPECT_LE(cache.counters().pinned_bytes, 16 * mib);
}

constexpr std::uint64_t granule = 2 * mib;  // that the driver takes memory in

Weights load_method(const LoadedModel& model, std::string_view method, const State* state = nullptr) {
  LoadRequest request;
  request.methods = {*model.reader().model().find_method(method)};
  request.state = state;
  return must(model.load(request));
}

// What the field asked for: two methods of one model on one GPU. cuda_two_methods_test.cpp asks more, of any
// machine.
TEST_F(CudaGpu, TheSecondMethodAddsExactlyWhatIsItsOwn) {
  const auto cache = make_cache();
  const auto model = open(cache, two_methods());
  static_cast<void>(load_method(model, "decode"));  // what the driver keeps for itself comes first
  const auto baseline = Gpu::get().free_bytes(0);

  const auto prefill = load_method(model, "prefill");
  const auto before = cache.counters();
  const auto free = Gpu::get().free_bytes(0);
  EXPECT_EQ(before.storage_bytes, shared_bytes + prefill_bytes + 2 * cache_bytes);
  const auto state = prefill.state();
  const auto decode = load_method(model, "decode", &state);
  const auto after = cache.counters();
  EXPECT_EQ(after.hits - before.hits, 3U) << "the shared weight and both caches were reused";
  EXPECT_EQ(after.misses - before.misses, 1U);
  EXPECT_EQ(after.copied_bytes - before.copied_bytes, decode_bytes);
  EXPECT_EQ(after.storage_bytes - before.storage_bytes, decode_bytes) << "exactly what is not shared";
  EXPECT_EQ(after.arenas - before.arenas, 1U);
  const auto grown = free - Gpu::get().free_bytes(0);
  EXPECT_GE(grown, decode_bytes);
  EXPECT_LE(grown, decode_bytes + granule) << "within one arena";
  const auto used = baseline - Gpu::get().free_bytes(0);
  EXPECT_GE(used, after.storage_bytes);
  EXPECT_LE(used, after.storage_bytes + granule * after.arenas) << "within one arena a group";
  EXPECT_EQ(prefill.find("shared")->data, decode.find("shared")->data);
  expect_loaded(model, prefill);
  expect_loaded(model, decode);
}

TEST_F(CudaGpu, MutableStateIsTheSessions) {
  const auto cache = make_cache();
  const auto file = opened(two_methods());
  const auto model = cache.open(file), again = cache.open(file);
  const auto prefill = load_method(model, "prefill");
  const auto state = prefill.state();
  const auto decode = load_method(model, "decode", &state);
  const auto other = load_method(model, "decode"), reopened = load_method(again, "decode");
  EXPECT_EQ(prefill.find("shared")->data, reopened.find("shared")->data);
  must(prefill.wait());
  Gpu::get().write(0, prefill.find("k.cache")->data, Buffer(cache_bytes, std::byte{7}));
  EXPECT_EQ(Gpu::get().read(0, decode.find("k.cache")->data, cache_bytes), Buffer(cache_bytes, std::byte{7}))
      << "one state for both methods";
  EXPECT_EQ(Gpu::get().read(0, decode.find("v.cache")->data, cache_bytes), noise(cache_bytes, 5))
      << "equal at first, and apart";
  expect_loaded(model, other);
  expect_loaded(again, reopened);
  must(decode.state().reset());
  expect_loaded(model, decode);
}

/// Everything that keeps something: a cache, a model, a state and two loads, let go in the order given.
void load_and_drop(const Reader& file, const std::array<std::size_t, 5>& order) {
  CacheOptions options;
  options.pinned_bytes = 16 * mib;
  options.buffer_bytes = 4 * mib;
  std::optional<WeightCache> cache = must(WeightCache::create(options));
  std::optional<LoadedModel> model = cache->open(file);
  std::optional<State> state = model->new_state();
  std::optional<Weights> prefill = load_method(*model, "prefill", &*state);
  std::optional<Weights> decode = load_method(*model, "decode", &*state);
  const std::array<std::function<void()>, 5> drops{[&] { cache.reset(); }, [&] { model.reset(); },
                                                   [&] { state.reset(); }, [&] { prefill.reset(); },
                                                   [&] { decode.reset(); }};
  for (const auto which : order) drops[which]();
}

TEST_F(CudaGpu, MemoryGoesBackInAnyOrderOfRelease) {
  const auto keeper = make_cache(16 * mib);  // keeps the GPU's context
  const auto file = opened(two_methods());
  static_cast<void>(load_method(keeper.open(file), "prefill"));
  std::array<std::size_t, 5> order{0, 1, 2, 3, 4};
  load_and_drop(file, order);
  const auto baseline = Gpu::get().free_bytes(0);
  do {
    load_and_drop(file, order);
    ASSERT_EQ(Gpu::get().free_bytes(0), baseline) << testing::PrintToString(order);
  } while (std::ranges::next_permutation(order).found);
}

/// Loads at random, with the session's state or one of its own, and holds up to three at a time.
void load_and_drop_many(const LoadedModel& model, const State& state, unsigned seed) {
  std::mt19937 random(seed);
  std::array<std::optional<Weights>, 3> held;
  for (int round = 0; round < 20; ++round) {
    auto& slot = held[random() % held.size()];
    slot = load_method(model, random() % 2 == 0 ? "prefill" : "decode", random() % 2 == 0 ? &state : nullptr);
    must(slot->wait());
  }
}

TEST_F(CudaGpu, SixteenThreadsLoadAndDropAtOnce) {
  const auto cache = make_cache();
  const auto model = open(cache, two_methods());
  const auto load_by_many = [&] {
    const auto state = model.new_state();
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < 16; ++i) threads.emplace_back([&, i] { load_and_drop_many(model, state, i); });
    for (auto& thread : threads) thread.join();
    expect_loaded(model, load_method(model, "prefill", &state));
  };
  load_by_many();  // so that streams for many loads at once have been made, which are kept
  const auto baseline = Gpu::get().free_bytes(0);
  const auto before = cache.counters();
  load_by_many();
  const auto after = cache.counters();
  EXPECT_EQ(Gpu::get().free_bytes(0), baseline);
  EXPECT_EQ(after.storages, 0U);
  EXPECT_EQ(after.arena_bytes, 0U);
  EXPECT_EQ(after.hits + after.misses - before.hits - before.misses, (16U * 20U + 1U) * 4U);
  EXPECT_EQ(after.failures, 0U);
  expect_loaded(model, must(model.load({})));
}

TEST_F(CudaGpu, AFullDeviceIsSaidAndLeftAsItWas) {
  const auto cache = make_cache();
  const auto model = open(cache, two_methods());
  static_cast<void>(must(model.load({})));
  const auto free = Gpu::get().free_bytes(0);
  auto* hog = Gpu::get().allocate(0, free - 32 * mib);
  const auto left = Gpu::get().free_bytes(0);
  const auto weights = model.load({});
  EXPECT_EQ(code_of(weights), "no-memory");
  EXPECT_THAT(weights.error().message, testing::HasSubstr("are free"));
  EXPECT_GE(Gpu::get().free_bytes(0), left);
  Gpu::get().release(0, hog);
  expect_loaded(model, must(model.load({})));
}

TEST_F(CudaGpu, TheHostsMemoryIsNotTheDevices) {
  const auto cache = make_cache();
  const auto model = open(cache, two_methods());
  const auto storage = model.reader().model().tensors[0].storage;
  const auto size = model.reader().model().storages[storage].size;
  Buffer host(size + 256);
  auto* aligned = reinterpret_cast<void*>((reinterpret_cast<std::uintptr_t>(host.data()) + 255) / 256 * 256);
  LoadRequest request;
  request.into = {{storage, aligned, size}};
  EXPECT_EQ(code_of(model.load(request)), "argument");
  auto* memory = Gpu::get().allocate(0, size);
  request.into = {{storage, memory, size}};
  {
    const auto weights = must(model.load(request));
    EXPECT_EQ(weights.tensor(0)->storage, memory);
    expect_loaded(model, weights);
  }
  Gpu::get().release(0, memory);
}

TEST_F(CudaGpu, OnlyTheDeviceThatIsAskedForIsTouched) {
  if (Gpu::get().count() < 2) GTEST_SKIP() << "this machine has one GPU";
  ASSERT_FALSE(Gpu::get().has_context(0)) << "run this test in a process of its own";
  const auto cache = make_cache();
  const auto model = open(cache, two_methods());
  LoadRequest request;
  request.device = 1;
  const auto on_one = must(model.load(request));
  EXPECT_FALSE(Gpu::get().has_context(0));
  expect_loaded(model, on_one);
  const auto on_zero = must(model.load({}));
  expect_loaded(model, on_zero);
  EXPECT_NE(on_one.find("shared")->data, on_zero.find("shared")->data);
}

}  // namespace
}  // namespace ptd::cuda
