// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// What a runtime of several methods counts on: shared weights cost nothing the second time, mutable state is
// a session's, and memory goes with its last user. cuda_gpu_test.cpp asks the same of real GPUs.
#include <algorithm>
#include <array>
#include <numeric>
#include <thread>

#include "tests/cuda_samples.hpp"

namespace ptd::cuda {
namespace {

using namespace cuda_test;

constexpr std::uint64_t cache_bytes = 5'000;

Weights load_method(const LoadedModel& model, std::string_view method, const State* state = nullptr) {
  auto request = of_method(model, method);
  request.state = state;
  return must(model.load(request));
}

void fill(const Weights& weights, std::string_view name, int value) {
  must(weights.wait());
  const auto tensor = *weights.find(name);
  std::memset(tensor.data, value, tensor.storage_bytes);
}

void expect_holds(const Weights& weights, std::string_view name, const Buffer& expected) {
  EXPECT_TRUE(std::ranges::equal(elements(weights, *weights.find(name)), expected)) << name;
}

TEST(CudaTwoMethods, TheSecondAddsExactlyWhatIsItsOwn) {
  Bench bench;
  const auto model = bench.open(two_methods());
  const auto prefill = load_method(model, "prefill");
  const auto before = bench.cache.counters();
  const auto used = bench.driver->gpu().used();
  const auto state = prefill.state();
  const auto decode = load_method(model, "decode", &state);
  const auto after = bench.cache.counters();
  EXPECT_EQ(after.hits - before.hits, 5U);
  EXPECT_EQ(after.misses - before.misses, 1U);
  EXPECT_EQ(after.copied_bytes - before.copied_bytes, decode_bytes);
  EXPECT_EQ(after.storage_bytes - before.storage_bytes, decode_bytes);
  EXPECT_EQ(after.arenas - before.arenas, 1U);
  EXPECT_EQ(after.arena_bytes - before.arena_bytes, bench.driver->gpu().used() - used);
  EXPECT_EQ(decode.report().reused_storages, 5U);
  EXPECT_EQ(decode.report().allocated_bytes, after.arena_bytes - before.arena_bytes);
  EXPECT_EQ(prefill.find("shared")->data, decode.find("shared")->data);
  expect_loaded(model, prefill);
  expect_loaded(model, decode);
}

TEST(CudaTwoMethods, AMethodThatIsThereCostsNothing) {
  Bench bench;
  const auto model = bench.open(two_methods());
  const auto one = load_method(model, "decode");
  const auto before = bench.cache.counters();
  const auto state = one.state();
  const auto again = load_method(model, "decode", &state);
  const auto after = bench.cache.counters();
  EXPECT_EQ(after.misses, before.misses);
  EXPECT_EQ(after.copied_bytes, before.copied_bytes);
  EXPECT_EQ(after.arena_bytes, before.arena_bytes);
  EXPECT_EQ(again.report().copies, 0U);
}

TEST(CudaTwoMethods, MutableStateIsTheSessions) {
  Bench bench;
  const auto model = bench.open(two_methods());
  const auto prefill = load_method(model, "prefill");
  const auto state = prefill.state();
  const auto decode = load_method(model, "decode", &state);
  const auto other = load_method(model, "decode");
  EXPECT_TRUE(prefill.find("cache")->is_mutable);
  fill(prefill, "cache", 7);
  expect_holds(decode, "cache", Buffer(cache_bytes, std::byte{7}));
  expect_holds(decode, "cache.like", noise(cache_bytes, 5));  // equal at first, and apart
  expect_holds(other, "cache", noise(cache_bytes, 5));
  EXPECT_EQ(decode.find("shared")->data, other.find("shared")->data);
  EXPECT_EQ(decode.find("zeros")->data, other.find("zeros")->data);
}

// The file has the bytes of the two caches once; memory has them twice.
TEST(CudaTwoMethods, IdenticalMutableBuffersStayApart) {
  Bench bench;
  const auto model = bench.open(two_methods());
  const auto& file = model.reader().model();
  const auto content_of = [&](std::string_view name) {
    return file.storages[file.tensors[*file.find_tensor({}, name)].storage].content;
  };
  ASSERT_EQ(content_of("cache"), content_of("cache.like"));
  const auto weights = load_method(model, "prefill");
  EXPECT_NE(weights.find("cache")->storage, weights.find("cache.like")->storage);
  expect_loaded(model, weights);
}

TEST(CudaTwoMethods, TwoLoadsOfOneFileShareWeightsAndNoState) {
  Bench bench;
  const auto file = opened(two_methods());
  const auto one = bench.cache.open(file), two = bench.cache.open(file);
  const auto first = load_method(one, "prefill");
  const auto before = bench.cache.counters();
  const auto second = load_method(two, "prefill");
  EXPECT_EQ(bench.cache.counters().storage_bytes - before.storage_bytes, 2 * cache_bytes) << "a state";
  EXPECT_EQ(first.find("shared")->data, second.find("shared")->data);
  fill(first, "cache", 7);
  expect_holds(second, "cache", noise(cache_bytes, 5));
}

/// Everything that can be let go, one by one.
struct Holders {
  std::optional<WeightCache> cache;
  std::optional<LoadedModel> model;
  std::optional<State> state;
  std::optional<Weights> prefill, decode;

  void drop(std::size_t which) {
    switch (which) {
      case 0:
        return cache.reset();
      case 1:
        return model.reset();
      case 2:
        return state.reset();
      case 3:
        return prefill.reset();
      default:
        return decode.reset();
    }
  }
};

void expect_alive(const Weights& weights) {
  expect_holds(weights, "shared.too", soft(70'000, 2));
  expect_holds(weights, "cache", noise(cache_bytes, 5));
}

TEST(CudaTwoMethods, MemoryGoesBackInAnyOrderOfRelease) {
  const auto file = opened(two_methods());
  std::array<std::size_t, 5> order{};
  std::iota(order.begin(), order.end(), 0U);
  do {
    const auto driver = std::make_shared<FakeDriver>(1, std::uint64_t{1} << 30, std::chrono::microseconds(0));
    Holders held;
    held.cache = WeightCache(must(make_cache(Bench::small(), driver)));
    held.model = held.cache->open(file);
    held.state = held.model->new_state();
    held.prefill = load_method(*held.model, "prefill", &*held.state);
    held.decode = load_method(*held.model, "decode", &*held.state);
    for (const auto which : order) {
      held.drop(which);
      if (held.prefill) expect_alive(*held.prefill);
      if (held.decode) expect_alive(*held.decode);
    }
    EXPECT_EQ(driver->gpu().used(), 0U) << testing::PrintToString(order);
    EXPECT_EQ(driver->pinned(), 0U) << testing::PrintToString(order);
  } while (std::ranges::next_permutation(order).found);
}

// What only one method uses goes with it, though the other stays.
TEST(CudaTwoMethods, AMethodTakesItsOwnMemoryWithIt) {
  Bench bench;
  const auto model = bench.open(two_methods());
  auto prefill = std::optional(load_method(model, "prefill"));
  const auto state = prefill->state();
  const auto decode = load_method(model, "decode", &state);
  const auto both = bench.cache.counters();
  prefill.reset();
  EXPECT_EQ(both.storage_bytes - bench.cache.counters().storage_bytes, prefill_bytes);
  EXPECT_EQ(bench.cache.counters().arenas, both.arenas - 1);
  expect_alive(decode);
}

/// Loads at random, with the sessions' states or one of its own, and holds up to three at a time.
void load_and_drop(const std::vector<LoadedModel>& models, const std::vector<State>& states, unsigned seed) {
  std::mt19937 random(seed);
  std::array<std::optional<Weights>, 3> held;
  for (int round = 0; round < 30; ++round) {
    const auto which = random() % models.size();
    const auto* state = random() % 2 == 0 ? &states[which] : nullptr;
    auto& slot = held[random() % held.size()];
    slot = load_method(models[which], random() % 2 == 0 ? "prefill" : "decode", state);
    expect_alive(*slot);
  }
}

TEST(CudaTwoMethods, SixteenThreadsLoadAndDropAtOnce) {
  Bench bench;
  {
    const auto file = opened(two_methods());
    const std::vector<LoadedModel> models{bench.cache.open(file), bench.cache.open(file)};
    const std::vector<State> states{models[0].new_state(), models[1].new_state()};
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < 16; ++i) threads.emplace_back([&, i] { load_and_drop(models, states, i); });
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(bench.cache.counters().storage_bytes, 2 * 2 * cache_bytes) << "the states are still held";
  }
  const auto counters = bench.cache.counters();
  EXPECT_EQ(counters.storages, 0U);
  EXPECT_EQ(counters.arenas, 0U);
  EXPECT_EQ(counters.arena_bytes, 0U);
  EXPECT_EQ(counters.failures, 0U);
  EXPECT_EQ(counters.hits + counters.misses, 16U * 30U * 6U);
  EXPECT_EQ(bench.driver->gpu().used(), 0U);
}

}  // namespace
}  // namespace ptd::cuda
