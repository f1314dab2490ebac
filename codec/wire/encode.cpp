// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include <capnp/message.h>
#include <schema/ptd.capnp.h>

#include <cstring>

#include "wire/capnp_guard.hpp"
#include "wire/messages.hpp"

namespace ptd::wire {
namespace {

unsigned count_of(std::size_t size) { return static_cast<unsigned>(size); }
std::uint32_t stored_index(std::uint32_t index) { return index + 1; }

// Empty is null, always [ENC-9]: setters and init are called only for what is there.
template <class Elements, class Init, class Fill>
void fill_list(const Elements& elements, Init init, Fill fill) {
  if (elements.empty()) return;
  auto list = init(count_of(elements.size()));
  for (unsigned i = 0; i < list.size(); ++i) fill(list[i], elements[i]);
}

// Not through Text::Reader, which would want a NUL behind the view.
template <class Init>
void fill_text(std::string_view value, Init init) {
  if (!value.empty()) std::memcpy(init(count_of(value.size())).begin(), value.data(), value.size());
}

template <class Integer, class Init>
void fill_integers(std::span<const Integer> values, Init init) {
  if (values.empty()) return;
  auto list = init(count_of(values.size()));
  for (unsigned i = 0; i < list.size(); ++i) list.set(i, values[i]);
}

void set_pair(schema::Pair::Builder out, const Pair& in) {
  out.setKind(static_cast<std::uint8_t>(in.kind));
  fill_text(in.key, [&](unsigned n) { return out.initKey(n); });
  fill_text(in.value, [&](unsigned n) { return out.initValue(n); });
}

template <class Builder>
void set_metadata(Builder out, const std::vector<Pair>& pairs) {
  fill_list(
      pairs, [&](unsigned n) { return out.initMetadata(n); }, set_pair);
}

void set_content(schema::Content::Builder out, const Content& in) {
  std::uint64_t words[4];
  std::memcpy(words, in.digest.data(), sizeof words);
  out.setSize(in.size);
  out.setDigest0(words[0]);
  out.setDigest1(words[1]);
  out.setDigest2(words[2]);
  out.setDigest3(words[3]);
}

void set_storage(schema::Storage::Builder out, const Storage& in) {
  out.setSize(in.size);
  out.setContent(stored_index(in.content));
  out.setAccess(static_cast<std::uint8_t>(in.access));
  out.setOrigin(static_cast<std::uint8_t>(in.origin));
  out.setPlacement(static_cast<std::uint8_t>(in.placement));
}

void set_variant(schema::Variant::Builder out, const Variant& in) {
  out.setBlob(stored_index(in.blob));
  out.setKind(static_cast<std::uint8_t>(in.kind));
  out.setSm(in.sm);
  out.setPtx(in.ptx);
  fill_text(in.target, [&](unsigned n) { return out.initTarget(n); });
}

void set_library(schema::Library::Builder out, const Library& in) {
  fill_text(in.name, [&](unsigned n) { return out.initName(n); });
  fill_list(
      in.variants, [&](unsigned n) { return out.initVariants(n); }, set_variant);
  set_metadata(out, in.metadata);
}

void set_method(schema::Method::Builder out, const Method& in) {
  fill_text(in.name, [&](unsigned n) { return out.initName(n); });
  fill_integers(in.tensors, [&](unsigned n) { return out.initTensors(n); });
  fill_integers(in.libraries, [&](unsigned n) { return out.initLibraries(n); });
  fill_integers(in.blobs, [&](unsigned n) { return out.initBlobs(n); });
  set_metadata(out, in.metadata);
}

void set_tensor(schema::Tensor::Builder out, const Tensor& in) {
  out.setStorage(in.storage);
  out.setDtype(static_cast<std::uint16_t>(in.dtype));
  out.setOwnerKind(static_cast<std::uint8_t>(in.owner.kind));
  out.setStorageOffset(in.storage_offset);
  out.setOwner(in.owner.index);
  fill_text(in.name, [&](unsigned n) { return out.initName(n); });
  fill_integers(in.sizes, [&](unsigned n) { return out.initSizes(n); });
  fill_integers(in.strides, [&](unsigned n) { return out.initStrides(n); });
  set_metadata(out, in.metadata);
  fill_text(in.scheme, [&](unsigned n) { return out.initScheme(n); });
  fill_integers(in.logical_sizes, [&](unsigned n) { return out.initLogicalSizes(n); });
}

void set_blob(schema::Blob::Builder out, const Blob& in) {
  out.setSize(in.size);
  out.setContent(stored_index(in.content));
  fill_text(in.name, [&](unsigned n) { return out.initName(n); });
  fill_text(in.media_type, [&](unsigned n) { return out.initMediaType(n); });
  set_metadata(out, in.metadata);
}

void set_segment(schema::Segment::Builder out, const Segment& in) {
  out.setContent(in.content);
  out.setEncoding(static_cast<std::uint8_t>(in.encoding));
  out.setAlignmentLog2(in.alignment_log2);
  out.setChunkLog2(in.chunk_log2);
  out.setStoredSize(in.stored_size);
  out.setTableHash(in.table_hash);
}

void set_model(schema::Model::Builder out, const Model& in) {
  out.setMajor(in.major);
  out.setMinor(in.minor);
  out.setRequiredFeatures(in.required_features);
  fill_list(
      in.contents, [&](unsigned n) { return out.initContents(n); }, set_content);
  fill_list(
      in.storages, [&](unsigned n) { return out.initStorages(n); }, set_storage);
  fill_list(
      in.libraries, [&](unsigned n) { return out.initLibraries(n); }, set_library);
  fill_list(
      in.methods, [&](unsigned n) { return out.initMethods(n); }, set_method);
  fill_list(
      in.tensors, [&](unsigned n) { return out.initTensors(n); }, set_tensor);
  fill_list(
      in.blobs, [&](unsigned n) { return out.initBlobs(n); }, set_blob);
  set_metadata(out, in.metadata);
}

void set_layout(schema::Layout::Builder out, const Layout& in) {
  out.setMajor(in.major);
  out.setMinor(in.minor);
  fill_list(
      in.segments, [&](unsigned n) { return out.initSegments(n); }, set_segment);
}

std::vector<std::uint64_t> to_words(kj::ArrayPtr<const capnp::word> words) {
  std::vector<std::uint64_t> out(words.size());
  if (!out.empty()) std::memcpy(out.data(), words.begin(), out.size() * sizeof(std::uint64_t));
  return out;
}

// Cap'n Proto's canonical form of a message without empty lists is PTD's encoding; the walker has
// the last word on that.
template <class Root, class In, class Set>
Result<std::vector<std::uint64_t>> write_message(const In& in, Set set, const StructShape& shape) {
  auto words = guarded([&] {
    capnp::MallocMessageBuilder builder;
    set(builder.initRoot<Root>(), in);
    return to_words(capnp::canonicalize(builder.getRoot<Root>().asReader()));
  });
  if (!words) return words;
  if (auto checked = check_message(*words, shape, Unknown::refused, 0); !checked)
    return fail(ErrorCode::internal, checked.error().rule, "the encoder made: " + checked.error().message);
  return words;
}

}  // namespace

Result<std::vector<std::uint64_t>> encode_model(const Model& model) {
  return write_message<schema::Model>(model, set_model, model_shape);
}
Result<std::vector<std::uint64_t>> encode_layout(const Layout& layout) {
  return write_message<schema::Layout>(layout, set_layout, layout_shape);
}

}  // namespace ptd::wire
