// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Chunks decoded and checked by a GPU that is none, beside the same on the host.
#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <random>
#include <thread>

#include "tests/cuda_samples.hpp"

namespace ptd::cuda {
namespace {

using fake::Faults;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using namespace cuda_test;

/// Groups so small that a few MiB take many.
struct SmallGroups : Bench {
  SmallGroups() : Bench(small_parts()) {
    inner->largest = {.stored_bytes = mib, .coded_bytes = 2 * mib, .raw_bytes = 3 * mib, .chunks = 64};
  }

  /// A group has room for any part: with so many threads these are of 512 KiB, and become 2 MiB at most.
  static CacheOptions small_parts() {
    auto options = small();
    options.threads = 8;
    return options;
  }
};

LoadRequest by(Engine engine, Check check = Check::chunks) {
  LoadRequest request;
  request.engine = engine;
  request.check = check;
  return request;
}

std::uint64_t chunks_in(const LoadedModel& model) {
  std::uint64_t chunks = 0;
  for (const auto& segment : model.reader().layout().segments) chunks += segment.chunks;
  return chunks;
}

/// Raw and coded contents in turns, some of one chunk and some of many.
Buffer mixed(unsigned pairs = 24) {
  Writer writer;
  for (unsigned i = 0; i < pairs; ++i) {
    const std::uint64_t size = 1'000 + i * i * 12'345;
    put(writer, "soft." + std::to_string(i), soft(size, i));
    put(writer, "noise." + std::to_string(i), noise(size / 2, 100 + i));
  }
  return written(writer, options_of(true));
}

TEST(CudaEngine, BothGiveEveryByte) {
  for (const auto& file : {two_methods(false), two_methods(true), mixed()})
    for (const auto check : {Check::none, Check::chunks, Check::content}) {
      SmallGroups bench;
      const auto model = bench.open(file);
      const auto content = must(model.load(by(Engine::host, check))).report().loaded_bytes;
      for (const auto engine : {Engine::gpu, Engine::host}) {
        const auto weights = must(model.load(by(engine, check)));
        expect_loaded(model, weights);
        const auto& report = weights.report();
        EXPECT_EQ(report.loaded_bytes, content);
        EXPECT_EQ(report.fallback_chunks, 0U);
        EXPECT_THAT(report.notes, IsEmpty());
      }
    }
}

TEST(CudaEngine, SaysWhatItDid) {
  SmallGroups bench;
  const auto model = bench.open(mixed());
  const auto on_gpu = must(model.load(by(Engine::gpu))).report();
  EXPECT_EQ(on_gpu.engine, Engine::gpu);
  EXPECT_EQ(on_gpu.gpu_chunks, chunks_in(model));
  EXPECT_EQ(bench.driver->gpu().kernels.chunks, chunks_in(model));
  EXPECT_GT(on_gpu.scratch_bytes, 0U);
  EXPECT_EQ(bench.driver->gpu().used(), 0U) << "what it needed meanwhile is given back";
  const auto on_host = must(model.load(by(Engine::host))).report();
  EXPECT_EQ(on_host.engine, Engine::host);
  EXPECT_EQ(on_host.gpu_chunks, 0U);
  EXPECT_EQ(on_host.scratch_bytes, 0U);
  EXPECT_LT(on_gpu.stored_bytes, on_gpu.loaded_bytes) << "stored bytes travel";
  // Bytes that nobody decodes or checks are no work for it.
  const auto unchecked = must(bench.open(two_methods(false)).load(by(Engine::gpu, Check::none))).report();
  EXPECT_EQ(unchecked.engine, Engine::host);
}

TEST(CudaEngine, WhatTheDeviceDoesNotTakeComesFromTheHost) {
  for (const auto check : {Check::none, Check::chunks, Check::content}) {
    SmallGroups bench;
    bench.driver->gpu().kernels.refuses = [](std::uint64_t number) { return number % 7 == 3; };
    const auto model = bench.open(mixed());
    const auto expected = must(model.load(by(Engine::host, check))).report().loaded_bytes;
    const auto weights = must(model.load(by(Engine::gpu, check)));
    expect_loaded(model, weights);
    const auto& report = weights.report();
    EXPECT_GT(report.fallback_chunks, 10U);
    EXPECT_EQ(report.loaded_bytes, expected);
    if (check != Check::none) {
      EXPECT_EQ(report.gpu_chunks + report.fallback_chunks, chunks_in(model));
    }
  }
}

// Not even to the end of a content.
TEST(CudaEngine, AContentThatIsNotForGpusIsLeftSoon) {
  Writer writer;
  put(writer, "w", soft(40 * mib, 1));
  SmallGroups bench;
  bench.driver->gpu().kernels.refuses = [](std::uint64_t) { return true; };
  const auto model = bench.open(written(writer, options_of(true)));
  for (const auto check : {Check::chunks, Check::content}) {
    const auto before = bench.driver->gpu().kernels.chunks.load();
    const auto weights = must(model.load(by(Engine::gpu, check)));
    expect_loaded(model, weights);
    EXPECT_EQ(weights.report().fallback_chunks, chunks_in(model));
    EXPECT_LT(bench.driver->gpu().kernels.chunks - before, chunks_in(model) / 2);
    EXPECT_EQ(weights.report().loaded_bytes, 40 * mib);
  }
}

TEST(CudaEngine, ManyContentsThatAreNotForGpusAreLeftSoon) {
  Writer writer;
  for (unsigned i = 0; i < 60; ++i) put(writer, "w" + std::to_string(i), soft(mib, i));
  SmallGroups bench;
  bench.driver->gpu().kernels.refuses = [](std::uint64_t) { return true; };
  const auto model = bench.open(written(writer, options_of(true)));
  const auto weights = must(model.load({}));
  expect_loaded(model, weights);
  EXPECT_EQ(weights.report().fallback_chunks, chunks_in(model));
  EXPECT_LT(bench.driver->gpu().kernels.chunks, chunks_in(model) / 2);
  EXPECT_EQ(weights.report().loaded_bytes, 60 * mib);
}

TEST(CudaEngine, ChunksLargerThanABufferAreTheHosts) {
  Writer writer;
  put(writer, "large", soft(9 * mib, 1));
  put(writer, "small", soft(mib, 2));
  for (const bool compress : {false, true}) {
    Bench bench;
    const auto model = bench.open(written(writer, options_of(compress, 0, 22)));
    const auto weights = must(model.load({}));
    expect_loaded(model, weights);
    EXPECT_EQ(weights.report().engine, Engine::host) << "there is nothing else";
    EXPECT_THAT(weights.report().notes, Contains(HasSubstr("larger than a buffer")));
  }
}

TEST(CudaEngine, WithoutKernelsTheHostDoesIt) {
  Bench bench;
  bench.driver->faults.fail_at("make_lane", Faults::always);
  const auto model = bench.open(two_methods(true));
  const auto weights = must(model.load({}));
  expect_loaded(model, weights);
  EXPECT_EQ(weights.report().engine, Engine::host);
  EXPECT_THAT(weights.report().notes, Contains(HasSubstr("decoded and checked on the host")));
}

TEST(CudaEngine, WithoutMemoryForItTheHostDoesIt) {
  Bench bench;
  const auto model = bench.open(two_methods(true));
  const auto allocated = must(model.load({})).report().allocated_bytes;
  LoadRequest request;
  request.max_bytes = allocated;
  const auto weights = must(model.load(request));
  expect_loaded(model, weights);
  EXPECT_EQ(weights.report().engine, Engine::host);
  EXPECT_THAT(weights.report().notes, Contains(HasSubstr("on the host")));
}

TEST(CudaEngine, IfNotAllMemoryCanBeHadTheHostDoesItOrNothingIsLeft) {
  const Buffer file = two_methods(true);
  const auto allocations = [&] {
    Bench bench;
    must(bench.open(file).load(by(Engine::gpu)));
    return bench.driver->faults.calls("allocate");
  }();
  ASSERT_GT(allocations, 1);
  for (int number = 0; number < allocations; ++number) {
    Bench bench;
    const auto model = bench.open(file);
    bench.driver->faults.fail_at("allocate", number);
    const auto weights = model.load(by(Engine::gpu));
    const bool is_scratch = number + 1 == allocations;  // weights come first
    ASSERT_EQ(weights.has_value(), is_scratch) << number;
    if (weights) {
      expect_loaded(model, *weights);
      EXPECT_EQ(weights->report().engine, Engine::host);
      EXPECT_THAT(weights->report().notes, Contains(HasSubstr("decoded and checked on the host")));
    } else {
      EXPECT_EQ(weights.error().code, ErrorCode::no_memory);
      EXPECT_EQ(bench.driver->gpu().used(), 0U);
      expect_loaded(model, must(model.load(by(Engine::gpu))));
    }
  }
}

TEST(CudaEngine, FilesAreReadWhileMemoryIsAllocated) {
  for (const auto engine : {Engine::gpu, Engine::host}) {
    SmallGroups bench;
    std::atomic<int> reads = 0;
    const auto file = file_like(mixed());
    const auto model = bench.cache.open(must(Reader::open(std::make_shared<FunctionSource>(
        file->size(), [&, file](std::uint64_t offset, MutableBytes to) -> Result<void> {
          ++reads;
          return file->read(offset, to);
        }))));
    reads = 0;
    bench.driver->gpu().before_allocating = [&] {
      const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(60);
      while (reads == 0 && std::chrono::steady_clock::now() < give_up) std::this_thread::yield();
      EXPECT_GT(reads, 0);
    };
    expect_loaded(model, must(model.load(by(engine))));
  }
}

TEST(CudaEngine, AllocatorsAreCalledFromTheThreadThatLoads) {
  SmallGroups bench;
  const auto model = bench.open(mixed());
  const auto device = must(bench.driver->device(0));
  std::vector<std::thread::id> callers;
  const Allocator allocator{[&](std::uint64_t bytes, int) {
                              callers.push_back(std::this_thread::get_id());
                              return must(device->allocate(bytes));
                            },
                            [&](void* memory, std::uint64_t, int) { device->release(memory); }};
  auto request = by(Engine::gpu);
  request.allocator = &allocator;
  expect_loaded(model, must(model.load(request)));
  EXPECT_THAT(callers, testing::SizeIs(2));  // for weights, and for the engine
  EXPECT_THAT(callers, testing::Each(std::this_thread::get_id()));
}

TEST(CudaEngine, FailuresOfTheDeviceLeaveNothingBehind) {
  const Buffer file = mixed(16);
  for (const std::string call : {"copy", "wait_for", "decode", "hash", "fetch", "mark"})
    for (int number = 0; number < 6; ++number) {
      SmallGroups bench;
      const auto model = bench.open(file);
      bench.driver->faults.fail_at(call, number);
      const auto weights = model.load(by(Engine::gpu, Check::content));
      ASSERT_FALSE(weights) << call << number;
      EXPECT_THAT(weights.error().message, HasSubstr("the fake " + call + " failed"));
      EXPECT_EQ(bench.driver->gpu().used(), 0U) << call << number;
      expect_loaded(model, must(model.load({})));
    }
}

TEST(CudaEngine, CanBeCancelledAtAnyBatch) {
  const Buffer file = mixed();
  for (const int after : {0, 1, 5, 20}) {
    SmallGroups bench;
    const auto model = bench.open(file);
    auto request = by(Engine::gpu, Check::content);
    std::atomic<int> calls = 0;
    request.progress = [&](std::uint64_t, std::uint64_t) { return calls++ < after; };
    EXPECT_EQ(code_of(model.load(request)), "cancelled");
    EXPECT_EQ(bench.driver->gpu().used(), 0U);
  }
}

TEST(CudaEngine, BothSayTheSameOfDamage) {
  const Buffer good = mixed(6);
  std::mt19937 random(1);
  SmallGroups bench;
  int damaged = 0;
  for (int i = 0; i < 100; ++i) {
    Buffer bad = good;
    for (auto changes = 1 + random() % 3; changes > 0; --changes)
      bad[random() % bad.size()] ^= static_cast<std::byte>(1U << random() % 8);
    const auto opened = Reader::open(file_like(bad));
    if (!opened) continue;
    for (const auto check : {Check::none, Check::chunks, Check::content}) {
      const auto model = bench.cache.open(*opened);
      const auto by_host = model.load(by(Engine::host, check));
      const auto by_gpu = model.load(by(Engine::gpu, check));
      EXPECT_EQ(outcome(by_gpu), outcome(by_host)) << i;
      if (by_gpu && check != Check::none) expect_loaded(model, *by_gpu);
      damaged += by_gpu ? 0 : 1;
    }
  }
  EXPECT_GT(damaged, 50);
  EXPECT_EQ(bench.driver->gpu().used(), 0U);
}

TEST(CudaEngine, ProvingFindsWhatHashesOfChunksDoNot) {
  Writer writer;
  for (unsigned i = 0; i < 8; ++i) put(writer, "w" + std::to_string(i), noise(700'000, i));
  FileEdit edit(written(writer));
  auto& segment = edit.layout.segments[5];
  edit.stored(segment)[100] ^= std::byte{1};
  edit.rehash_chunks();
  edit.rehash_tables();
  SmallGroups bench;
  const auto model = bench.open(edit.finish());
  must(model.load({}));
  EXPECT_EQ(outcome(model.load(by(Engine::gpu, Check::content))),
            outcome(model.load(by(Engine::host, Check::content))));
  EXPECT_EQ(rule_of(model.load(by(Engine::gpu, Check::content))), "content-digest DIG-2");
}

TEST(CudaEngine, LoadsAtOnceShareFewLanes) {
  SmallGroups bench;
  const auto model = bench.open(mixed(12));
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&, i] {
      for (int round = 0; round < 3; ++round) {
        auto request = by(round % 3 == 2 ? Engine::host : Engine::gpu, Check::content);
        request.device = i % 2;
        expect_loaded(model, must(model.load(request)));
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(bench.driver->gpu(0).used() + bench.driver->gpu(1).used(), 0U);
  EXPECT_LE(bench.cache.counters().pinned_bytes, bench.inner->options.pinned_bytes);
}

}  // namespace
}  // namespace ptd::cuda
