// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "support/conversion.hpp"

#include <algorithm>

#include "support/require.hpp"
#include "support/scratch_folder.hpp"

namespace ptd::fuzz {
namespace {

// A few bytes can stand for a great many: zeros, shared ranges, strides of 0. To write them all takes as long
// as it takes.
constexpr std::uint64_t max_bytes = std::uint64_t{1} << 24;

bool is_small_enough(std::uint64_t, std::uint64_t total) { return total <= max_bytes; }

std::optional<std::vector<std::byte>> written(Writer& writer) {
  WriteOptions options;
  options.threads = 1;
  options.progress = is_small_enough;
  std::vector<std::byte> bytes;
  if (!succeeded(writer.write(bytes, options))) return std::nullopt;
  return bytes;
}

/// Bytes that an export would have, as far as tensors and blobs go, or more than max_bytes.
std::uint64_t export_bytes(const Model& model) {
  std::uint64_t sum = 0;
  const auto add = [&](std::uint64_t bytes) {
    sum = std::min(sum + std::min(bytes, 2 * max_bytes), 2 * max_bytes);
  };
  for (const auto& tensor : model.tensors) add(logical_bytes(tensor));
  for (const auto& blob : model.blobs) add(blob.size);
  return sum;
}

bool import_into(Writer& writer, Bytes input, const foreign::ImportOptions& options, Bytes data) {
  const auto& folder = ScratchFolder::get();
  const foreign::ImportInput file{options.method, folder.write("input", input)};
  std::vector<std::filesystem::path> beside;
  if (!data.empty()) beside.push_back(folder.write("data", data));
  return succeeded(foreign::import_files(writer, {file}, beside, options));
}

}  // namespace

std::optional<Reader> converted(Bytes input, const foreign::ImportOptions& options, Bytes data) {
  Writer writer;
  if (!import_into(writer, input, options, data)) return std::nullopt;
  auto bytes = written(writer);
  if (!bytes) return std::nullopt;
  auto file = Reader::open(own_memory(std::move(*bytes)));
  require_success(file, "what the writer made is opened");
  require_success(file->verify({.threads = 1}), "what the writer made is verified");
  return std::move(*file);
}

std::optional<std::vector<std::byte>> exported(const Reader& file, Export write) {
  const auto& folder = ScratchFolder::get();
  foreign::ExportOptions options;
  options.threads = 1;
  if (export_bytes(file.model()) > max_bytes || !succeeded(write(file, folder.path("output"), options)))
    return std::nullopt;
  return folder.read("output");
}

}  // namespace ptd::fuzz
