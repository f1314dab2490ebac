// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// A random model with contents: put together by hand, read, written by the writer, read again. Input:
// decisions.
#include "segment/digest.hpp"
#include "support/assemble.hpp"
#include "support/choices.hpp"
#include "support/require.hpp"
#include "support/target.hpp"
#include "support/whole_file.hpp"
#include "tests/model_samples.hpp"

namespace ptd::fuzz {
namespace {

using Buffer = std::vector<std::byte>;
using samples::Sample;

constexpr unsigned max_content_log2 = 16;

/// Content number `index`: all different, and more or less compressible.
Buffer make_content(std::uint64_t size, std::size_t index, Choices& choices) {
  const auto mask = static_cast<std::byte>(choices.below(256));
  auto state = static_cast<std::uint32_t>(1 + index);
  Buffer bytes(size);
  for (auto& byte : bytes) {
    state = state * 1664525 + 1013904223;
    byte = static_cast<std::byte>(state >> 24) & mask;
  }
  bytes.front() = static_cast<std::byte>(1 + index);
  return bytes;
}

/// Gives the contents bytes and their true digests, which decide their order.
std::vector<Buffer> fill(Sample& sample, Choices& choices) {
  auto& model = sample.model;
  std::vector<Buffer> unsorted;
  for (auto& content : model.contents) {
    unsorted.push_back(make_content(content.size, unsorted.size(), choices));
    content.digest = segment::content_digest(unsorted.back());
  }
  std::vector<Buffer> contents;
  for (const auto i : samples::sort_contents(model)) contents.push_back(std::move(unsorted[i]));
  return contents;
}

/// Pad bits behind a sub-byte tensor that ends inside a byte must be zero; contents here are not made for
/// that.
bool has_pad_bits(const Model& model) {
  return std::ranges::any_of(model.tensors, [&](const Tensor& tensor) {
    return is_sub_byte(tensor.dtype) && model.storages[tensor.storage].content != no_index;
  });
}

/// Pad bits are looked at last, so nothing else may be wrong where they are.
bool is_verified(const Reader& reader) {
  const auto verified = reader.verify({.threads = 1});
  const bool stray_bits =
      has_pad_bits(reader.model()) && !verified && verified.error().code == ErrorCode::pad_bits;
  if (!stray_bits) require_success(verified, "a valid file is verified");
  return succeeded(verified);
}

std::uint64_t stored_bytes(const Layout& layout) {
  std::uint64_t sum = 0;
  for (const auto& segment : layout.segments) sum += segment.stored_size;
  return sum;
}

/// Everything is right with such a file but that some of a segment's bytes belong to no chunk.
void check_surplus(const Model& model, Layout layout, const std::vector<Buffer>& contents,
                   std::uint64_t surplus) {
  const auto exact = stored_bytes(layout);
  auto bytes = payload(model, layout, contents, surplus);
  if (stored_bytes(layout) == exact) return;
  const auto reader = Reader::open(own_memory(whole_file(model, layout, std::move(bytes))));
  require_success(reader, "a chunk table is not looked at before it is needed");
  require(!succeeded(reader->verify({.threads = 1})), "every byte of a segment belongs to a chunk");
}

void run(Bytes input) {
  Choices choices(input);
  const bool compress = choices.flag();
  const samples::Below below = [&](std::uint64_t end) { return choices.below(end); };
  auto sample = samples::ModelMaker(below, max_content_log2).make();
  const auto contents = fill(sample, choices);
  auto layout = samples::make_layout(sample.model, below);
  auto bytes = payload(sample.model, layout, contents);
  const auto file = own_memory(whole_file(sample.model, layout, std::move(bytes)));

  const auto reader = Reader::open(file);
  require_success(reader, "a valid file is opened");
  require(samples::describe(reader->model()) == samples::describe(sample.model),
          "a model is read as it was written");
  if (!is_verified(*reader)) return;
  require(read_everything(*reader), "a verified file can be read");
  require_copy(*reader, compress);
  check_surplus(sample.model, layout, contents, 1 + choices.below(16));
}

}  // namespace

Target roundtrip_target() { return {"roundtrip", run, {96 << 20, 1024}}; }

}  // namespace ptd::fuzz
