// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "encode.hpp"

#include <bit>
#include <charconv>
#include <stdexcept>

#include "words.hpp"

namespace ptd::conformance {
namespace {

using Json = nlohmann::json;

std::string value_of(const Json& leaf) { return leaf.at("value").get<std::string>(); }

template <class Integer>
Integer number_of(const Json& leaf) {
  const auto text = value_of(leaf);
  Integer value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc() || end != text.data() + text.size())
    throw std::invalid_argument("\"" + text + "\" is no number that fits here");
  return value;
}

template <class Enum>
Enum word_of_leaf(const Json& leaf) {
  const auto found = from_word<Enum>(value_of(leaf));
  if (!found) throw std::invalid_argument("\"" + value_of(leaf) + "\" is none of the words");
  return *found;
}

std::vector<std::uint64_t> numbers_of(const Json& list) {
  std::vector<std::uint64_t> values;
  for (const auto& leaf : list) values.push_back(number_of<std::uint64_t>(leaf));
  return values;
}

std::string bytes_of(const Json& leaf) {
  const auto digits = value_of(leaf);
  std::string bytes;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    unsigned byte = 0;
    std::from_chars(&digits[i], &digits[i] + 2, byte, 16);
    bytes += static_cast<char>(byte);
  }
  return bytes;
}

bool is_none(const Json& leaf) { return leaf.at("type") == "none"; }

SourcePtr source_of(const Json& leaf) {
  if (is_none(leaf)) return nullptr;
  const auto text = bytes_of(leaf);
  const auto bytes = std::as_bytes(std::span(text));
  return own_memory({bytes.begin(), bytes.end()});
}

std::vector<PairSpec> pairs_of(const Json& list) {
  std::vector<PairSpec> pairs;
  for (const auto& pair : list) {
    const auto& value = pair.at("value");
    pairs.push_back({value_of(pair.at("key")), value.at("type") == "hex" ? bytes_of(value) : value_of(value),
                     word_of_leaf<ValueKind>(pair.at("kind"))});
  }
  return pairs;
}

// An index of the description; one that leads nowhere is the writer's to refuse.
template <class Id>
Id id_at(const std::vector<Id>& ids, std::uint64_t index) {
  constexpr auto nowhere = Id{0xFFFFFFFF};
  return index < ids.size() ? ids[index] : nowhere;
}

class Encoder {
 public:
  explicit Encoder(const Json& description) : description_(description) {}

  Result<void> run(const std::filesystem::path& target) {
    PTD_TRY(add_storages());
    PTD_TRY(add_blobs());
    PTD_TRY(add_libraries());
    PTD_TRY(add_methods());
    PTD_TRY(add_tensors());
    PTD_TRY(bind());
    for (auto& pair : pairs_of(description_.at("metadata"))) PTD_TRY(writer_.add_metadata(std::move(pair)));
    PTD_TRY(writer_.write(target, options()));
    return {};
  }

 private:
  [[nodiscard]] WriteOptions options() const {
    const auto& asked = description_.at("options");
    WriteOptions options;
    options.compress = value_of(asked.at("compress")) == "yes";
    options.threads = 1;
    options.chunk_log2 =
        static_cast<unsigned>(std::bit_width(number_of<std::uint64_t>(asked.at("chunk_size")))) - 1;
    return options;
  }

  Result<void> add_storages() {
    for (const auto& storage : description_.at("storages")) {
      StorageSpec spec;
      spec.size = number_of<std::uint64_t>(storage.at("size"));
      spec.content = source_of(storage.at("bytes"));
      spec.access = word_of_leaf<Access>(storage.at("access"));
      spec.origin = word_of_leaf<Origin>(storage.at("origin"));
      spec.placement = word_of_leaf<Placement>(storage.at("placement"));
      spec.label = "description";
      PTD_LET(id, writer_.add_storage(std::move(spec)));
      storages_.push_back(id);
    }
    return {};
  }

  Result<void> add_blobs() {
    for (const auto& blob : description_.at("blobs")) {
      PTD_LET(id, writer_.add_blob({value_of(blob.at("name")), source_of(blob.at("bytes")),
                                    number_of<std::uint64_t>(blob.at("size")),
                                    value_of(blob.at("media_type")), pairs_of(blob.at("metadata"))}));
      blobs_.push_back(id);
    }
    return {};
  }

  Result<void> add_libraries() {
    for (const auto& library : description_.at("libraries")) {
      LibrarySpec spec{value_of(library.at("name")), {}, pairs_of(library.at("metadata"))};
      for (const auto& variant : library.at("variants")) {
        const auto& blob = variant.at("blob");
        spec.variants.push_back(
            {!is_none(blob), is_none(blob) ? BlobId{} : id_at(blobs_, number_of<std::uint64_t>(blob)),
             number_of<std::uint32_t>(variant.at("sm")), number_of<std::uint32_t>(variant.at("ptx")),
             word_of_leaf<VariantKind>(variant.at("kind")), value_of(variant.at("target"))});
      }
      PTD_LET(id, writer_.add_library(std::move(spec)));
      libraries_.push_back(id);
    }
    return {};
  }

  Result<void> add_methods() {
    for (const auto& method : description_.at("methods")) {
      PTD_LET(id, writer_.add_method(value_of(method.at("name")), pairs_of(method.at("metadata"))));
      methods_.push_back(id);
    }
    return {};
  }

  [[nodiscard]] OwnerSpec owner_of(const Json& owner) const {
    const auto kind = word_of_leaf<OwnerKind>(owner.at("kind"));
    if (kind == OwnerKind::model) return OwnerSpec::model();
    const auto index = number_of<std::uint64_t>(owner.at("index"));
    if (kind == OwnerKind::library) return OwnerSpec::library(id_at(libraries_, index));
    return OwnerSpec::method(id_at(methods_, index));
  }

  Result<void> add_tensors() {
    for (const auto& tensor : description_.at("tensors")) {
      TensorSpec spec;
      spec.name = value_of(tensor.at("name"));
      spec.owner = owner_of(tensor.at("owner"));
      const auto dtype = dtype_from_name(value_of(tensor.at("dtype")));
      if (!dtype) throw std::invalid_argument("no dtype has this name");
      spec.dtype = *dtype;
      spec.storage = id_at(storages_, number_of<std::uint64_t>(tensor.at("storage")));
      spec.storage_offset = number_of<std::uint64_t>(tensor.at("storage_offset"));
      spec.sizes = numbers_of(tensor.at("sizes"));
      spec.strides = numbers_of(tensor.at("strides"));
      spec.scheme = value_of(tensor.at("scheme"));
      spec.logical_sizes = numbers_of(tensor.at("logical_sizes"));
      spec.metadata = pairs_of(tensor.at("metadata"));
      PTD_LET(id, writer_.add_tensor(std::move(spec)));
      tensors_.push_back(id);
    }
    return {};
  }

  Result<void> bind() {
    for (std::size_t i = 0; i < methods_.size(); ++i) {
      const auto& method = description_.at("methods")[i];
      PTD_TRY(bind_each(methods_[i], method.at("tensors"), tensors_));
      PTD_TRY(bind_each(methods_[i], method.at("libraries"), libraries_));
      PTD_TRY(bind_each(methods_[i], method.at("blobs"), blobs_));
    }
    return {};
  }

  template <class Id>
  Result<void> bind_each(MethodId method, const Json& list, const std::vector<Id>& ids) {
    for (const auto index : numbers_of(list)) PTD_TRY(writer_.bind(method, id_at(ids, index)));
    return {};
  }

  const Json& description_;
  Writer writer_;
  std::vector<StorageId> storages_;
  std::vector<BlobId> blobs_;
  std::vector<LibraryId> libraries_;
  std::vector<MethodId> methods_;
  std::vector<TensorId> tensors_;
};

}  // namespace

Result<void> encode(const Json& description, const std::filesystem::path& target) {
  return Encoder(description).run(target);
}

}  // namespace ptd::conformance
