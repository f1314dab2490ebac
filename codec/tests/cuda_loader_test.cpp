// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// The loader and the cache over GPUs that are none.
#include <gmock/gmock.h>

#include <array>
#include <latch>
#include <thread>
#include <utility>

#include "tests/cuda_samples.hpp"

namespace ptd::cuda {
namespace {

using fake::Faults;
using testing::ElementsAre;
using testing::HasSubstr;
using namespace cuda_test;

TEST(CudaLoader, BringsEveryByte) {
  for (const bool compress : {false, true}) {
    Bench bench;
    const auto model = bench.open(two_methods(compress));
    for (const auto check : {Check::none, Check::chunks, Check::content}) {
      LoadRequest request;
      request.check = check;
      const auto weights = must(model.load(request));
      EXPECT_EQ(weights.report().storages, 7U);
      expect_loaded(model, weights);
    }
  }
}

TEST(CudaLoader, AStateGoesBackToTheFilesBytes) {
  Bench bench;
  const auto model = bench.open(two_methods());
  const auto weights = must(model.load(of_method(model, "prefill")));
  must(weights.wait());
  std::memset(weights.find("cache")->data, 7, 5'000);
  must(weights.state().reset());
  expect_loaded(model, weights);
}

TEST(CudaLoader, MemoryMayOutliveTheCache) {
  auto driver = std::make_shared<FakeDriver>();
  std::optional<Weights> weights;
  {
    Bench bench(Bench::small(), driver);
    const auto model = bench.open(two_methods());
    weights = must(model.load({}));
    expect_loaded(model, *weights);
  }
  EXPECT_GT(driver->gpu().used(), 0U);
  weights.reset();
  EXPECT_EQ(driver->gpu().used(), 0U);
}

// What a file declares about itself is no proof.
TEST(CudaLoader, FilesShareOnlyWhatWasProven) {
  Bench bench;
  const Buffer file = two_methods();
  const auto one = bench.open(file), two = bench.open(file);
  LoadRequest chunks;
  const auto first = must(one.load(chunks));
  EXPECT_NE(first.find("shared")->data, must(two.load(chunks)).find("shared")->data);
  LoadRequest content;
  content.check = Check::content;
  const auto proven = must(two.load(content));
  EXPECT_NE(first.find("shared")->data, proven.find("shared")->data);
  const auto three = bench.open(file);
  EXPECT_EQ(must(three.load(chunks)).find("shared")->data, proven.find("shared")->data);
}

TEST(CudaLoader, WhatWasProvenIsFoundForAsLongAsItIsThere) {
  Bench bench;
  const Buffer file = two_methods();
  LoadRequest content;
  content.check = Check::content;
  const auto one = bench.open(file), two = bench.open(file), three = bench.open(file);
  const auto shared = [](const Weights& weights) { return weights.find("shared")->data; };
  for (int round = 0; round < 3; ++round) {
    std::optional first = must(one.load(content));
    std::optional second = must(two.load(content));
    EXPECT_EQ(shared(*first), shared(*second));
    first.reset();  // its memory stays with the second's
    const auto third = must(three.load({}));
    EXPECT_EQ(shared(third), shared(*second));
    EXPECT_EQ(third.report().loaded_bytes, must(bench.open(file).load(content)).report().loaded_bytes);
    second.reset();
  }
  EXPECT_EQ(bench.cache.counters().storages, 0U);
  EXPECT_EQ(bench.driver->gpu().used(), 0U);
}

TEST(CudaLoader, FilesNeverShareZeros) {
  Bench bench;
  const Buffer file = two_methods();
  LoadRequest content;
  content.check = Check::content;
  const auto one = must(bench.open(file).load(content)), two = must(bench.open(file).load(content));
  EXPECT_EQ(one.find("shared")->data, two.find("shared")->data);
  EXPECT_NE(one.find("zeros")->data, two.find("zeros")->data);
}

TEST(CudaLoader, AFailureLeavesNothingBehind) {
  for (const std::string call : {"allocate", "copy", "set_zero"})
    for (int number = 0; number < 3; ++number) {
      Bench bench;
      const auto model = bench.open(two_methods());
      bench.driver->faults.fail_at(call, number);
      const auto weights = model.load({});
      if (weights) {
        EXPECT_LE(bench.driver->faults.calls(call), number) << call;
        continue;
      }
      EXPECT_THAT(weights.error().message, HasSubstr("the fake " + call + " failed"));
      EXPECT_EQ(bench.driver->gpu().used(), 0U) << call << number;
      EXPECT_EQ(bench.cache.counters().storages, 0U);
      EXPECT_EQ(bench.cache.counters().failures, 1U);
      const auto again = must(model.load({}));
      expect_loaded(model, again);
    }
}

TEST(CudaLoader, AFailedLoadTakesNothingFromAStateThatHadIt) {
  Bench bench;
  const auto model = bench.open(two_methods());
  const auto prefill = must(model.load(of_method(model, "prefill")));
  const auto state = prefill.state();
  bench.driver->faults.fail_at("copy", bench.driver->faults.calls("copy"));
  auto request = of_method(model, "decode");
  request.state = &state;
  EXPECT_FALSE(model.load(request));
  EXPECT_EQ(must(model.load(request)).find("cache")->data, prefill.find("cache")->data);
}

TEST(CudaLoader, WithoutPinnedMemoryItIsSlowAndSaysSo) {
  Bench bench;
  bench.driver->faults.fail_at("pin", Faults::always);
  const auto model = bench.open(two_methods());
  const auto weights = must(model.load({}));
  expect_loaded(model, weights);
  EXPECT_THAT(weights.report().notes, testing::Contains(HasSubstr("page-locked")));
  EXPECT_EQ(bench.cache.counters().pinned_bytes, 0U);
}

TEST(CudaLoader, PinnedMemoryIsBoundedAndKept) {
  Bench bench;
  Writer writer;
  put(writer, "w", soft(40 * mib, 1));
  const auto model = bench.open(written(writer));
  for (int i = 0; i < 3; ++i) expect_loaded(model, must(model.load({})));
  EXPECT_LE(bench.driver->faults.calls("pin"), 16);
  EXPECT_LE(bench.cache.counters().pinned_bytes, 16 * mib);
}

TEST(CudaLoader, ACancelledLoadLeavesNothingBehind) {
  Bench bench;
  Writer writer;
  put(writer, "w", soft(20 * mib, 1));
  const auto model = bench.open(written(writer));
  LoadRequest request;
  request.progress = [](std::uint64_t done, std::uint64_t total) { return done < total / 2; };
  EXPECT_EQ(code_of(model.load(request)), "cancelled");
  EXPECT_EQ(bench.driver->gpu().used(), 0U);
}

TEST(CudaLoader, ProgressCountsEveryByteOnce) {
  Bench bench;
  const auto model = bench.open(two_methods());
  std::uint64_t last = 0, all = 0;
  LoadRequest request;
  request.progress = [&](std::uint64_t done, std::uint64_t total) {
    EXPECT_GT(done, last);
    last = done;
    all = total;
    return true;
  };
  const auto weights = must(model.load(request));
  EXPECT_EQ(last, all);
  EXPECT_EQ(all, weights.report().loaded_bytes);
}

TEST(CudaLoader, DamageIsRefusedWithTheFirstFault) {
  Writer writer;
  put(writer, "w", noise(9 * mib, 1));
  const Buffer good = written(writer);
  const auto place = opened(good).layout().segments[0].offset;
  Buffer bad = good;
  bad[place + 8 * mib] ^= std::byte{1};
  bad[place + 5 * mib + 70'000] ^= std::byte{1};
  for (int i = 0; i < 10; ++i) {
    Bench bench;
    const auto weights = bench.open(bad).load({});
    ASSERT_EQ(rule_of(weights), "chunk-data CHK-6");
    EXPECT_EQ(*weights.error().offset, place + 5 * mib + 65'536);
    EXPECT_EQ(bench.driver->gpu().used(), 0U);
  }
}

// Buffers that failed are not kept from threads that wait for one.
TEST(CudaLoader, DamageEverywhereEndsTheLoad) {
  Writer writer;
  put(writer, "w", noise(40 * mib, 1));
  Buffer bad = written(writer, options_of(false, 0, 20));
  const auto place = opened(bad).layout().segments[0].offset;
  for (std::uint64_t chunk = 0; chunk < 40; ++chunk) bad[place + chunk * mib + 5] ^= std::byte{1};
  auto options = Bench::small();
  options.buffer_bytes = 4 * mib;
  options.threads = 32;
  for (int i = 0; i < 20; ++i) {
    Bench bench(options);
    const auto weights = bench.open(bad).load({});
    ASSERT_EQ(rule_of(weights), "chunk-data CHK-6");
    EXPECT_EQ(*weights.error().offset, place);
  }
}

// Each task is a buffer of its own here, there are more threads than buffers, and all have begun before any
// fails.
TEST(CudaLoader, DamagedChunksAsLargeAsBuffersEndTheLoad) {
  Writer writer;
  put(writer, "w", noise(64 * mib, 1));
  Buffer bad = written(writer, options_of(false, 0, 22));
  const auto place = opened(bad).layout().segments[0].offset;
  for (std::uint64_t chunk = 0; chunk < 16; ++chunk) bad[place + chunk * 4 * mib + 5] ^= std::byte{1};
  const auto file = file_like(bad);
  const auto slow = std::make_shared<FunctionSource>(file->size(), [=](std::uint64_t at, MutableBytes to) {
    if (to.size() >= mib) std::this_thread::sleep_for(std::chrono::milliseconds(200));
    return file->read(at, to);
  });
  auto options = Bench::small();
  options.buffer_bytes = 4 * mib;
  options.threads = 16;
  Bench bench(options);
  EXPECT_EQ(rule_of(bench.cache.open(must(Reader::open(slow))).load({})), "chunk-data CHK-6");
  EXPECT_EQ(bench.driver->gpu().used(), 0U);
}

// What a file claims is added up with care, and no more is allocated than the caller allows.
TEST(CudaLoader, ClaimsOfHugeStoragesAreRefused) {
  Writer writer;
  for (int i = 0; i < 16; ++i) {
    const auto storage = must(writer.add_storage(
        {limits::max_bytes, nullptr, Access::mutable_, Origin::stored, Placement::any, std::to_string(i)}));
    must(writer.add_tensor(view_of(storage, std::to_string(i), 8)));
  }
  put(writer, "w", noise(1000));
  Bench bench;
  const auto model = bench.open(written(writer));
  EXPECT_EQ(code_of(model.load({})), "no-memory");
  EXPECT_EQ(bench.driver->gpu().used(), 0U);

  const auto small = bench.open(two_methods());
  LoadRequest request;
  request.max_bytes = 4 * mib;
  EXPECT_EQ(code_of(small.load(request)), "no-memory");
  EXPECT_EQ(bench.driver->faults.calls("allocate"), 0);
  request.max_bytes = 5 * mib;
  expect_loaded(small, must(small.load(request)));
}

TEST(CudaLoader, ProvingFindsWhatHashesOfChunksDoNot) {
  Writer writer;
  put(writer, "w", noise(300'000, 1));
  FileEdit edit(written(writer));
  auto& segment = edit.layout.segments[0];
  edit.stored(segment)[100] ^= std::byte{1};
  edit.rehash_chunks();
  edit.rehash_tables();
  Bench bench;
  const auto model = bench.open(edit.finish());
  must(model.load({}));
  LoadRequest content;
  content.check = Check::content;
  EXPECT_EQ(rule_of(model.load(content)), "content-digest DIG-2");
}

TEST(CudaLoader, OneOfManyThreadsBringsAndAllShare) {
  Bench bench;
  const auto model = bench.open(two_methods());
  std::vector<std::thread> threads;
  for (int i = 0; i < 16; ++i)
    threads.emplace_back([&, i] {
      for (int round = 0; round < 20; ++round) {
        const auto weights = must(model.load(of_method(model, (i + round) % 2 == 0 ? "prefill" : "decode")));
        expect_loaded(model, weights);
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(bench.driver->gpu().used(), 0U);
  EXPECT_EQ(bench.cache.counters().storages, 0U);
  EXPECT_EQ(bench.cache.counters().failures, 0U);
}

TEST(CudaLoader, FailuresAndSharingAtOnce) {
  Bench bench;
  const auto model = bench.open(two_methods());
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&, i] {
      for (int round = 0; round < 20; ++round) {
        LoadRequest request;
        if (i % 2 == 0) request.progress = [](std::uint64_t, std::uint64_t) { return false; };
        const auto weights = model.load(request);
        if (weights)
          expect_loaded(model, *weights);
        else
          EXPECT_EQ(code_of(weights), "cancelled") << "only who cancels is cancelled";
        EXPECT_TRUE(weights || i % 2 == 0);
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(bench.driver->gpu().used(), 0U);
}

TEST(CudaLoader, EachDeviceHasMemoryOfItsOwn) {
  Bench bench;
  const auto model = bench.open(two_methods());
  LoadRequest on_one;
  on_one.device = 1;
  const auto weights = must(model.load(on_one));
  EXPECT_THAT(bench.driver->touched, ElementsAre(1));
  EXPECT_EQ(bench.driver->gpu(0).used(), 0U);
  const auto other = must(model.load({}));
  EXPECT_NE(weights.find("shared")->data, other.find("shared")->data);
  expect_loaded(model, weights);
  expect_loaded(model, other);
}

TEST(CudaLoader, ExternalStoragesAreTheCallers) {
  Writer writer;
  const auto storage =
      must(writer.add_storage({1000, nullptr, Access::mutable_, Origin::external, Placement::any, "x"}));
  must(writer.add_tensor(view_of(storage, "input", 1000)));
  put(writer, "w", noise(100));
  Bench bench;
  const auto model = bench.open(written(writer));
  const auto index = model.reader().model().tensors[*model.reader().model().find_tensor({}, "input")].storage;
  EXPECT_EQ(code_of(model.load({})), "argument");
  auto* memory = must(bench.driver->gpu().allocate(1024));
  LoadRequest request;
  request.external = {{index, memory, 999}};
  EXPECT_THAT(model.load(request).error().message, HasSubstr("999 bytes"));
  request.external = {{index, static_cast<std::byte*>(memory) + 1, 1000}};
  EXPECT_THAT(model.load(request).error().message, HasSubstr("aligned"));
  request.external = {{index, memory, 1000}};
  EXPECT_EQ(must(model.load(request)).find("input")->data, memory);
  std::vector<std::byte> host(2048);
  auto* aligned = reinterpret_cast<void*>((reinterpret_cast<std::uintptr_t>(host.data()) + 255) / 256 * 256);
  request.external = {{index, aligned, 1000}};
  EXPECT_THAT(model.load(request).error().message, HasSubstr("not memory of the device"));
  bench.driver->gpu().release(memory);
}

TEST(CudaLoader, LoadsToAddressesOfTheCaller) {
  Bench bench;
  const auto model = bench.open(two_methods());
  const auto& file = model.reader().model();
  const auto storage = file.tensors[*file.find_tensor({}, "shared")].storage;
  const auto size = file.storages[storage].size;
  auto* memory = static_cast<std::byte*>(must(bench.driver->gpu().allocate(size + 256)));
  std::memset(memory + size, 0x77, 256);
  LoadRequest request;
  request.into = {{storage, memory, size}};
  const auto weights = must(model.load(request));
  EXPECT_EQ(weights.find("shared")->data, memory);
  expect_loaded(model, weights);
  EXPECT_EQ(memory[size], std::byte{0x77}) << "what lies behind is the caller's";
  EXPECT_NE(must(model.load({})).find("shared")->data, memory) << "it is shared with nobody";
  bench.driver->gpu().release(memory);
}

TEST(CudaLoader, TakesMemoryFromAnAllocator) {
  Bench bench;
  std::atomic<int> held = 0;
  Allocator allocator;
  allocator.allocate = [&](std::uint64_t bytes, int) {
    ++held;
    return must(bench.driver->gpu().allocate(bytes));
  };
  allocator.release = [&](void* memory, std::uint64_t, int) {
    --held;
    bench.driver->gpu().release(memory);
  };
  {
    const auto model = bench.open(two_methods());
    LoadRequest request;
    request.allocator = &allocator;
    const auto weights = must(model.load(request));
    EXPECT_GT(held, 0);
    expect_loaded(model, weights);
  }
  EXPECT_EQ(held, 0);
  allocator.allocate = [](std::uint64_t, int) { return nullptr; };
  const auto model = bench.open(two_methods());
  LoadRequest request;
  request.allocator = &allocator;
  EXPECT_EQ(code_of(model.load(request)), "no-memory");
}

TEST(CudaLoader, StoragesForTheHostStayThere) {
  Writer writer;
  Put how;
  how.placement = Placement::host;
  put(writer, "table", noise(10'000, 1), how);
  put(writer, "w", noise(10'000, 2));
  Bench bench;
  const auto model = bench.open(written(writer));
  const auto weights = must(model.load({}));
  EXPECT_TRUE(weights.find("table")->on_host);
  EXPECT_FALSE(weights.find("w")->on_host);
  expect_loaded(model, weights);
  EXPECT_LT(bench.driver->gpu().used(), 20'000U);
}

TEST(CudaLoader, ExternalStoragesForTheHostAreHostMemory) {
  Writer writer;
  const auto storage =
      must(writer.add_storage({1000, nullptr, Access::mutable_, Origin::external, Placement::host, "x"}));
  must(writer.add_tensor(view_of(storage, "input", 1000)));
  Put how;
  how.placement = Placement::host;
  put(writer, "table", noise(1000), how);
  Bench bench;
  const auto model = bench.open(written(writer));
  const auto storage_of = [&](std::string_view name) {
    return model.reader().model().tensors[*model.reader().model().find_tensor({}, name)].storage;
  };
  alignas(256) std::array<std::byte, 1024> host{};
  LoadRequest request;
  request.external = {{storage_of("input"), host.data(), 1000}};
  const auto weights = must(model.load(request));
  EXPECT_EQ(weights.find("input")->data, host.data());
  EXPECT_TRUE(weights.find("input")->on_host);
  request.into = {{storage_of("table"), host.data(), 1000}};
  EXPECT_THAT(model.load(request).error().message, HasSubstr("wants the storage in host memory"));
}

// What one load asked for is no reason for another to fail.
TEST(CudaLoader, ALoadWithoutMemoryFailsNobodyElse) {
  Bench bench;
  const auto model = bench.open(two_methods());
  std::latch is_claimed(1), is_waited_for(1);
  Allocator none;
  none.allocate = [&](std::uint64_t, int) -> void* {
    is_claimed.count_down();
    is_waited_for.wait();
    return nullptr;
  };
  none.release = [](void*, std::uint64_t, int) {};
  std::jthread poor([&] {
    auto request = of_method(model, "prefill");
    request.allocator = &none;
    EXPECT_EQ(code_of(model.load(request)), "no-memory");
  });
  is_claimed.wait();
  auto request = of_method(model, "decode");
  // It brings what is its own before it waits.
  request.progress = [&, once = false](std::uint64_t, std::uint64_t) mutable {
    if (!std::exchange(once, true)) is_waited_for.count_down();
    return true;
  };
  const auto weights = must(model.load(request));
  expect_loaded(model, weights);
  EXPECT_EQ(weights.report().awaited_storages, 0U);
}

TEST(CudaLoader, RequestsThatCannotBeMeantAreRefused) {
  Bench bench;
  const auto model = bench.open(two_methods());
  LoadRequest request;
  request.device = 2;
  EXPECT_EQ(code_of(model.load(request)), "argument");
  request.device = -1;
  EXPECT_EQ(code_of(model.load(request)), "argument");
  request.device = 0;
  request.methods = {2};
  EXPECT_EQ(code_of(model.load(request)), "argument");
  const auto other = bench.open(two_methods());
  const auto state = other.new_state();
  request.methods = {0};
  request.state = &state;
  EXPECT_EQ(code_of(model.load(request)), "argument");
  CacheOptions options;
  options.pinned_bytes = 15 * mib;
  EXPECT_EQ(code_of(make_cache(options, bench.driver)), "argument");
  EXPECT_EQ(bench.driver->gpu().used(), 0U);
}

TEST(CudaLoader, ManySmallStoragesAreFewCopies) {
  Writer writer;
  for (int i = 0; i < 2000; ++i)
    put(writer, "t" + std::to_string(i), noise(100 + i, static_cast<std::uint64_t>(i) + 1));
  Bench bench;
  const auto model = bench.open(written(writer));
  const auto weights = must(model.load({}));
  expect_loaded(model, weights);
  EXPECT_LE(weights.report().copies, 4U);
  EXPECT_EQ(bench.cache.counters().arenas, 1U);
}

// Chunks may be larger than the buffers.
TEST(CudaLoader, LargeChunksComeInParts) {
  for (const bool compress : {false, true}) {
    Writer writer;
    put(writer, "w", soft(17 * mib + 4096, 1));
    auto options = Bench::small();
    options.threads = 3;  // a buffer cannot be shared out evenly
    Bench bench(options);
    const auto model = bench.open(written(writer, options_of(compress, 0, 24)));
    expect_loaded(model, must(model.load({})));
    LoadRequest content;
    content.check = Check::content;
    expect_loaded(model, must(model.load(content)));
  }
}

class CudaLoaderFiles : public file_test::Folder {};

void write(const std::filesystem::path& path, const Buffer& file) {
  file_test::write_file(path, {reinterpret_cast<const char*>(file.data()), file.size()});
}

TEST_F(CudaLoaderFiles, EveryWayOfReadingBringsTheSame) {
  write(in("m.ptd"), two_methods(true));
  for (const auto path : {ReadPath::automatic, ReadPath::mapped, ReadPath::direct, ReadPath::buffered}) {
    Bench bench;
    const auto model = must(bench.cache.open(in("m.ptd")));
    LoadRequest request;
    request.path = path;
    const auto weights = must(model.load(request));
    expect_loaded(model, weights);
    EXPECT_TRUE(path == ReadPath::automatic || weights.report().path == path ||
                !weights.report().notes.empty());
  }
}

TEST_F(CudaLoaderFiles, LoadsOfOneFileShareUntilItChanges) {
  write(in("m.ptd"), two_methods());
  Bench bench;
  const auto one = must(bench.cache.open(in("m.ptd"))), two = must(bench.cache.open(in("m.ptd")));
  const auto first = must(one.load({}));
  EXPECT_EQ(first.find("shared")->data, must(two.load({})).find("shared")->data);
  std::filesystem::last_write_time(in("m.ptd"),
                                   std::filesystem::file_time_type::clock::now() + std::chrono::hours(1));
  const auto three = must(bench.cache.open(in("m.ptd")));
  EXPECT_NE(first.find("shared")->data, must(three.load({})).find("shared")->data);
}

}  // namespace
}  // namespace ptd::cuda
