// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Weights to compress and to decode: numbers of a known distribution, and real ones from files.
#pragma once

#include <filesystem>
#include <ptd/layout.hpp>
#include <string>
#include <vector>

#include "tests/segment_samples.hpp"

namespace ptd::bench {

constexpr std::uint64_t kibi = 1024, mebi = kibi * kibi;
constexpr std::uint64_t sample_bytes = 64 * mebi;  // of every kind of weights
constexpr std::uint64_t chunk_sizes[] = {16 * kibi, 32 * kibi, 64 * kibi, 128 * kibi, 256 * kibi};

using Buffer = std::vector<std::byte>;

struct Weights {
  std::string name;
  Encoding encoding;
  segment::samples::FloatFormat format = segment::samples::bf16;
  double sigma = 0;                 ///< of normally distributed numbers
  std::filesystem::path file = {};  ///< of real ones, little-endian elements and nothing else
};

struct Sample {
  Buffer bytes;
  std::uint64_t distinct = 0;  ///< in bytes: real weights are repeated to fill the sample
};

/// Made or read when first asked for, and kept.
const Sample& sample(const Weights& weights);

/// N(0, 0.02), and fp8 so that it fills its format, in the encodings that suit them.
const std::vector<Weights>& synthetic_weights();

/// The files of the folder that PTD_BENCH_WEIGHTS names, in the encodings that the writer chooses. None where
/// it is not set; throws if there is nothing to use.
const std::vector<Weights>& real_weights();

/// The synthetic ones and the real ones.
std::vector<Weights> all_weights();

}  // namespace ptd::bench
