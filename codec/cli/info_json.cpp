// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "cli/info_json.hpp"

#include <nlohmann/json.hpp>

#include "cli/facts.hpp"

namespace ptd::cli {
namespace {

using Json = nlohmann::ordered_json;

Json index_or_null(std::uint32_t index) { return index == no_index ? Json() : Json(index); }

std::string text(std::string_view view) { return std::string(view); }

std::string hex_of(std::string_view bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out;
  for (const char c : bytes) {
    out += digits[static_cast<unsigned char>(c) >> 4];
    out += digits[static_cast<unsigned char>(c) & 15];
  }
  return out;
}

Json pairs_json(const std::vector<Pair>& pairs) {
  constexpr const char* kinds[] = {"", "text", "bytes", "json"};
  Json out = Json::array();
  for (const auto& pair : pairs)
    out.push_back({{"key", text(pair.key)},
                   {"kind", kinds[static_cast<unsigned>(pair.kind)]},
                   {"value", pair.kind == ValueKind::bytes ? hex_of(pair.value) : text(pair.value)}});
  return out;
}

Json contents_json(const Reader& file) {
  Json out = Json::array();
  for (std::uint32_t i = 0; i < file.model().contents.size(); ++i) {
    const auto& content = file.model().contents[i];
    const auto& segment = file.segment_of(i);
    out.push_back({{"size", content.size},
                   {"digest", to_hex(content.digest)},
                   {"encoding", text(encoding_name(segment.encoding))},
                   {"offset", segment.offset},
                   {"stored_size", segment.stored_size},
                   {"chunk_size", segment.chunk_bytes()},
                   {"alignment", segment.alignment()}});
  }
  return out;
}

Json storages_json(const Model& model, const Facts& facts) {
  constexpr const char* placements[] = {"", "any", "host", "device"};
  Json out = Json::array();
  for (std::size_t i = 0; i < model.storages.size(); ++i) {
    const auto& storage = model.storages[i];
    out.push_back({{"size", storage.size},
                   {"content", index_or_null(storage.content)},
                   {"access", storage.access == Access::mutable_ ? "mutable" : "immutable"},
                   {"origin", storage.origin == Origin::external ? "external" : "stored"},
                   {"placement", placements[static_cast<unsigned>(storage.placement)]},
                   {"unreferenced_bytes", facts.unreferenced[i]}});
  }
  return out;
}

Json owner_json(const Model& model, const Owner& owner) {
  switch (owner.kind) {
    case OwnerKind::library:
      return {{"library", text(model.libraries[owner.index].name)}};
    case OwnerKind::method:
      return {{"method", text(model.methods[owner.index].name)}};
    default:
      return "model";
  }
}

Json tensors_json(const Model& model) {
  Json out = Json::array();
  for (const auto& tensor : model.tensors) {
    Json row = {{"name", text(tensor.name)},
                {"owner", owner_json(model, tensor.owner)},
                {"dtype", text(dtype_name(tensor.dtype))},
                {"sizes", std::vector(tensor.sizes.begin(), tensor.sizes.end())},
                {"strides", std::vector(tensor.strides.begin(), tensor.strides.end())},
                {"storage_offset", tensor.storage_offset},
                {"storage", tensor.storage}};
    if (!tensor.scheme.empty()) {
      row["scheme"] = text(tensor.scheme);
      row["logical_sizes"] = std::vector(tensor.logical_sizes.begin(), tensor.logical_sizes.end());
    }
    row["metadata"] = pairs_json(tensor.metadata);
    out.push_back(std::move(row));
  }
  return out;
}

Json methods_json(const Model& model) {
  Json out = Json::array();
  for (const auto& method : model.methods)
    out.push_back({{"name", text(method.name)},
                   {"tensors", std::vector(method.tensors.begin(), method.tensors.end())},
                   {"libraries", std::vector(method.libraries.begin(), method.libraries.end())},
                   {"blobs", std::vector(method.blobs.begin(), method.blobs.end())},
                   {"metadata", pairs_json(method.metadata)}});
  return out;
}

Json variants_json(const Library& library) {
  Json out = Json::array();
  for (const auto& variant : library.variants)
    out.push_back({{"blob", index_or_null(variant.blob)},
                   {"kind", variant.kind == VariantKind::fallback ? "fallback" : "regular"},
                   {"sm", variant.sm},
                   {"ptx", variant.ptx},
                   {"target", text(variant.target)}});
  return out;
}

Json libraries_json(const Model& model) {
  Json out = Json::array();
  for (const auto& library : model.libraries)
    out.push_back({{"name", text(library.name)},
                   {"variants", variants_json(library)},
                   {"metadata", pairs_json(library.metadata)}});
  return out;
}

Json blobs_json(const Model& model) {
  Json out = Json::array();
  for (const auto& blob : model.blobs)
    out.push_back({{"name", text(blob.name)},
                   {"size", blob.size},
                   {"content", index_or_null(blob.content)},
                   {"media_type", text(blob.media_type)},
                   {"metadata", pairs_json(blob.metadata)}});
  return out;
}

Json savings_json(const Facts& facts) {
  return {{"method_by_method_bytes", facts.alone_bytes},
          {"shared_bytes", facts.shared_bytes},
          {"zero_bytes", facts.zero_bytes},
          {"raw_bytes", facts.raw_bytes},
          {"stored_bytes", facts.stored_bytes},
          {"external_bytes", facts.external_bytes},
          {"unreferenced_bytes", facts.unreferenced_bytes}};
}

}  // namespace

std::string info_json(const Reader& file, const std::string& path) {
  const Model& model = file.model();
  const Facts facts = gather_facts(file);
  const Json json = {{"file", path},
                     {"format", "1." + std::to_string(model.minor)},
                     {"model_id", to_hex(file.model_id())},
                     {"file_bytes", file.file_size()},
                     {"savings", savings_json(facts)},
                     {"contents", contents_json(file)},
                     {"storages", storages_json(model, facts)},
                     {"libraries", libraries_json(model)},
                     {"methods", methods_json(model)},
                     {"tensors", tensors_json(model)},
                     {"blobs", blobs_json(model)},
                     {"metadata", pairs_json(model.metadata)}};
  // Paths need not be UTF-8.
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace ptd::cli
