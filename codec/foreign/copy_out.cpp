// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "foreign/copy_out.hpp"

#include <algorithm>

#include "foreign/region_walk.hpp"

namespace ptd::foreign {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t window_bytes = std::uint64_t{16} << 20;
// A view with an order of its own may find one window's bytes all over its storage: fewer windows, fewer
// passes over it.
constexpr std::uint64_t strided_window_bytes = std::uint64_t{64} << 20;

template <class Read>
Result<void> copy_range(std::uint64_t size, const ByteSink& sink, Read read) {
  std::vector<std::byte> buffer;
  for (std::uint64_t at = 0; at < size; at += window_bytes) {
    buffer.resize(std::min(window_bytes, size - at));
    PTD_TRY(read(at, MutableBytes(buffer)));
    PTD_TRY(sink(buffer));
  }
  return {};
}

Result<void> copy_strided(const Reader& file, std::uint32_t index, const ReadOptions& options,
                          const ByteSink& sink) {
  std::vector<std::byte> buffer;
  RegionWalk walk(file.model().tensors[index], strided_window_bytes);
  do {
    buffer.resize(walk.bytes());
    PTD_TRY(file.read_region(index, walk.region(), buffer, options));
    PTD_TRY(sink(buffer));
  } while (walk.next());
  return {};
}

}  // namespace

Result<void> copy_tensor_out(const Reader& file, std::uint32_t index, unsigned threads,
                             const ByteSink& sink) {
  const ReadOptions options{true, threads};
  if (index >= file.model().tensors.size())
    return fail(ErrorCode::argument, "", "there is no tensor " + std::to_string(index));
  const Tensor& tensor = file.model().tensors[index];
  if (!is_contiguous(tensor)) return copy_strided(file, index, options, sink);
  const std::uint64_t begin = tensor.storage_offset * dtype_bits(tensor.dtype) / 8;
  return copy_storage_out(file, tensor.storage, begin, logical_bytes(tensor), threads, sink);
}

Result<void> copy_storage_out(const Reader& file, std::uint32_t storage, std::uint64_t begin,
                              std::uint64_t size, unsigned threads, const ByteSink& sink) {
  return copy_range(size, sink, [&](std::uint64_t at, MutableBytes to) {
    return file.read_storage(storage, begin + at, to, {true, threads});
  });
}

Result<void> copy_blob_out(const Reader& file, std::uint32_t index, unsigned threads, const ByteSink& sink) {
  if (index >= file.model().blobs.size())
    return fail(ErrorCode::argument, "", "there is no blob " + std::to_string(index));
  return copy_range(file.model().blobs[index].size, sink, [&](std::uint64_t at, MutableBytes to) {
    return file.read_blob(index, at, to, {true, threads});
  });
}

Result<void> check_room(const fs::path& target, std::uint64_t needed) {
  std::error_code failed;
  const auto folder = target.has_parent_path() ? target.parent_path() : fs::path(".");
  const auto space = fs::space(folder, failed);
  if (failed || space.available >= needed) return {};
  return fail_on(ErrorCode::io, "", target.string(),
                 "it would have " + std::to_string(needed) + " bytes and only " +
                     std::to_string(space.available) + " are free; make room or choose another folder");
}

}  // namespace ptd::foreign
