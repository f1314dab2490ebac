// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include <capnp/any.h>
#include <capnp/message.h>
#include <schema/ptd.capnp.h>

#include <cstring>

#include "wire/capnp_guard.hpp"
#include "wire/messages.hpp"

namespace ptd::wire {
namespace {

std::string_view view(capnp::Text::Reader text) { return {text.cStr(), text.size()}; }
std::string_view view(capnp::Data::Reader data) {
  return {reinterpret_cast<const char*>(data.begin()), data.size()};
}

// Lists of integers lie in the message as the host wants them: little-endian and aligned.
template <class Integer>
std::span<const Integer> view(typename capnp::List<Integer>::Reader list) {
  const auto bytes = capnp::toAny(list).getRawBytes();
  return {reinterpret_cast<const Integer*>(bytes.begin()), list.size()};
}

template <class Element, class List, class Convert>
std::vector<Element> map_list(const List& list, Convert convert) {
  std::vector<Element> out;
  out.reserve(list.size());
  for (const auto& element : list) out.push_back(convert(element));
  return out;
}

// References that may be absent are stored as 1 + index; 0 wraps to no_index.
std::uint32_t optional_index(std::uint32_t stored) { return stored - 1; }

Pair to_pair(schema::Pair::Reader in) {
  return {view(in.getKey()), view(in.getValue()), static_cast<ValueKind>(in.getKind())};
}

std::vector<Pair> to_pairs(capnp::List<schema::Pair>::Reader in) { return map_list<Pair>(in, to_pair); }

Content to_content(schema::Content::Reader in) {
  Content out{in.getSize(), {}};
  const std::uint64_t words[] = {in.getDigest0(), in.getDigest1(), in.getDigest2(), in.getDigest3()};
  std::memcpy(out.digest.data(), words, sizeof words);
  return out;
}

Storage to_storage(schema::Storage::Reader in) {
  return {in.getSize(), optional_index(in.getContent()), static_cast<Access>(in.getAccess()),
          static_cast<Origin>(in.getOrigin()), static_cast<Placement>(in.getPlacement())};
}

Variant to_variant(schema::Variant::Reader in) {
  return {optional_index(in.getBlob()), in.getSm(), in.getPtx(), static_cast<VariantKind>(in.getKind()),
          view(in.getTarget())};
}

Library to_library(schema::Library::Reader in) {
  return {view(in.getName()), map_list<Variant>(in.getVariants(), to_variant), to_pairs(in.getMetadata())};
}

Method to_method(schema::Method::Reader in) {
  return {view(in.getName()), view<std::uint32_t>(in.getTensors()), view<std::uint32_t>(in.getLibraries()),
          view<std::uint32_t>(in.getBlobs()), to_pairs(in.getMetadata())};
}

Tensor to_tensor(schema::Tensor::Reader in) {
  Tensor out;
  out.name = view(in.getName());
  out.owner = {static_cast<OwnerKind>(in.getOwnerKind()), in.getOwner()};
  out.dtype = static_cast<DType>(in.getDtype());
  out.storage = in.getStorage();
  out.storage_offset = in.getStorageOffset();
  // Asking for what is not there costs as much as getting it, and there are very many tensors.
  if (in.hasSizes()) out.sizes = view<std::uint64_t>(in.getSizes());
  if (in.hasStrides()) out.strides = view<std::uint64_t>(in.getStrides());
  if (in.hasScheme()) out.scheme = view(in.getScheme());
  if (in.hasLogicalSizes()) out.logical_sizes = view<std::uint64_t>(in.getLogicalSizes());
  if (in.hasMetadata()) out.metadata = to_pairs(in.getMetadata());
  return out;
}

Blob to_blob(schema::Blob::Reader in) {
  return {view(in.getName()), in.getSize(), optional_index(in.getContent()), view(in.getMediaType()),
          to_pairs(in.getMetadata())};
}

Segment to_segment(schema::Segment::Reader in) {
  Segment out;
  out.content = in.getContent();
  out.encoding = static_cast<Encoding>(in.getEncoding());
  out.alignment_log2 = in.getAlignmentLog2();
  out.chunk_log2 = in.getChunkLog2();
  out.stored_size = in.getStoredSize();
  out.table_hash = in.getTableHash();
  return out;
}

Model to_model(schema::Model::Reader in) {
  Model out;
  out.major = in.getMajor();
  out.minor = in.getMinor();
  out.required_features = in.getRequiredFeatures();
  out.contents = map_list<Content>(in.getContents(), to_content);
  out.storages = map_list<Storage>(in.getStorages(), to_storage);
  out.libraries = map_list<Library>(in.getLibraries(), to_library);
  out.methods = map_list<Method>(in.getMethods(), to_method);
  out.tensors = map_list<Tensor>(in.getTensors(), to_tensor);
  out.blobs = map_list<Blob>(in.getBlobs(), to_blob);
  out.metadata = to_pairs(in.getMetadata());
  return out;
}

Layout to_layout(schema::Layout::Reader in) {
  return {in.getMajor(), in.getMinor(), map_list<Segment>(in.getSegments(), to_segment)};
}

// The walker has seen every word once, so a reader that needs more than twice that is astray.
template <class Root, class Convert>
auto read_message(Words words, Convert convert) {
  return guarded([&] {
    const auto* begin = reinterpret_cast<const capnp::word*>(words.data());
    const kj::ArrayPtr<const capnp::word> segment(begin, words.size());
    capnp::ReaderOptions options;
    options.traversalLimitInWords = 2 * words.size() + 64;
    options.nestingLimit = 16;
    capnp::SegmentArrayMessageReader reader(kj::arrayPtr(&segment, 1), options);
    return convert(reader.getRoot<Root>());
  });
}

}  // namespace

Result<Model> decode_model(Words words) { return read_message<schema::Model>(words, to_model); }
Result<Layout> decode_layout(Words words) { return read_message<schema::Layout>(words, to_layout); }

}  // namespace ptd::wire
