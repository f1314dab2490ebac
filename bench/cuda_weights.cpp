// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "cuda_weights.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>

#include "cuda_host.hpp"

namespace ptd::bench {
namespace {

using namespace segment::samples;

Buffer normal_numbers(const Weights& weights) {
  Buffer all(sample_bytes);
  constexpr std::uint64_t part = 2 * mebi;
  parallel(sample_bytes / part, setup().cores, [&](std::uint64_t i) {
    const auto numbers = normal(weights.format, part / weights.format.bytes(), weights.sigma, i + 1);
    std::ranges::copy(numbers, all.begin() + static_cast<std::ptrdiff_t>(i * part));
  });
  return all;
}

// Whole chunks of every size, as the ratios of two sizes are to be those of the same bytes.
Sample repeated(const std::filesystem::path& path) {
  const Mapping file(path);
  constexpr std::uint64_t largest_chunk = std::ranges::max(chunk_sizes);
  const auto distinct =
      std::min<std::uint64_t>(file.bytes().size(), sample_bytes) / largest_chunk * largest_chunk;
  need_that(distinct > 0, path.string() + " is smaller than a chunk of 256 KiB");
  Sample made{Buffer(sample_bytes), distinct};
  for (std::uint64_t at = 0; at < sample_bytes; at += distinct)
    std::ranges::copy(file.bytes().first(std::min(distinct, sample_bytes - at)),
                      made.bytes.begin() + static_cast<std::ptrdiff_t>(at));
  return made;
}

// Two encodings of the same bytes share a sample.
std::string source_of(const Weights& weights) {
  if (!weights.file.empty()) return weights.file.string();
  return std::to_string(weights.format.exponent_bits) + "/" + std::to_string(weights.format.mantissa_bits);
}

std::vector<Weights> files_of(const std::filesystem::path& folder) {
  const std::map<std::string, Encoding> encodings = {{".bf16", Encoding::zstd_rotated2},
                                                     {".fp16", Encoding::zstd_planes2},
                                                     {".f32", Encoding::zstd_rotated4}};
  std::vector<Weights> found;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (const auto known = encodings.find(entry.path().extension()); known != encodings.end())
      found.push_back(
          {.name = entry.path().filename().string(), .encoding = known->second, .file = entry.path()});
  std::ranges::sort(found, {}, &Weights::name);
  need_that(!found.empty(), "PTD_BENCH_WEIGHTS: no .bf16, .fp16 or .f32 file in " + folder.string());
  return found;
}

}  // namespace

const Sample& sample(const Weights& weights) {
  static std::map<std::string, Sample> made;
  Sample& one = made[source_of(weights)];
  if (one.bytes.empty())
    one = weights.file.empty() ? Sample{normal_numbers(weights), sample_bytes} : repeated(weights.file);
  return one;
}

const std::vector<Weights>& synthetic_weights() {
  constexpr double sigma = 0.02, fp8_sigma = 80;  // the format's range is +-448
  static const std::vector<Weights> kinds = {
      {"bf16", Encoding::zstd_planes2, bf16, sigma}, {"bf16-rotated", Encoding::zstd_rotated2, bf16, sigma},
      {"fp16", Encoding::zstd_planes2, fp16, sigma}, {"fp8", Encoding::zstd, fp8_e4m3, fp8_sigma},
      {"fp32", Encoding::zstd_planes4, fp32, sigma}, {"fp32-rotated", Encoding::zstd_rotated4, fp32, sigma}};
  return kinds;
}

const std::vector<Weights>& real_weights() {
  static const std::vector<Weights> found = [] {
    const char* const folder = std::getenv("PTD_BENCH_WEIGHTS");
    return folder != nullptr ? files_of(folder) : std::vector<Weights>();
  }();
  return found;
}

std::vector<Weights> all_weights() {
  auto all = synthetic_weights();
  all.insert(all.end(), real_weights().begin(), real_weights().end());
  return all;
}

}  // namespace ptd::bench
