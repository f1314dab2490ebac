// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// What the tests of the writer and the reader share: sample bytes, awkward sources, a reference for strided
// reads, and surgery on finished files with their hashes repaired.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <mutex>
#include <ptd/ptd.hpp>
#include <random>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "model/check.hpp"
#include "segment/chunk.hpp"
#include "segment/digest.hpp"
#include "tests/file_fixture.hpp"
#include "wire/checked.hpp"
#include "wire/endian.hpp"
#include "wire/hash.hpp"
#include "wire/header.hpp"
#include "wire/messages.hpp"

namespace ptd::write_test {

using Buffer = std::vector<std::byte>;
using Sizes = std::vector<std::uint64_t>;

// --- results -------------------------------------------------------------------------------------------

/// The value; an error becomes an exception, which GoogleTest reports as a failure.
template <class T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().to_string());
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

/// "ok", or the error's stable name.
template <class T>
std::string code_of(const Result<T>& result) {
  return result ? "ok" : std::string(error_name(result.error().code));
}

/// "ok", or the error's stable name and rule: "chunk-data CHK-6".
template <class T>
std::string rule_of(const Result<T>& result) {
  return result ? "ok" : code_of(result) + " " + std::string(result.error().rule);
}

/// All that a result says of an error, in a line.
template <class T>
std::string outcome(const Result<T>& result) {
  if (result) return "ok";
  const auto& error = result.error();
  return rule_of(result) + " at " + (error.offset ? std::to_string(*error.offset) : "") + ": " +
         error.message;
}

template <class T>
Error error_of(const Result<T>& result) {
  if (!result) return result.error();
  ADD_FAILURE() << "it succeeded";
  return {};
}

// --- bytes ---------------------------------------------------------------------------------------------

inline Buffer bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

inline Buffer bytes(std::initializer_list<unsigned> values) {
  Buffer out;
  for (const auto value : values) out.push_back(static_cast<std::byte>(value));
  return out;
}

/// Bytes that do not compress. Never all zero.
inline Buffer noise(std::size_t size, std::uint64_t seed = 1) {
  std::mt19937_64 random(seed);
  Buffer out(size);
  for (std::size_t i = 0; i < size; i += 8) {
    const std::uint64_t word = random();
    std::memcpy(out.data() + i, &word, std::min<std::size_t>(8, size - i));
  }
  if (size > 0) out.front() |= std::byte{1};
  return out;
}

/// Bytes of which Huffman coding keeps about a quarter. Never all zero.
inline Buffer soft(std::size_t size, std::uint64_t seed = 1) {
  Buffer out = noise(size, seed);
  for (auto& byte : out) byte = (byte & std::byte{3}) | std::byte{60};
  return out;
}

inline Buffer slice(Bytes bytes, std::uint64_t offset, std::uint64_t size) {
  const auto part = bytes.subspan(offset, size);
  return {part.begin(), part.end()};
}

inline std::string hex(Bytes bytes) {
  std::string out;
  for (const auto byte : bytes) {
    constexpr std::string_view digits = "0123456789abcdef";
    out += digits[std::to_integer<unsigned>(byte) >> 4U];
    out += digits[std::to_integer<unsigned>(byte) & 15U];
  }
  return out;
}

// --- sources -------------------------------------------------------------------------------------------

/// A source that is what its functions make of it.
class FunctionSource final : public ByteSource {
 public:
  using Read = std::function<Result<void>(std::uint64_t, MutableBytes)>;
  FunctionSource(std::uint64_t size, Read read, std::string label = "function", bool sequential = false)
      : size_(size), read_(std::move(read)), label_(std::move(label)), sequential_(sequential) {}
  [[nodiscard]] std::uint64_t size() const noexcept override { return size_; }
  [[nodiscard]] Result<void> read(std::uint64_t offset, MutableBytes destination) const override {
    return read_(offset, destination);
  }
  [[nodiscard]] bool sequential() const noexcept override { return sequential_; }
  [[nodiscard]] std::string label() const override { return label_; }

 private:
  std::uint64_t size_;
  Read read_;
  std::string label_;
  bool sequential_;
};

/// The bytes, not in memory as far as the reader of the source knows.
inline SourcePtr file_like(Buffer bytes) {
  auto held = std::make_shared<const Buffer>(std::move(bytes));
  return std::make_shared<FunctionSource>(
      held->size(), [held](std::uint64_t offset, MutableBytes to) -> Result<void> {
        if (offset > held->size() || to.size() > held->size() - offset)
          return fail_at(ErrorCode::io, "", offset, "read past the end");
        std::ranges::copy(Bytes(*held).subspan(offset, to.size()), to.begin());
        return {};
      });
}

/// Fails every read that touches byte `bad`.
inline SourcePtr broken_at(std::uint64_t bad, Buffer bytes) {
  const auto size = bytes.size();
  auto good = file_like(std::move(bytes));
  return std::make_shared<FunctionSource>(size, [=](std::uint64_t offset, MutableBytes to) -> Result<void> {
    if (offset <= bad && bad < offset + to.size()) return fail_at(ErrorCode::io, "", bad, "the disk failed");
    return good->read(offset, to);
  });
}

/// Refuses to be read in any way but once, front to back, by one thread at a time.
inline SourcePtr one_way(Buffer bytes) {
  const auto size = bytes.size();
  auto good = file_like(std::move(bytes));
  auto at = std::make_shared<std::atomic<std::uint64_t>>(0);
  return std::make_shared<FunctionSource>(
      size,
      [=](std::uint64_t offset, MutableBytes to) -> Result<void> {
        if (at->exchange(offset + to.size()) != offset)
          return fail_at(ErrorCode::io, "", offset, "read out of order");
        return good->read(offset, to);
      },
      "one way", true);
}

// --- building ------------------------------------------------------------------------------------------

/// How `put` makes a tensor; the defaults suit most tests.
struct Put {
  DType dtype = DType::uint8;
  std::optional<Sizes> sizes{};    ///< one dimension of all elements if unsaid
  std::optional<Sizes> strides{};  ///< contiguous if unsaid
  std::uint64_t offset = 0;
  OwnerSpec owner{};
  Access access = Access::immutable;
  Placement placement = Placement::any;
  std::string label = "input";
  std::uint64_t size = 0;  ///< of the storage; 0: the content's
  std::vector<PairSpec> metadata{};
};

inline StorageSpec storage_of(SourcePtr content, const Put& how = {}) {
  StorageSpec spec;
  spec.size = how.size != 0 ? how.size : content ? content->size() : 0;
  spec.content = std::move(content);
  spec.access = how.access;
  spec.placement = how.placement;
  spec.label = how.label;
  return spec;
}

inline TensorSpec view_of(StorageId storage, std::string name, std::uint64_t storage_size,
                          const Put& how = {}) {
  TensorSpec spec;
  spec.name = std::move(name);
  spec.owner = how.owner;
  spec.dtype = how.dtype;
  spec.storage = storage;
  spec.storage_offset = how.offset;
  spec.sizes = how.sizes.value_or(Sizes{storage_size * 8 / dtype_bits(how.dtype)});
  spec.strides = how.strides.value_or(contiguous_strides(spec.sizes));
  spec.metadata = how.metadata;
  return spec;
}

inline Result<TensorId> try_put(Writer& writer, const std::string& name, SourcePtr content,
                                const Put& how = {}) {
  auto storage = storage_of(std::move(content), how);
  const auto size = storage.size;
  PTD_LET(id, writer.add_storage(std::move(storage)));
  return writer.add_tensor(view_of(id, name, size, how));
}

/// A tensor in a storage of its own.
inline TensorId put(Writer& writer, const std::string& name, SourcePtr content, const Put& how = {}) {
  return must(try_put(writer, name, std::move(content), how));
}
inline TensorId put(Writer& writer, const std::string& name, Buffer content, const Put& how = {}) {
  return put(writer, name, own_memory(std::move(content)), how);
}

inline WriteOptions options_of(bool compress, unsigned threads = 0, unsigned chunk_log2 = 16,
                               Progress progress = {}) {
  WriteOptions options;
  options.compress = compress;
  options.threads = threads;
  options.chunk_log2 = chunk_log2;
  options.progress = std::move(progress);
  return options;
}

inline Buffer written(Writer& writer, const WriteOptions& options = WriteOptions()) {
  Buffer file;
  must(writer.write(file, options));
  return file;
}

inline Reader opened(Buffer file) { return must(Reader::open(own_memory(std::move(file)))); }

inline std::uint32_t index_of(const Reader& reader, std::string_view name, Owner owner = {}) {
  const auto found = reader.model().find_tensor(owner, name);
  if (!found) throw std::runtime_error("there is no tensor " + std::string(name));
  return *found;
}

inline const Tensor& tensor_of(const Reader& reader, std::string_view name, Owner owner = {}) {
  return reader.model().tensors[index_of(reader, name, owner)];
}

inline Buffer read_all(const Reader& reader, std::uint32_t tensor, const ReadOptions& options = {}) {
  Buffer out(logical_bytes(reader.model().tensors[tensor]), std::byte{0xA5});
  must(reader.read_tensor(tensor, out, options));
  return out;
}
inline Buffer read_all(const Reader& reader, std::string_view name, Owner owner = {}) {
  return read_all(reader, index_of(reader, name, owner));
}

inline std::vector<PairSpec> pair_specs(const std::vector<Pair>& pairs) {
  std::vector<PairSpec> out;
  for (const auto& pair : pairs) out.push_back({std::string(pair.key), std::string(pair.value), pair.kind});
  return out;
}

/// Indices of objects in the order in which the file has their bytes; those without any come last.
template <class Object>
std::vector<std::uint32_t> in_file_order(const Reader& reader, const std::vector<Object>& objects) {
  std::vector<std::uint64_t> places;
  std::vector<std::uint32_t> order;
  for (const auto& object : objects) {
    places.push_back(object.content == no_index ? ~std::uint64_t{0}
                                                : reader.segment_of(object.content).offset);
    order.push_back(static_cast<std::uint32_t>(order.size()));
  }
  std::ranges::stable_sort(order, {}, [&](std::uint32_t i) { return places[i]; });
  return order;
}

/// A writer of all that a file holds.
inline Writer copy_of(const Reader& reader) {
  Writer writer;
  const auto& model = reader.model();
  const auto content_of = [&](std::uint32_t content) {
    return content == no_index ? SourcePtr() : reader.content_source(content);
  };
  std::vector<BlobId> blobs(model.blobs.size());
  for (const auto i : in_file_order(reader, model.blobs)) {
    const auto& blob = model.blobs[i];
    blobs[i] = must(writer.add_blob({std::string(blob.name), content_of(blob.content), blob.size,
                                     std::string(blob.media_type), pair_specs(blob.metadata)}));
  }
  std::vector<StorageId> storages(model.storages.size());
  for (const auto i : in_file_order(reader, model.storages)) {
    const auto& storage = model.storages[i];
    storages[i] = must(writer.add_storage({storage.size, content_of(storage.content), storage.access,
                                           storage.origin, storage.placement, "copy"}));
  }
  std::vector<LibraryId> libraries;
  for (const auto& library : model.libraries) {
    LibrarySpec spec{std::string(library.name), {}, pair_specs(library.metadata)};
    for (const auto& v : library.variants)
      spec.variants.push_back({v.blob != no_index, v.blob != no_index ? blobs[v.blob] : BlobId{}, v.sm, v.ptx,
                               v.kind, std::string(v.target)});
    libraries.push_back(must(writer.add_library(std::move(spec))));
  }
  std::vector<MethodId> methods;
  for (const auto& method : model.methods)
    methods.push_back(must(writer.add_method(std::string(method.name), pair_specs(method.metadata))));
  std::vector<TensorId> tensors;
  for (const auto& tensor : model.tensors) {
    TensorSpec spec;
    spec.name = tensor.name;
    if (tensor.owner.kind == OwnerKind::library)
      spec.owner = OwnerSpec::library(libraries[tensor.owner.index]);
    if (tensor.owner.kind == OwnerKind::method) spec.owner = OwnerSpec::method(methods[tensor.owner.index]);
    spec.dtype = tensor.dtype;
    spec.storage = storages[tensor.storage];
    spec.storage_offset = tensor.storage_offset;
    spec.sizes.assign(tensor.sizes.begin(), tensor.sizes.end());
    spec.strides.assign(tensor.strides.begin(), tensor.strides.end());
    spec.scheme = tensor.scheme;
    spec.logical_sizes.assign(tensor.logical_sizes.begin(), tensor.logical_sizes.end());
    spec.metadata = pair_specs(tensor.metadata);
    tensors.push_back(must(writer.add_tensor(std::move(spec))));
  }
  for (std::size_t i = 0; i < methods.size(); ++i) {
    for (const auto tensor : model.methods[i].tensors) must(writer.bind(methods[i], tensors[tensor]));
    for (const auto library : model.methods[i].libraries) must(writer.bind(methods[i], libraries[library]));
    for (const auto blob : model.methods[i].blobs) must(writer.bind(methods[i], blobs[blob]));
  }
  for (auto& pair : pair_specs(model.metadata)) must(writer.add_metadata(std::move(pair)));
  return writer;
}

// --- a reference for views -----------------------------------------------------------------------------

inline bool bit_at(Bytes bytes, std::uint64_t bit) {
  return (std::to_integer<unsigned>(bytes[bit / 8]) >> (bit % 8) & 1U) != 0;
}

/// The region's elements, row-major and packed, one bit (or whole byte) after the other, by the definition of
/// a view. The storage is zero behind `storage`.
inline Buffer gather_slowly(const Tensor& view, Bytes storage, std::span<const Slice> region) {
  const std::uint64_t bits = dtype_bits(view.dtype), step = bits % 8 == 0 ? 8 : 1;
  std::uint64_t count = 1;
  for (const auto& part : region) count *= part.count();
  Buffer out((count * bits + 7) / 8);
  std::vector<std::uint64_t> index(region.size());
  for (std::uint64_t element = 0; element < count; ++element) {
    std::uint64_t position = view.storage_offset;
    for (std::size_t i = 0; i < region.size(); ++i)
      position += (region[i].start + index[i] * region[i].step) * view.strides[i];
    for (std::uint64_t bit = 0; bit < bits; bit += step) {
      const std::uint64_t from = position * bits + bit, to = element * bits + bit;
      if (from / 8 >= storage.size()) continue;
      if (step == 8)
        out[to / 8] = storage[from / 8];
      else if (bit_at(storage, from))
        out[to / 8] |= std::byte{1} << (to % 8);
    }
    for (std::size_t i = region.size(); i-- > 0;) {
      if (++index[i] < region[i].count()) break;
      index[i] = 0;
    }
  }
  return out;
}

inline std::vector<Slice> whole(std::span<const std::uint64_t> sizes) {
  std::vector<Slice> region;
  for (const auto size : sizes) region.push_back({0, size, 1});
  return region;
}

// --- surgery -------------------------------------------------------------------------------------------

/// A valid file taken apart, to be changed and put together again with correct hashes.
class FileEdit {
 public:
  explicit FileEdit(const Buffer& file)
      : reader(opened(file)),
        model(reader.model()),
        layout(reader.layout()),
        header(must(wire::parse_header(Bytes(file).first(80), file.size(), limits::max_message_bytes))),
        front(slice(file, 0, header.layout_offset)) {}

  const Reader reader;  ///< of the file as it was
  Model model;          ///< its names look into the reader
  Layout layout;
  wire::Header header;
  Buffer front;  ///< everything before the layout

  [[nodiscard]] std::uint64_t raw_size(const Segment& segment) const {
    return model.contents[segment.content].size;
  }

  [[nodiscard]] MutableBytes stored(const Segment& segment) {
    return MutableBytes(front).subspan(segment.offset, segment.stored_size);
  }

  [[nodiscard]] static std::uint64_t entry_bytes(const Segment& segment) {
    return model::table_entry_bytes(segment.encoding);
  }

  /// Word 0: raw hash, 1: stored hash, 2: stored size.
  [[nodiscard]] std::uint64_t entry(const Segment& segment, std::uint64_t chunk, unsigned word) const {
    return wire::load<std::uint64_t>(front, segment.table_offset + chunk * entry_bytes(segment) + 8 * word);
  }
  void set_entry(const Segment& segment, std::uint64_t chunk, unsigned word, std::uint64_t value) {
    wire::store(MutableBytes(front), segment.table_offset + chunk * entry_bytes(segment) + 8 * word, value);
  }

  /// The bytes of a chunk in the file.
  [[nodiscard]] MutableBytes chunk(const Segment& segment, std::uint64_t number) {
    if (!is_coded(segment.encoding)) {
      const auto begin = number << segment.chunk_log2;
      return stored(segment).subspan(begin, std::min(segment.chunk_bytes(), segment.stored_size - begin));
    }
    std::uint64_t begin = 0;
    for (std::uint64_t i = 0; i < number; ++i) begin += entry(segment, i, 2);
    return stored(segment).subspan(begin, entry(segment, number, 2));
  }

  /// Makes the table say what the chunks' bytes are: the stored hash if coded, else the raw hash.
  void rehash_chunks() {
    for (const auto& segment : layout.segments)
      for (std::uint64_t i = 0; i < segment.chunks; ++i)
        set_entry(segment, i, is_coded(segment.encoding) ? 1 : 0, wire::xxh3(chunk(segment, i)));
  }

  void rehash_tables() {
    for (auto& segment : layout.segments)
      segment.table_hash =
          wire::xxh3(Bytes(front).subspan(segment.table_offset, segment.chunks * entry_bytes(segment)));
  }

  /// Lays the segments out anew with other alignments, one after the other and around.
  void align(const std::vector<std::uint8_t>& logs) {
    const Buffer old = front;
    const Layout before = layout;
    std::uint64_t end = wire::header_bytes;
    for (std::size_t i = 0; i < layout.segments.size(); ++i) {
      auto& segment = layout.segments[i];
      segment.alignment_log2 = logs[i % logs.size()];
      segment.offset = *wire::align_up(end, segment.alignment());
      end = segment.offset + segment.stored_size;
    }
    end = *wire::align_up(end, 8);
    for (auto& segment : layout.segments) {
      segment.table_offset = end;
      end += segment.chunks * entry_bytes(segment);
    }
    front.assign(end, std::byte{0});
    for (std::size_t i = 0; i < layout.segments.size(); ++i) {
      const auto &from = before.segments[i], &to = layout.segments[i];
      std::memcpy(front.data() + to.offset, old.data() + from.offset, to.stored_size);
      std::memcpy(front.data() + to.table_offset, old.data() + from.table_offset,
                  to.chunks * entry_bytes(to));
    }
  }

  /// The file, with the messages that `model` and `layout` encode to.
  [[nodiscard]] Buffer finish() const {
    return finish(must(wire::encode_layout(layout)), must(wire::encode_model(model)));
  }

  /// The file with these messages, whatever they are.
  [[nodiscard]] Buffer finish(const std::vector<std::uint64_t>& layout_words,
                              const std::vector<std::uint64_t>& model_words) const {
    const auto layout_bytes = std::as_bytes(std::span(layout_words));
    const auto model_bytes = std::as_bytes(std::span(model_words));
    wire::Header out = header;
    out.layout_offset = front.size();
    out.layout_size = layout_bytes.size();
    out.model_size = model_bytes.size();
    out.layout_hash = wire::xxh3(layout_bytes);
    out.model_hash = wire::xxh3(model_bytes);
    Buffer file = front;
    std::ranges::copy(wire::encode_header(out), file.begin());
    file.insert(file.end(), layout_bytes.begin(), layout_bytes.end());
    file.insert(file.end(), model_bytes.begin(), model_bytes.end());
    return file;
  }
};

/// Opens and verifies: the code of the first that fails, or "ok".
inline std::string check_code(SourcePtr source, unsigned threads = 1) {
  const auto reader = Reader::open(std::move(source));
  if (!reader) return code_of(reader);
  return code_of(reader->verify({threads, {}}));
}
inline std::string check_code(const Buffer& file, unsigned threads = 1) {
  return check_code(borrow_memory(file), threads);
}

}  // namespace ptd::write_test
