// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// One core's chunk codecs and digests. Every decoded chunk is compared before anything is timed.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstring>

#include "segment/chunk.hpp"
#include "segment/digest.hpp"
#include "segment/planes.hpp"
#include "tests/segment_samples.hpp"

namespace ptd::segment {
namespace {

constexpr std::size_t sample_bytes = std::size_t{32} << 20;  // more than the caches of a core
constexpr double sigma = 0.02;

const std::vector<std::byte>& weights(samples::FloatFormat format) {
  static std::vector<std::pair<unsigned, std::vector<std::byte>>> made;
  const unsigned key = format.exponent_bits << 8 | format.mantissa_bits;
  for (const auto& [known, bytes] : made)
    if (known == key) return bytes;
  // fp8 weights are scaled to fill the format's range of +-448.
  const double spread = format.bytes() == 1 ? 80 : sigma;
  return made.emplace_back(key, samples::normal(format, sample_bytes / format.bytes(), spread)).second;
}

struct Encoded {
  std::vector<std::vector<std::byte>> chunks;
  std::size_t stored = 0;
};

Encoded encode_all(Encoding encoding, Bytes raw, std::size_t chunk) {
  ChunkEncoder encoder;
  Encoded encoded;
  for (std::size_t at = 0; at < raw.size(); at += chunk) {
    const auto stored = encoder.encode(encoding, raw.subspan(at, chunk)).value();
    encoded.chunks.emplace_back(stored.begin(), stored.end());
    encoded.stored += stored.size();
  }
  return encoded;
}

bool decodes(Encoding encoding, const Encoded& encoded, Bytes raw, std::size_t chunk) {
  ChunkDecoder decoder;
  std::vector<std::byte> back(chunk);
  for (std::size_t i = 0; i < encoded.chunks.size(); ++i)
    if (!decoder.decode(encoding, encoded.chunks[i], back) ||
        !std::ranges::equal(back, raw.subspan(i * chunk, chunk)))
      return false;
  return true;
}

void report(benchmark::State& state, std::size_t bytes) {
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes));
}

void encode(benchmark::State& state, Encoding encoding, samples::FloatFormat format) {
  const Bytes raw = weights(format);
  const auto chunk = static_cast<std::size_t>(state.range(0)) << 10;
  ChunkEncoder encoder;
  std::size_t stored = 0;
  for (auto _ : state) {
    stored = 0;
    for (std::size_t at = 0; at < raw.size(); at += chunk)
      stored += encoder.encode(encoding, raw.subspan(at, chunk))->size();
  }
  report(state, raw.size());
  state.counters["ratio"] = static_cast<double>(stored) / static_cast<double>(raw.size());
}

void decode(benchmark::State& state, Encoding encoding, samples::FloatFormat format) {
  const Bytes raw = weights(format);
  const auto chunk = static_cast<std::size_t>(state.range(0)) << 10;
  const Encoded encoded = encode_all(encoding, raw, chunk);
  if (!decodes(encoding, encoded, raw, chunk)) return state.SkipWithError("chunks do not round-trip");
  ChunkDecoder decoder;
  std::vector<std::byte> back(raw.size());
  for (auto _ : state)
    for (std::size_t i = 0; i < encoded.chunks.size(); ++i)
      if (!decoder.decode(encoding, encoded.chunks[i], MutableBytes(back).subspan(i * chunk, chunk)))
        state.SkipWithError("a chunk does not decode");
  report(state, raw.size());
  state.counters["ratio"] = static_cast<double>(encoded.stored) / static_cast<double>(raw.size());
}

void chunk_kib(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgName("KiB")->RangeMultiplier(2)->Range(16, 256)->Unit(benchmark::kMillisecond);
}
void one_chunk_size(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgName("KiB")->Arg(64)->Unit(benchmark::kMillisecond);
}

BENCHMARK_CAPTURE(encode, bf16_planes2, Encoding::zstd_planes2, samples::bf16)->Apply(chunk_kib);
BENCHMARK_CAPTURE(decode, bf16_planes2, Encoding::zstd_planes2, samples::bf16)->Apply(chunk_kib);
BENCHMARK_CAPTURE(encode, bf16_rotated2, Encoding::zstd_rotated2, samples::bf16)->Apply(chunk_kib);
BENCHMARK_CAPTURE(decode, bf16_rotated2, Encoding::zstd_rotated2, samples::bf16)->Apply(chunk_kib);
BENCHMARK_CAPTURE(encode, fp32_planes4, Encoding::zstd_planes4, samples::fp32)->Apply(one_chunk_size);
BENCHMARK_CAPTURE(decode, fp32_planes4, Encoding::zstd_planes4, samples::fp32)->Apply(one_chunk_size);
BENCHMARK_CAPTURE(encode, fp32_rotated4, Encoding::zstd_rotated4, samples::fp32)->Apply(one_chunk_size);
BENCHMARK_CAPTURE(decode, fp32_rotated4, Encoding::zstd_rotated4, samples::fp32)->Apply(one_chunk_size);
BENCHMARK_CAPTURE(encode, fp16_planes2, Encoding::zstd_planes2, samples::fp16)->Apply(one_chunk_size);
BENCHMARK_CAPTURE(decode, fp16_planes2, Encoding::zstd_planes2, samples::fp16)->Apply(one_chunk_size);
BENCHMARK_CAPTURE(encode, fp16_rotated2, Encoding::zstd_rotated2, samples::fp16)->Apply(one_chunk_size);
BENCHMARK_CAPTURE(decode, fp16_rotated2, Encoding::zstd_rotated2, samples::fp16)->Apply(one_chunk_size);
BENCHMARK_CAPTURE(encode, fp8_zstd, Encoding::zstd, samples::fp8_e4m3)->Apply(one_chunk_size);
BENCHMARK_CAPTURE(decode, fp8_zstd, Encoding::zstd, samples::fp8_e4m3)->Apply(one_chunk_size);

// Planes and hashes work on a chunk that has just been read or decoded, so in the cache.
constexpr std::size_t cached_bytes = 64 << 10;

void split(benchmark::State& state, unsigned width, bool rotate) {
  const auto raw = samples::uniform(cached_bytes);
  std::vector<std::byte> planes(raw.size());
  for (auto _ : state) {
    split_planes(raw, planes, width, rotate);
    benchmark::ClobberMemory();
  }
  report(state, raw.size());
}

void merge(benchmark::State& state, unsigned width, bool rotate) {
  const auto planes = samples::uniform(cached_bytes);
  std::vector<std::byte> raw(planes.size());
  for (auto _ : state) {
    merge_planes(planes, raw, width, rotate);
    benchmark::ClobberMemory();
  }
  report(state, raw.size());
}

BENCHMARK_CAPTURE(split, 2, 2, false);
BENCHMARK_CAPTURE(split, 2_rotated, 2, true);
BENCHMARK_CAPTURE(split, 4, 4, false);
BENCHMARK_CAPTURE(split, 4_rotated, 4, true);
BENCHMARK_CAPTURE(split, 8, 8, false);
BENCHMARK_CAPTURE(split, 8_rotated, 8, true);
BENCHMARK_CAPTURE(merge, 2, 2, false);
BENCHMARK_CAPTURE(merge, 2_rotated, 2, true);
BENCHMARK_CAPTURE(merge, 4, 4, false);
BENCHMARK_CAPTURE(merge, 4_rotated, 4, true);
BENCHMARK_CAPTURE(merge, 8, 8, false);
BENCHMARK_CAPTURE(merge, 8_rotated, 8, true);

void bench_xxh3(benchmark::State& state) {
  const auto bytes = samples::uniform(cached_bytes);
  for (auto _ : state) benchmark::DoNotOptimize(xxh3(bytes));
  report(state, bytes.size());
}
BENCHMARK(bench_xxh3)->Name("xxh3");

void bench_hash_leaves(benchmark::State& state) {
  const auto bytes = samples::uniform(std::size_t{1} << 20);
  std::vector<std::byte> leaves(bytes.size() / leaf_bytes * 32);
  for (auto _ : state) {
    hash_leaves(bytes, leaves);
    benchmark::ClobberMemory();
  }
  report(state, bytes.size());
}
BENCHMARK(bench_hash_leaves)->Name("hash_leaves");

void bench_all_zero(benchmark::State& state) {
  const std::vector<std::byte> bytes(cached_bytes);
  for (auto _ : state) benchmark::DoNotOptimize(all_zero(bytes));
  report(state, bytes.size());
}
BENCHMARK(bench_all_zero)->Name("all_zero");

}  // namespace
}  // namespace ptd::segment
