// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Payloads of ExecuTorch's CUDA backend. Input: the payload. The named data that it refers to is made up.
#include "foreign/cuda_payload.hpp"

#include <map>

#include "foreign/flat_tensor.hpp"
#include "support/conversion.hpp"
#include "support/require.hpp"
#include "support/target.hpp"

namespace ptd::fuzz {
namespace {

constexpr std::uint64_t max_data_bytes = std::uint64_t{1} << 20;

using Sizes = std::map<std::string, std::uint64_t>;

void require_counted(const foreign::CudaManifest& manifest, std::size_t payload_bytes) {
  require(!manifest.variants.empty(), "a manifest has a variant");
  require(manifest.variants.size() + manifest.entries.size() <= payload_bytes, "what is counted is there");
  for (const auto& entry : manifest.entries)
    require(entry.sizes.size() == entry.strides.size(), "a stride for each size");
}

/// The sizes of what the payload refers to.
Sizes referred_to(const foreign::CudaManifest& manifest) {
  Sizes sizes;
  for (const auto& variant : manifest.variants) sizes.emplace(variant.library_key, 5);
  for (const auto& entry : manifest.entries) sizes.emplace(entry.storage_key, entry.storage_bytes);
  return sizes;
}

/// A FlatTensor file of such data; empty if that is too much or cannot be.
std::vector<std::byte> named_data(const Sizes& wanted) {
  std::vector<foreign::FlatTensorEntry> entries;
  std::vector<std::uint64_t> sizes;
  std::uint64_t sum = 0;
  for (const auto& [key, size] : wanted) {
    if (size > max_data_bytes - sum) return {};
    sum += size;
    entries.push_back({key, static_cast<std::uint32_t>(sizes.size()), std::nullopt});
    sizes.push_back(size);
  }
  const auto plan = foreign::plan_flat_tensor(entries, sizes);
  if (!succeeded(plan)) return {};
  auto file = plan->head;
  for (std::uint64_t i = file.size(); i < plan->file_bytes; ++i) file.push_back(static_cast<std::byte>(i));
  return file;
}

void check_conversion(Bytes payload, const Sizes& wanted) {
  const auto data = named_data(wanted);
  if (data.empty()) return;
  foreign::ImportOptions options;
  options.method = "method";
  options.mutable_globs = {"*cache*"};
  const auto file = converted(payload, options, data);
  if (!file) return;
  exported(*file, foreign::export_flat_tensor);
  exported(*file, foreign::export_safetensors);
}

void run(Bytes input) {
  if (const auto manifest = foreign::parse_cuda_manifest(input); succeeded(manifest)) {
    require_counted(*manifest, input.size());
    check_conversion(input, referred_to(*manifest));
  }
  if (const auto keys = foreign::parse_cuda_key_list(input); succeeded(keys))
    check_conversion(input, {{keys->library_key, 5}, {keys->weights_key, 300}});
}

}  // namespace

Target cuda_target() { return {"cuda", run, {64 << 20, 1024}}; }

}  // namespace ptd::fuzz
