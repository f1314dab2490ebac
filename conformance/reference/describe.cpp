// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "describe.hpp"

#include <openssl/evp.h>

#include <array>
#include <string>

#include "words.hpp"

namespace ptd::conformance {
namespace {

constexpr std::uint64_t most_hashed_bytes = std::uint64_t{1} << 24;

Json number(std::uint64_t value) { return leaf("uint", std::to_string(value)); }
Json text(std::string_view value) { return leaf("text", value); }
Json word(std::string_view value) { return leaf("word", value); }
Json none() { return leaf("none", ""); }
Json index(std::uint32_t value) { return value == no_index ? none() : number(value); }

std::string hex_of(Bytes bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const auto byte : bytes) {
    out += digits[std::to_integer<unsigned>(byte) >> 4];
    out += digits[std::to_integer<unsigned>(byte) & 15];
  }
  return out;
}

Json hex(Bytes bytes) { return leaf("hex", hex_of(bytes)); }

template <class Numbers>
Json numbers(const Numbers& values) {
  Json list = Json::array();
  for (const auto value : values) list.push_back(number(value));
  return list;
}

Json pairs(const std::vector<Pair>& metadata) {
  Json list = Json::array();
  for (const auto& pair : metadata) {
    const auto value =
        pair.kind == ValueKind::bytes ? hex(std::as_bytes(std::span(pair.value))) : text(pair.value);
    list.push_back({{"key", text(pair.key)}, {"kind", word(word_of(pair.kind))}, {"value", value}});
  }
  return list;
}

Json sha256(Bytes bytes) {
  std::array<std::byte, 32> digest{};
  EVP_Digest(bytes.data(), bytes.size(), reinterpret_cast<unsigned char*>(digest.data()), nullptr,
             EVP_sha256(), nullptr);
  return hex(digest);
}

class Describer {
 public:
  explicit Describer(const Reader& file) : file_(file), model_(file.model()) {}

  Result<Json> run() {
    Json out = {{"format", format()},
                {"model_id", hex(file_.model_id())},
                {"contents", contents()},
                {"storages", storages()},
                {"libraries", libraries()},
                {"methods", methods()},
                {"metadata", pairs(model_.metadata)},
                {"segments", segments()}};
    PTD_LET(tensors, describe_tensors());
    PTD_LET(blobs, describe_blobs());
    out["tensors"] = std::move(tensors);
    out["blobs"] = std::move(blobs);
    return out;
  }

 private:
  [[nodiscard]] Json format() const {
    return {{"major", number(model_.major)},
            {"minor", number(model_.minor)},
            {"required_features", number(model_.required_features)},
            {"optional_features", number(file_.optional_features())}};
  }

  [[nodiscard]] Json contents() const {
    Json list = Json::array();
    for (const auto& content : model_.contents)
      list.push_back({{"size", number(content.size)}, {"digest", hex(content.digest)}});
    return list;
  }

  [[nodiscard]] Json storages() const {
    Json list = Json::array();
    for (const auto& storage : model_.storages)
      list.push_back({{"size", number(storage.size)},
                      {"content", index(storage.content)},
                      {"access", word(word_of(storage.access))},
                      {"origin", word(word_of(storage.origin))},
                      {"placement", word(word_of(storage.placement))}});
    return list;
  }

  static Json variants(const Library& library) {
    Json list = Json::array();
    for (const auto& variant : library.variants)
      list.push_back({{"blob", index(variant.blob)},
                      {"sm", number(variant.sm)},
                      {"ptx", number(variant.ptx)},
                      {"kind", word(word_of(variant.kind))},
                      {"target", text(variant.target)}});
    return list;
  }

  [[nodiscard]] Json libraries() const {
    Json list = Json::array();
    for (const auto& library : model_.libraries)
      list.push_back({{"name", text(library.name)},
                      {"variants", variants(library)},
                      {"metadata", pairs(library.metadata)}});
    return list;
  }

  [[nodiscard]] Json methods() const {
    Json list = Json::array();
    for (const auto& method : model_.methods)
      list.push_back({{"name", text(method.name)},
                      {"tensors", numbers(method.tensors)},
                      {"libraries", numbers(method.libraries)},
                      {"blobs", numbers(method.blobs)},
                      {"metadata", pairs(method.metadata)}});
    return list;
  }

  [[nodiscard]] Json segments() const {
    Json list = Json::array();
    for (const auto& segment : file_.layout().segments)
      list.push_back({{"content", number(segment.content)},
                      {"encoding", word(encoding_name(segment.encoding))},
                      {"offset", number(segment.offset)},
                      {"stored_size", number(segment.stored_size)},
                      {"chunk_size", number(std::uint64_t{1} << segment.chunk_log2)},
                      {"alignment", number(std::uint64_t{1} << segment.alignment_log2)}});
    return list;
  }

  static Json owner(const Owner& owner) {
    return {{"kind", word(word_of(owner.kind))},
            {"index", owner.kind == OwnerKind::model ? none() : number(owner.index)}};
  }

  Result<Json> describe_tensors() {
    Json list = Json::array();
    for (std::uint32_t i = 0; i < model_.tensors.size(); ++i) {
      const Tensor& tensor = model_.tensors[i];
      PTD_LET(hash, hash_of_tensor(i));
      list.push_back({{"name", text(tensor.name)},
                      {"owner", owner(tensor.owner)},
                      {"dtype", word(dtype_name(tensor.dtype))},
                      {"storage", number(tensor.storage)},
                      {"storage_offset", number(tensor.storage_offset)},
                      {"sizes", numbers(tensor.sizes)},
                      {"strides", numbers(tensor.strides)},
                      {"scheme", text(tensor.scheme)},
                      {"logical_sizes", numbers(tensor.logical_sizes)},
                      {"metadata", pairs(tensor.metadata)},
                      {"sha256", hash}});
    }
    return list;
  }

  Result<Json> hash_of_tensor(std::uint32_t i) {
    const Tensor& tensor = model_.tensors[i];
    const auto size = logical_bytes(tensor);
    if (size > most_hashed_bytes || model_.storages[tensor.storage].origin == Origin::external) return none();
    buffer_.resize(size);
    PTD_TRY(file_.read_tensor(i, buffer_, {true, 1}));
    return sha256(buffer_);
  }

  Result<Json> describe_blobs() {
    Json list = Json::array();
    for (std::uint32_t i = 0; i < model_.blobs.size(); ++i) {
      const Blob& blob = model_.blobs[i];
      PTD_LET(hash, hash_of_blob(i));
      list.push_back({{"name", text(blob.name)},
                      {"size", number(blob.size)},
                      {"content", index(blob.content)},
                      {"media_type", text(blob.media_type)},
                      {"metadata", pairs(blob.metadata)},
                      {"sha256", hash}});
    }
    return list;
  }

  Result<Json> hash_of_blob(std::uint32_t i) {
    if (model_.blobs[i].size > most_hashed_bytes) return none();
    buffer_.resize(model_.blobs[i].size);
    PTD_TRY(file_.read_blob(i, 0, buffer_, {true, 1}));
    return sha256(buffer_);
  }

  const Reader& file_;
  const Model& model_;
  std::vector<std::byte> buffer_;
};

}  // namespace

Json leaf(std::string_view type, std::string_view value) { return {{"type", type}, {"value", value}}; }

Result<Json> describe(const Reader& file) { return Describer(file).run(); }

}  // namespace ptd::conformance
