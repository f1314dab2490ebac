// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Models for the tests of wire/ and model/: one that is written out, any number of random ones that obey
// every rule, and a text that holds every field.
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <ptd/layout.hpp>
#include <ptd/limits.hpp>
#include <ptd/model.hpp>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace ptd::samples {

/// A model together with what its views look into.
struct Sample {
  Model model;

  Sample() = default;
  Sample(Sample&&) = default;
  Sample& operator=(Sample&&) = default;
  Sample(const Sample&) = delete;
  Sample& operator=(const Sample&) = delete;
  ~Sample() = default;

  std::string_view text(std::string value) { return texts_.emplace_back(std::move(value)); }
  std::span<const std::uint64_t> numbers(std::vector<std::uint64_t> values) {
    return numbers_.emplace_back(std::move(values));
  }
  std::span<const std::uint32_t> indices(std::vector<std::uint32_t> values) {
    return indices_.emplace_back(std::move(values));
  }

 private:
  std::deque<std::string> texts_;
  std::deque<std::vector<std::uint64_t>> numbers_;
  std::deque<std::vector<std::uint32_t>> indices_;
};

template <class Enum>
std::uint64_t number(Enum value) {
  return static_cast<std::uint64_t>(value);
}

// --- Every field as text ----------------------------------------------------------------------

/// Two models (or layouts) have the same text exactly if they are equal field by field; computed fields of a
/// layout are left out. Strings are printed with their length, so nothing in them can pass for a field.
class Description {
 public:
  explicit Description(const Model& model) {
    field("major", model.major);
    field("minor", model.minor);
    field("required", model.required_features);
    all("content", model.contents);
    all("storage", model.storages);
    all("library", model.libraries);
    all("method", model.methods);
    all("tensor", model.tensors);
    all("blob", model.blobs);
    all("pair", model.metadata);
  }

  explicit Description(const Layout& layout) {
    field("major", layout.major);
    field("minor", layout.minor);
    all("segment", layout.segments);
  }

  [[nodiscard]] std::string text() const { return out_.str(); }

 private:
  template <class Object>
  void all(const char* what, const std::vector<Object>& objects) {
    for (const auto& object : objects) {
      out_ << "\n" << what;
      add(object);
    }
    out_ << "\n" << objects.size() << " of " << what;
  }

  void field(const char* name, std::uint64_t value) { out_ << " " << name << "=" << value; }
  void field(const char* name, std::string_view value) {
    out_ << " " << name << "=" << value.size() << ":" << value;
  }
  template <class Integer>
  void list(const char* name, std::span<const Integer> values) {
    out_ << " " << name << "=[";
    for (const auto value : values) out_ << value << ",";
    out_ << "]";
  }

  void add(const Content& content) {
    field("size", content.size);
    field("digest", to_hex(content.digest));
  }
  void add(const Storage& storage) {
    field("size", storage.size);
    field("content", storage.content);
    field("access", number(storage.access));
    field("origin", number(storage.origin));
    field("placement", number(storage.placement));
  }
  void add(const Variant& variant) {
    field("blob", variant.blob);
    field("kind", number(variant.kind));
    field("sm", variant.sm);
    field("ptx", variant.ptx);
    field("target", variant.target);
  }
  void add(const Library& library) {
    field("name", library.name);
    all("variant", library.variants);
    all("pair", library.metadata);
  }
  void add(const Method& method) {
    field("name", method.name);
    list("tensors", method.tensors);
    list("libraries", method.libraries);
    list("blobs", method.blobs);
    all("pair", method.metadata);
  }
  void add(const Tensor& tensor) {
    field("storage", tensor.storage);
    field("dtype", number(tensor.dtype));
    field("ownerKind", number(tensor.owner.kind));
    field("offset", tensor.storage_offset);
    field("owner", tensor.owner.index);
    field("name", tensor.name);
    list("sizes", tensor.sizes);
    list("strides", tensor.strides);
    all("pair", tensor.metadata);
    field("scheme", tensor.scheme);
    list("logical", tensor.logical_sizes);
  }
  void add(const Blob& blob) {
    field("size", blob.size);
    field("content", blob.content);
    field("name", blob.name);
    field("media", blob.media_type);
    all("pair", blob.metadata);
  }
  void add(const Pair& pair) {
    field("kind", number(pair.kind));
    field("key", pair.key);
    field("value", pair.value);
  }
  void add(const Segment& segment) {
    field("content", segment.content);
    field("encoding", number(segment.encoding));
    field("alignment", segment.alignment_log2);
    field("chunk", segment.chunk_log2);
    field("stored", segment.stored_size);
    field("hash", segment.table_hash);
  }

  std::ostringstream out_;
};

inline std::string describe(const Model& model) { return Description(model).text(); }
inline std::string describe(const Layout& layout) { return Description(layout).text(); }

// --- A model that is written out --------------------------------------------------------------

inline Digest digest_of(unsigned first) {
  Digest digest{};
  for (std::size_t i = 0; i < digest.size(); ++i) digest[i] = static_cast<std::byte>((first + i) & 255);
  return digest;
}

inline Content content_of(std::uint64_t size, unsigned first_digest_byte) {
  return {size, digest_of(first_digest_byte)};
}

inline Tensor tensor_of(Sample& sample, Owner owner, std::string name, DType dtype, std::uint32_t storage,
                        std::vector<std::uint64_t> sizes) {
  Tensor tensor;
  tensor.name = sample.text(std::move(name));
  tensor.owner = owner;
  tensor.dtype = dtype;
  tensor.storage = storage;
  tensor.strides = sample.numbers(contiguous_strides(sizes));
  tensor.sizes = sample.numbers(std::move(sizes));
  return tensor;
}

/// Positions in rich_model().
namespace rich {
inline constexpr std::uint32_t kernels = 0, other_library = 1;              // libraries
inline constexpr std::uint32_t decode = 0, prefill = 1;                     // methods
inline constexpr std::uint32_t code_blob = 0, tokenizer = 1;                // blobs
inline constexpr std::uint32_t bias = 0, scale = 1, weight = 2;             // tensors of the model
inline constexpr std::uint32_t kernel_constant = 3, packed = 4;             // of the libraries
inline constexpr std::uint32_t cache = 5, weight_of_decode = 6, input = 7;  // of the methods
inline constexpr std::uint32_t bias_storage = 0, weight_storage = 1, constant_storage = 2, packed_storage = 3,
                               cache_storage = 4, own_weight_storage = 5, input_storage = 6;
}  // namespace rich

/// A small model with every kind of object, every list and every number of the small tables in use.
inline Sample rich_model() {
  Sample sample;
  auto& model = sample.model;
  model.contents = {content_of(20, 0x11), content_of(48, 0x22), content_of(3, 0x33)};
  model.storages = {
      {20, 0, Access::immutable, Origin::stored, Placement::any},
      {64, 1, Access::immutable, Origin::stored, Placement::any},
      {3, 2, Access::immutable, Origin::stored, Placement::device},
      {288, no_index, Access::immutable, Origin::stored, Placement::any},
      {0, no_index, Access::mutable_, Origin::stored, Placement::device},
      {64, 1, Access::immutable, Origin::stored, Placement::device},
      {16, no_index, Access::mutable_, Origin::external, Placement::host},
  };
  model.libraries = {
      {"kernels",
       {{no_index, 0, 0, VariantKind::regular, "gfx942"},
        {rich::code_blob, 90, 80, VariantKind::regular, {}},
        {no_index, 80, 80, VariantKind::fallback, {}}},
       {{"compiler", "nvcc", ValueKind::text}}},
      {"other", {{}}, {}},
  };
  model.tensors = {
      tensor_of(sample, {}, "bias", DType::float32, rich::bias_storage, {4}),
      tensor_of(sample, {}, "scale", DType::float32, rich::bias_storage, {}),
      tensor_of(sample, {}, "w", DType::float32, rich::weight_storage, {3, 4}),
      tensor_of(sample, {OwnerKind::library, 0}, "c0", DType::uint4, rich::constant_storage, {5}),
      tensor_of(sample, {OwnerKind::library, 1}, "c0", DType::uint8, rich::packed_storage, {2, 144}),
      tensor_of(sample, {OwnerKind::method, 0}, "cache", DType::int64, rich::cache_storage, {2, 0}),
      tensor_of(sample, {OwnerKind::method, 0}, "w", DType::float16, rich::own_weight_storage, {4, 6}),
      tensor_of(sample, {OwnerKind::method, 1}, "in", DType::int32, rich::input_storage, {1, 4}),
  };
  model.tensors[rich::scale].storage_offset = 4;
  model.tensors[rich::weight].metadata = {{"layout", "row-major", ValueKind::text}};
  model.tensors[rich::packed].scheme = "ggml.q4_K";
  model.tensors[rich::packed].logical_sizes = sample.numbers({2, 256});
  model.methods = {
      {"decode", sample.indices({0, 1, 3, 5, 6}), sample.indices({0}), sample.indices({0, 1}), {}},
      {"prefill", sample.indices({0, 2, 4, 7}), sample.indices({1}), {}, {{"max", "4096", ValueKind::json}}},
  };
  model.blobs = {
      {"code.so", 3, 2, "application/x-elf", {}},
      {"tokenizer", 10, no_index, {}, {{"empty", {}, ValueKind::bytes}}},
  };
  model.metadata = {
      {"bytes", {"\0\x80\xFF", 3}, ValueKind::bytes},
      {"json", "{\"a\":[1]}", ValueKind::json},
      {"text", "gr\xC3\xBC\xC3\x9F", ValueKind::text},
  };
  return sample;
}

/// A layout of rich_model() with three encodings.
inline Layout rich_layout() {
  Layout layout;
  layout.segments = {
      {1, Encoding::zstd_planes4, 12, 16, 40, 0x0123456789ABCDEF, 0, 0, 0},
      {2, Encoding::raw, 6, 14, 3, 1, 0, 0, 0},
      {0, Encoding::zstd_rotated2, 8, 24, 20, 0, 0, 0, 0},
  };
  return layout;
}

// --- Random models ----------------------------------------------------------------------------

/// Puts contents in the order of their digests, as files have them, with all that refers to them. Gives where
/// each was before.
inline std::vector<std::uint32_t> sort_contents(Model& model) {
  const auto before = model.contents;
  std::vector<std::uint32_t> order(before.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, {}, [&](std::uint32_t i) { return before[i].digest; });
  std::vector<std::uint32_t> place(order.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    place[order[i]] = i;
    model.contents[i] = before[order[i]];
  }
  const auto move = [&](std::uint32_t& content) {
    if (content != no_index) content = place[content];
  };
  for (auto& storage : model.storages) move(storage.content);
  for (auto& blob : model.blobs) move(blob.content);
  return order;
}

/// Where random models come from: a number below the argument, or any number if that is 0.
using Below = std::function<std::uint64_t(std::uint64_t)>;

inline Below from_seed(std::uint64_t seed) {
  return [random = std::mt19937_64(seed)](std::uint64_t end) mutable {
    return end == 0 ? random() : random() % end;
  };
}

/// Makes a model that obeys every rule. Over some hundred seeds every kind of object, owner, number and
/// corner of a view turns up; a test counts them. Contents have at most 2^max_content_log2 bytes.
class ModelMaker {
 public:
  explicit ModelMaker(Below below, unsigned max_content_log2 = 50)
      : below_(std::move(below)), max_content_log2_(max_content_log2) {}

  Sample make() {
    make_blobs();
    make_libraries();
    for (const auto& name : names(below(4)))
      out_.model.methods.push_back({out_.text(name), {}, {}, {}, metadata()});
    make_tensors();
    size_storages();
    out_.model.contents = contents_;
    sort_contents(out_.model);
    for (std::uint32_t i = 0; i < out_.model.methods.size(); ++i) bind(i);
    out_.model.metadata = metadata();
    return std::move(out_);
  }

 private:
  struct StoragePlan {
    std::uint32_t root;      // the first of the storages that have to be equal but for placement
    std::uint64_t need = 0;  // bytes that views of the root reach
  };

  std::uint64_t below(std::uint64_t end) { return below_(end); }
  bool chance(unsigned percent) { return below(100) < percent; }

  std::string any_bytes(std::size_t length) {
    std::string bytes(length, '\0');
    for (auto& byte : bytes) byte = static_cast<char>(below(256));
    return bytes;
  }

  std::string name() {
    static constexpr const char* words[] = {"w",
                                            "b",
                                            "layers.0.attn.wq.weight",
                                            "gr\xC3\xBC\xC3\x9F",
                                            "\x01\x1B[2J",
                                            "\xF0\x9F\x98\x80",
                                            "../../x",
                                            "_tensor_constant0"};
    switch (below(8)) {
      case 0:
        return std::string(limits::max_name_bytes - 1, 'n') + static_cast<char>('a' + below(26));
      case 1:
        return "x" + std::to_string(below(1000));
      case 2:
        return std::string(1 + below(20), 's');
      default:
        return words[below(8)];
    }
  }

  std::set<std::string> names(std::uint64_t count) {
    std::set<std::string> out;
    for (std::uint64_t i = 0; i < count; ++i) out.insert(name());
    return out;
  }

  std::vector<Pair> metadata() {
    std::vector<Pair> out;
    for (const auto& key : names(chance(60) ? 0 : below(4))) {
      const auto kind = static_cast<ValueKind>(1 + below(3));
      std::string value = kind == ValueKind::bytes ? any_bytes(below(30))
                          : kind == ValueKind::json
                              ? "{\"n\": " + std::to_string(below(100)) + "}"
                              : std::string("t\xC3\xA4xt\0more", 10).substr(0, 3 * below(4));
      out.push_back({out_.text(key), out_.text(std::move(value)), kind});
    }
    return out;
  }

  // At most 2^50 bytes, and a handful of segments stay far below 2^63.
  std::uint32_t any_content() {
    if (!contents_.empty() && chance(40)) return static_cast<std::uint32_t>(below(contents_.size()));
    Content content{1 + below(std::uint64_t{1} << below(max_content_log2_ + 1)), {}};
    for (auto& byte : content.digest) byte = static_cast<std::byte>(below(256));
    if (chance(20)) std::fill(content.digest.begin() + 24, content.digest.end(), std::byte{0});
    content.digest[20] = static_cast<std::byte>(contents_.size() + 1);  // no two are equal
    contents_.push_back(content);
    return static_cast<std::uint32_t>(contents_.size() - 1);
  }

  void make_blobs() {
    for (const auto& name : names(below(4))) {
      Blob blob{out_.text(name), chance(30) ? 0 : below(1000), no_index, {}, metadata()};
      if (chance(60)) {
        blob.content = any_content();
        blob.size += contents_[blob.content].size;
      }
      if (chance(50)) blob.media_type = "application/json";
      out_.model.blobs.push_back(blob);
    }
  }

  std::uint32_t blob_or_none() {
    const auto count = out_.model.blobs.size();
    return count == 0 || chance(30) ? no_index : static_cast<std::uint32_t>(below(count));
  }

  std::vector<Variant> variants() {
    if (chance(30)) return {};
    if (chance(30)) return {{blob_or_none(), 0, 0, VariantKind::regular, {}}};
    std::set<std::tuple<VariantKind, std::uint32_t, std::uint32_t, std::string_view>> keys;
    for (auto i = below(5); i > 0; --i) {
      const auto sm = static_cast<std::uint32_t>(1 + below(120));
      const auto ptx = static_cast<std::uint32_t>(below(sm + 1));
      if (chance(30))
        keys.emplace(VariantKind::regular, 0, 0, chance(50) ? "gfx942" : "gfx90a");
      else
        keys.emplace(VariantKind::regular, sm, ptx, "");
    }
    if (chance(40)) keys.emplace(VariantKind::fallback, 80, 1 + below(80), "");
    std::vector<Variant> out;
    for (const auto& [kind, sm, ptx, target] : keys) out.push_back({blob_or_none(), sm, ptx, kind, target});
    return out;
  }

  void make_libraries() {
    for (const auto& name : names(below(4)))
      out_.model.libraries.push_back({out_.text(name), variants(), metadata()});
  }

  Owner any_owner() {
    const auto libraries = out_.model.libraries.size();
    const auto methods = out_.model.methods.size();
    const auto kind = below(3);
    if (kind == 1 && libraries > 0) return {OwnerKind::library, static_cast<std::uint32_t>(below(libraries))};
    if (kind == 2 && methods > 0) return {OwnerKind::method, static_cast<std::uint32_t>(below(methods))};
    return {};
  }

  void make_tensors() {
    std::set<std::pair<Owner, std::string>> keys;
    for (auto i = below(12); i > 0; --i) {
      const Owner owner = any_owner();  // before the name: a seed makes the same model with every compiler
      keys.emplace(owner, name());
    }
    for (const auto& [owner, name] : keys) {
      Tensor tensor;
      tensor.owner = owner;
      tensor.name = out_.text(name);
      const std::uint64_t need = make_view(tensor);
      tensor.storage = any_storage(tensor);
      auto& root = plans_[plans_[tensor.storage].root];
      root.need = std::max(root.need, need);
      tensor.metadata = metadata();
      out_.model.tensors.push_back(tensor);
    }
  }

  // A method's own tensor of a name that the model has too looks into equal storage, or into the same.
  std::uint32_t any_storage(const Tensor& tensor) {
    const auto next = static_cast<std::uint32_t>(plans_.size());
    if (tensor.owner.kind == OwnerKind::method) {
      if (const auto twin = model_tensor(tensor.name)) {
        const auto storage = out_.model.tensors[*twin].storage;
        if (chance(50)) return storage;
        plans_.push_back({plans_[storage].root});
        return next;
      }
    }
    if (next > 0 && chance(30)) return static_cast<std::uint32_t>(below(next));
    plans_.push_back({next});
    return next;
  }

  [[nodiscard]] std::optional<std::uint32_t> model_tensor(std::string_view name) const {
    for (std::uint32_t i = 0; i < out_.model.tensors.size(); ++i)
      if (out_.model.tensors[i].owner == Owner{} && out_.model.tensors[i].name == name) return i;
    return std::nullopt;
  }

  // Gives the bytes that a storage needs for the view.
  std::uint64_t make_view(Tensor& tensor) {
    tensor.dtype = static_cast<DType>(1 + below(dtype_table.size()));
    if (chance(15)) make_packed(tensor);
    const bool sub_byte = is_sub_byte(tensor.dtype);
    auto sizes = any_sizes();
    const bool empty = std::ranges::count(sizes, 0U) > 0;
    if (empty && chance(50))
      for (auto& size : sizes)
        if (size != 0) size = std::uint64_t{1} << 62;
    auto strides = any_strides(sizes, sub_byte, empty);
    tensor.storage_offset = chance(30) ? 0 : sub_byte ? 8 * below(8) : below(64);
    std::uint64_t end = tensor.storage_offset;
    if (!empty) {
      ++end;
      for (std::size_t i = 0; i < sizes.size(); ++i)
        if (sizes[i] > 1) end += (sizes[i] - 1) * strides[i];
    }
    tensor.sizes = out_.numbers(std::move(sizes));
    tensor.strides = out_.numbers(std::move(strides));
    return (end * dtype_bits(tensor.dtype) + 7) / 8;
  }

  void make_packed(Tensor& tensor) {
    tensor.dtype = DType::uint8;
    tensor.scheme = out_.text(name());
    if (chance(30)) return;
    tensor.logical_sizes =
        chance(20) ? out_.numbers({0, ~std::uint64_t{0}}) : out_.numbers({1 + below(9), 256});
  }

  std::vector<std::uint64_t> any_sizes() {
    if (chance(5)) return {std::uint64_t{1} << 30, std::uint64_t{1} << below(20)};
    const auto rank = chance(85) ? below(5) : below(limits::max_rank + 1);
    std::vector<std::uint64_t> sizes(rank, 1);
    for (auto& size : sizes)
      if (rank < 5 || chance(5)) size = chance(8) ? 0 : 1 + below(6);
    return sizes;
  }

  std::vector<std::uint64_t> any_strides(const std::vector<std::uint64_t>& sizes, bool sub_byte, bool empty) {
    auto strides = contiguous_strides(sizes);
    const auto way = sub_byte ? 0 : below(4);
    if (way == 1) {  // outermost first instead of last
      std::uint64_t stride = 1;
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        strides[i] = stride;
        if (!empty) stride *= sizes[i];
      }
    }
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      if (way == 2 && chance(40)) strides[i] = 0;
      if (way == 3) strides[i] = below(100);
      if ((empty || sizes[i] == 1) && chance(40)) strides[i] = below(0);
    }
    return strides;
  }

  void size_storages() {
    for (std::uint32_t i = 0; i < plans_.size(); ++i) {
      const auto root = plans_[i].root;
      Storage storage;
      if (root == i) {
        storage = {plans_[i].need, no_index, chance(50) ? Access::immutable : Access::mutable_,
                   chance(75) ? Origin::stored : Origin::external, Placement::any};
        if (storage.origin == Origin::stored && chance(70)) {
          storage.content = any_content();
          storage.size = std::max(storage.size, contents_[storage.content].size);
        }
        if (chance(30)) storage.size += below(1000);
      } else {
        storage = out_.model.storages[root];
      }
      storage.placement = static_cast<Placement>(1 + below(3));
      out_.model.storages.push_back(storage);
    }
  }

  std::vector<std::uint32_t> any_of(std::size_t count) {
    std::vector<std::uint32_t> out;
    for (std::uint32_t i = 0; i < count; ++i)
      if (chance(50)) out.push_back(i);
    return out;
  }

  void bind(std::uint32_t index) {
    auto& method = out_.model.methods[index];
    method.libraries = out_.indices(any_of(out_.model.libraries.size()));
    method.blobs = out_.indices(any_of(out_.model.blobs.size()));
    std::vector<std::uint32_t> bound;
    for (const auto i : any_of(out_.model.tensors.size())) {
      const auto& tensor = out_.model.tensors[i];
      const auto owner = tensor.owner;
      const bool own = owner == Owner{OwnerKind::method, index};
      const bool of_library =
          owner.kind == OwnerKind::library && std::ranges::binary_search(method.libraries, owner.index);
      const auto twin = own ? model_tensor(tensor.name) : std::nullopt;
      const bool twice = twin && std::ranges::binary_search(bound, *twin);
      if (owner.kind == OwnerKind::model || of_library || (own && !twice)) bound.push_back(i);
    }
    method.tensors = out_.indices(std::move(bound));
  }

  Below below_;
  unsigned max_content_log2_;
  Sample out_;
  std::vector<Content> contents_;  // unsorted
  std::vector<StoragePlan> plans_;
};

inline Sample random_model(std::uint64_t seed) { return ModelMaker(from_seed(seed)).make(); }

/// A layout of the model that obeys every rule.
inline Layout make_layout(const Model& model, const Below& below) {
  Layout layout;
  for (std::uint32_t i = 0; i < model.contents.size(); ++i) {
    const auto raw = model.contents[i].size;
    Segment segment;
    segment.content = i;
    do segment.encoding = static_cast<Encoding>(1 + below(8));
    while (raw % plane_width(segment.encoding) != 0);
    segment.alignment_log2 = static_cast<std::uint8_t>(6 + below(11));
    segment.chunk_log2 = static_cast<std::uint8_t>(14 + below(11));
    const std::uint64_t chunks = (raw + segment.chunk_bytes() - 1) / segment.chunk_bytes();
    segment.stored_size = is_coded(segment.encoding) ? chunks + below(raw - chunks + 1) : raw;
    segment.table_hash = below(0);
    layout.segments.push_back(segment);
  }
  for (std::size_t i = layout.segments.size(); i > 1; --i)
    std::swap(layout.segments[i - 1], layout.segments[below(i)]);
  return layout;
}

inline Layout random_layout(const Model& model, std::uint64_t seed) {
  return make_layout(model, from_seed(seed));
}

}  // namespace ptd::samples
