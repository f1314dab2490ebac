// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// What the tests of the loader over fake GPUs share: a cache to look into, a model of two methods.
#pragma once

#include <gmock/gmock.h>

#include "cuda/inner.hpp"
#include "tests/cuda_fake.hpp"
#include "tests/write_samples.hpp"

namespace ptd::cuda::cuda_test {

using fake::FakeDriver;
using namespace write_test;

inline constexpr std::uint64_t mib = std::uint64_t{1} << 20;

/// A cache over a driver that the test can look into.
struct Bench {
  explicit Bench(CacheOptions options = small(),
                 std::shared_ptr<FakeDriver> with = std::make_shared<FakeDriver>())
      : driver(std::move(with)), inner(must(make_cache(options, driver))), cache(inner) {}

  static CacheOptions small() {
    CacheOptions options;
    options.pinned_bytes = 16 * mib;
    options.buffer_bytes = mib;
    options.threads = 4;
    return options;
  }

  LoadedModel open(const Buffer& file) { return cache.open(opened(file)); }

  std::shared_ptr<FakeDriver> driver;
  CachePtr inner;
  WeightCache cache;
};

inline LoadRequest of_method(const LoadedModel& model, std::string_view method) {
  LoadRequest request;
  request.methods = {*model.reader().model().find_method(method)};
  return request;
}

inline Bytes elements(const Weights& weights, const DeviceTensor& tensor) {
  must(weights.wait());
  return {static_cast<const std::byte*>(tensor.storage), tensor.storage_bytes};
}

/// Every tensor of the load holds what the file says.
inline void expect_loaded(const LoadedModel& model, const Weights& weights) {
  const auto& reader = model.reader();
  must(weights.wait());
  for (std::uint32_t i = 0; i < reader.model().tensors.size(); ++i) {
    const auto found = weights.tensor(i);
    if (!found) continue;
    Buffer expected(found->storage_bytes);
    must(reader.read_storage(reader.model().tensors[i].storage, 0, expected));
    EXPECT_TRUE(std::ranges::equal(elements(weights, *found), expected)) << reader.model().tensors[i].name;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(found->storage) % 256, 0U);
  }
}

inline Put state(Put how = {}) {
  how.access = Access::mutable_;
  return how;
}

inline constexpr std::uint64_t prefill_bytes = mib, decode_bytes = 200'000;  // that each has for itself

/// Prefill and decode share two weights, two caches of equal bytes and zeros; each has a weight of its own.
inline Buffer two_methods(bool compress = false) {
  Writer writer;
  const auto prefill = must(writer.add_method("prefill")), decode = must(writer.add_method("decode"));
  const auto bind = [&](TensorId tensor, std::initializer_list<MethodId> methods) {
    for (const auto method : methods) must(writer.bind(method, tensor));
  };
  bind(put(writer, "shared", soft(3 * mib + 100, 1)), {prefill, decode});
  bind(put(writer, "shared.too", soft(70'000, 2)), {prefill, decode});
  bind(put(writer, "of.prefill", soft(prefill_bytes, 3)), {prefill});
  bind(put(writer, "of.decode", soft(decode_bytes, 4)), {decode});
  bind(put(writer, "cache", noise(5'000, 5), state({.label = "c"})), {prefill, decode});
  bind(put(writer, "cache.like", noise(5'000, 5), state({.label = "d"})), {prefill, decode});
  bind(put(writer, "zeros", Buffer(100'000)), {prefill, decode});
  return written(writer, options_of(compress));
}

}  // namespace ptd::cuda::cuda_test
