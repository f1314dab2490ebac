// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "support/whole_file.hpp"

#include <algorithm>
#include <ptd/writer.hpp>

#include "cli/model_diff.hpp"
#include "foreign/import_sinks.hpp"
#include "segment/digest.hpp"
#include "support/require.hpp"

namespace ptd::fuzz {
namespace {

using Buffer = std::vector<std::byte>;

constexpr ReadOptions alone{.check = true, .threads = 1};

/// What a call read, or nothing if it found damage; with fewer bytes asked for if there are too many.
template <class Read>
std::optional<Buffer> read_some(std::uint64_t size, Read read) {
  Buffer bytes(std::min(size, max_raw_bytes), std::byte{0xA5});
  if (!succeeded(read(MutableBytes(bytes)))) return std::nullopt;
  return bytes;
}

std::optional<Buffer> read_content(const Reader& reader, std::uint32_t content) {
  return read_some(reader.model().contents[content].size,
                   [&](MutableBytes to) { return reader.read_content(content, 0, to, alone); });
}

/// A storage or blob: its content, then zeros.
void require_padded(Bytes whole, Bytes content) {
  const auto shared = std::min(whole.size(), content.size());
  require(std::ranges::equal(whole.first(shared), content.first(shared)),
          "a storage begins with its content");
  // Not a loop of our own: counting its comparisons took the fuzzers more time than all else.
  require(segment::all_zero(whole.subspan(shared)), "a storage ends with zeros");
}

using Contents = std::vector<std::optional<Buffer>>;

bool agrees(const std::optional<Buffer>& whole, std::uint32_t content, const Contents& contents) {
  static const std::optional<Buffer> nothing = Buffer{};
  const auto& expected = content == no_index ? nothing : contents[content];
  if (whole && expected) require_padded(*whole, *expected);
  return whole && expected;
}

bool read_storages(const Reader& reader, const Contents& contents) {
  bool good = true;
  for (std::uint32_t i = 0; i < reader.model().storages.size(); ++i) {
    const auto& storage = reader.model().storages[i];
    if (storage.origin == Origin::external) continue;
    const auto bytes =
        read_some(storage.size, [&](MutableBytes to) { return reader.read_storage(i, 0, to, alone); });
    good = agrees(bytes, storage.content, contents) && good;
  }
  return good;
}

bool read_blobs(const Reader& reader, const Contents& contents) {
  bool good = true;
  for (std::uint32_t i = 0; i < reader.model().blobs.size(); ++i) {
    const auto& blob = reader.model().blobs[i];
    const auto bytes =
        read_some(blob.size, [&](MutableBytes to) { return reader.read_blob(i, 0, to, alone); });
    good = agrees(bytes, blob.content, contents) && good;
  }
  return good;
}

/// The middle third of each dimension, every second element.
std::vector<Slice> middle_of(const Tensor& tensor) {
  std::vector<Slice> region;
  region.reserve(tensor.sizes.size());
  for (const auto size : tensor.sizes) region.push_back({size / 3, size - size / 3, 2});
  return region;
}

std::uint64_t region_bytes(const Tensor& tensor, const std::vector<Slice>& region) {
  std::uint64_t count = 1;
  for (const auto& part : region) count *= part.count();
  return (count * dtype_bits(tensor.dtype) + 7) / 8;
}

bool read_tensor(const Reader& reader, std::uint32_t index) {
  const auto& tensor = reader.model().tensors[index];
  const auto size = logical_bytes(tensor);
  const bool is_external = reader.model().storages[tensor.storage].origin == Origin::external;
  if (size > max_raw_bytes || is_external) return true;
  Buffer whole(size);
  const bool good = succeeded(reader.read_tensor(index, whole, alone));
  const auto region = middle_of(tensor);
  Buffer middle(region_bytes(tensor, region));
  return succeeded(reader.read_region(index, region, middle, alone)) && good;
}

SourcePtr copy_of(const Reader& reader, bool compress, unsigned threads) {
  Writer writer;
  foreign::PtdUnion all;
  require_success(foreign::add_ptd(writer, reader, "original", all), "a verified file can be copied");
  WriteOptions options;
  options.compress = compress;
  options.threads = threads;
  Buffer bytes;
  require_success(writer.write(bytes, options), "a verified file can be copied");
  return own_memory(std::move(bytes));
}

bool equal(const SourcePtr& a, const SourcePtr& b) {
  return std::ranges::equal(a->in_memory(), b->in_memory());
}

void require_bound(const Model& model, std::uint32_t method) {
  for (const auto tensor : model.methods[method].tensors) {
    const auto& [name, owner] = std::pair(model.tensors[tensor].name, model.tensors[tensor].owner);
    if (owner.kind != OwnerKind::library)
      require(model.find_in_method(method, name) == tensor, "a method finds what it binds");
  }
}

}  // namespace

void require_names(const Model& model) {
  for (std::uint32_t i = 0; i < model.tensors.size(); ++i)
    require(model.find_tensor(model.tensors[i].owner, model.tensors[i].name) == i, "names find tensors");
  for (std::uint32_t i = 0; i < model.libraries.size(); ++i)
    require(model.find_library(model.libraries[i].name) == i, "names find libraries");
  for (std::uint32_t i = 0; i < model.blobs.size(); ++i)
    require(model.find_blob(model.blobs[i].name) == i, "names find blobs");
  for (std::uint32_t i = 0; i < model.methods.size(); ++i) {
    require(model.find_method(model.methods[i].name) == i, "names find methods");
    require_bound(model, i);
  }
}

std::optional<std::uint64_t> raw_bytes(const Reader& reader) {
  std::uint64_t sum = 0;
  for (const auto& content : reader.model().contents) {
    if (content.size > max_raw_bytes - sum) return std::nullopt;
    sum += content.size;
  }
  return sum;
}

bool read_everything(const Reader& reader) {
  Contents contents;
  for (std::uint32_t i = 0; i < reader.model().contents.size(); ++i)
    contents.push_back(read_content(reader, i));
  bool good = std::ranges::all_of(contents, [](const auto& content) { return content.has_value(); });
  good = read_storages(reader, contents) && good;
  good = read_blobs(reader, contents) && good;
  for (std::uint32_t i = 0; i < reader.model().tensors.size(); ++i) good = read_tensor(reader, i) && good;
  return good;
}

void require_copy(const Reader& reader, bool compress) {
  const auto first = copy_of(reader, compress, 1);
  require(equal(first, copy_of(reader, compress, 3)),
          "the bytes written do not depend on the number of threads");
  const auto copy = Reader::open(first);
  require_success(copy, "what the writer made is opened");
  require_success(copy->verify({.threads = 1}), "what the writer made is verified");
  require(cli::diff_models(reader.model(), copy->model()).differences.empty(), "a copy holds the same model");
  require(equal(first, copy_of(*copy, compress, 2)), "a second copy is the first, byte for byte");
}

}  // namespace ptd::fuzz
