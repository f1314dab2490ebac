// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// One function a kind of object, in schema order; each checks its fields in schema order.
#include <algorithm>
#include <ptd/limits.hpp>
#include <tuple>

#include "model/check.hpp"

namespace ptd::model {
namespace {

// Subjects of errors are made only when there is an error: a manifest has hundreds of thousands of objects.
struct Subject {
  std::string_view what;
  std::size_t number;
  operator std::string() const { return std::string(what) + " " + std::to_string(number); }
};
std::string to_text(const Subject& subject) { return subject; }
std::string to_text(std::string_view subject) { return std::string(subject); }
std::string to_text(const Digest& digest) { return to_hex(digest); }

std::string in_quotes(std::string_view name) { return "\"" + escaped(name) + "\""; }
std::string numbered(std::string_view what, std::size_t i) {
  return std::string(what) + " " + std::to_string(i);
}

template <class Enum>
std::uint64_t number(Enum value) {
  return static_cast<std::uint64_t>(value);
}

bool is_listed(std::uint64_t value, std::uint64_t last) { return value >= 1 && value <= last; }

template <class Name>
Failure unlisted(std::uint64_t value, std::string_view rule, const Name& subject, std::string_view table) {
  return fail_on(ErrorCode::unlisted_number, rule, to_text(subject),
                 "number " + std::to_string(value) + " is not in the table of " + std::string(table));
}

Result<void> check_count(std::uint64_t count, std::uint64_t limit, std::string_view what) {
  if (count <= limit) return {};
  return fail(ErrorCode::limit, "LIM-1",
              std::to_string(count) + " " + std::string(what) + " are over the format's limit of " +
                  std::to_string(limit));
}

// Strictly ascending lists: an equal neighbour is a duplicate, a smaller one is out of order.
template <class Key, class Name>
Result<void> check_ascending(const Key& before, const Key& now, std::string_view rule, const Name& named,
                             std::string_view what) {
  const auto order = before <=> now;
  if (order < 0) return {};
  const std::string subject = to_text(named);
  if (order == 0)
    return fail_on(ErrorCode::duplicate, rule, subject,
                   "duplicate " + std::string(what) + " " + in_quotes(subject));
  return fail_on(ErrorCode::order, rule, subject,
                 std::string(what) + " " + in_quotes(subject) + " is out of order");
}

class ModelCheck {
 public:
  ModelCheck(const Model& model, const Version& version) : model_(model), version_(version) {}

  Result<void> run() {
    PTD_TRY(check_version());
    PTD_TRY(check_counts());
    PTD_TRY(check_contents());
    PTD_TRY(check_storages());
    PTD_TRY(check_libraries());
    PTD_TRY(check_methods());
    PTD_TRY(check_tensors());
    PTD_TRY(check_blobs());
    PTD_TRY(check_metadata(model_.metadata, "the file"));
    PTD_TRY(check_bindings());
    PTD_TRY(check_repeated_names());
    PTD_TRY(check_storage_order());
    return check_contents_used();
  }

 private:
  [[nodiscard]] Result<void> check_version() const {
    if (model_.major == version_.major && model_.minor == version_.minor &&
        model_.required_features == version_.required_features)
      return {};
    return fail(ErrorCode::version_mismatch, "VER-1",
                "the model's version or feature bits are not those of the header; one of them was changed");
  }

  [[nodiscard]] Result<void> check_counts() const {
    PTD_TRY(check_count(model_.contents.size(), limits::max_contents, "contents"));
    PTD_TRY(check_count(model_.storages.size(), limits::max_storages, "storages"));
    PTD_TRY(check_count(model_.libraries.size(), limits::max_libraries, "libraries"));
    PTD_TRY(check_count(model_.methods.size(), limits::max_methods, "methods"));
    PTD_TRY(check_count(model_.tensors.size(), limits::max_tensors, "tensors"));
    return check_count(model_.blobs.size(), limits::max_blobs, "blobs");
  }

  // Contents.

  [[nodiscard]] Result<void> check_contents() const {
    for (std::size_t i = 0; i < model_.contents.size(); ++i) {
      const auto size = model_.contents[i].size;
      if (size == 0 || size > limits::max_bytes)
        return fail_on(ErrorCode::size, "CON-1", numbered("content", i),
                       "a content cannot have " + std::to_string(size) + " bytes");
      if (i > 0)
        PTD_TRY(check_ascending(model_.contents[i - 1].digest, model_.contents[i].digest, "CON-2",
                                model_.contents[i].digest, "content"));
    }
    return {};
  }

  // What storages and blobs have in common: a size, and a content that fits in it.
  template <class Name>
  [[nodiscard]] Result<void> check_extent(std::uint64_t size, std::uint32_t content,
                                          const Name& subject) const {
    if (size > limits::max_bytes)
      return fail_on(ErrorCode::size, "STO-1", to_text(subject),
                     std::to_string(size) + " bytes are over the limit of 2^60");
    if (content == no_index) return {};
    if (content >= model_.contents.size())
      return fail_on(ErrorCode::reference, "STO-2", to_text(subject),
                     "there is no content " + std::to_string(content));
    if (model_.contents[content].size > size)
      return fail_on(ErrorCode::size, "STO-3", to_text(subject),
                     "its content is larger than its " + std::to_string(size) + " bytes");
    return {};
  }

  // Storages.

  [[nodiscard]] Result<void> check_storages() const {
    for (std::size_t i = 0; i < model_.storages.size(); ++i)
      PTD_TRY(check_storage(model_.storages[i], Subject{"storage", i}));
    return {};
  }

  [[nodiscard]] Result<void> check_storage(const Storage& storage, const Subject& subject) const {
    PTD_TRY(check_extent(storage.size, storage.content, subject));
    if (!is_listed(number(storage.access), 2))
      return unlisted(number(storage.access), "STO-4", subject, "accesses");
    if (!is_listed(number(storage.origin), 2))
      return unlisted(number(storage.origin), "STO-4", subject, "origins");
    if (!is_listed(number(storage.placement), 3))
      return unlisted(number(storage.placement), "STO-4", subject, "placements");
    if (storage.origin == Origin::external && storage.content != no_index)
      return fail_on(ErrorCode::external, "STO-5", to_text(subject), "an external storage has a content");
    return {};
  }

  // Libraries.

  [[nodiscard]] Result<void> check_libraries() {
    for (std::size_t i = 0; i < model_.libraries.size(); ++i) {
      const auto& library = model_.libraries[i];
      PTD_TRY(check_name(library.name, "library"));
      PTD_TRY(check_variants(library));
      PTD_TRY(check_metadata(library.metadata, library.name));
      if (i > 0)
        PTD_TRY(
            check_ascending(model_.libraries[i - 1].name, library.name, "NAM-2", library.name, "library"));
    }
    return {};
  }

  [[nodiscard]] Result<void> check_variants(const Library& library) const {
    const auto& variants = library.variants;
    if (variants.size() > limits::max_variants)
      return fail_on(ErrorCode::limit, "LIM-1", library.name, "it has more than 256 variants");
    for (std::size_t i = 0; i < variants.size(); ++i) {
      PTD_TRY(check_variant(variants[i], library.name, variants.size()));
      if (i > 0) PTD_TRY(check_variant_order(variants[i - 1], variants[i], library.name));
    }
    return {};
  }

  [[nodiscard]] Result<void> check_variant(const Variant& variant, std::string_view library,
                                           std::size_t count) const {
    if (variant.blob != no_index && variant.blob >= model_.blobs.size())
      return fail_on(ErrorCode::reference, "LIB-1", library,
                     "there is no blob " + std::to_string(variant.blob));
    if (!is_listed(number(variant.kind), 2))
      return unlisted(number(variant.kind), "LIB-2", library, "variant kinds");
    if (!variant.target.empty()) PTD_TRY(check_name(variant.target, "target"));
    const bool targets_cuda = variant.sm != 0 || variant.ptx != 0;
    const bool untargeted = !targets_cuda && variant.target.empty();
    if (variant.ptx > variant.sm || (targets_cuda && !variant.target.empty()) || (untargeted && count > 1) ||
        (variant.kind == VariantKind::fallback && variant.ptx == 0))
      return fail_on(ErrorCode::variant, "LIB-3", library,
                     "the architecture of one of its variants cannot be");
    return {};
  }

  [[nodiscard]] static Result<void> check_variant_order(const Variant& before, const Variant& now,
                                                        std::string_view library) {
    const auto key = [](const Variant& v) { return std::tuple(v.kind, v.sm, v.ptx, v.target); };
    PTD_TRY(check_ascending(key(before), key(now), "LIB-4", library, "variant of library"));
    if (before.kind == VariantKind::fallback)
      return fail_on(ErrorCode::variant, "LIB-5", library, "it has more than one fallback variant");
    return {};
  }

  // Methods.

  [[nodiscard]] Result<void> check_methods() {
    for (std::size_t i = 0; i < model_.methods.size(); ++i) {
      const auto& method = model_.methods[i];
      PTD_TRY(check_name(method.name, "method"));
      PTD_TRY(check_indices(method.tensors, model_.tensors.size(), method.name, "tensor"));
      PTD_TRY(check_indices(method.libraries, model_.libraries.size(), method.name, "library"));
      PTD_TRY(check_indices(method.blobs, model_.blobs.size(), method.name, "blob"));
      PTD_TRY(check_metadata(method.metadata, method.name));
      if (i > 0)
        PTD_TRY(check_ascending(model_.methods[i - 1].name, method.name, "NAM-2", method.name, "method"));
    }
    return {};
  }

  [[nodiscard]] static Result<void> check_indices(std::span<const std::uint32_t> indices, std::size_t count,
                                                  std::string_view method, std::string_view what) {
    for (std::size_t i = 0; i < indices.size(); ++i) {
      if (indices[i] >= count)
        return fail_on(ErrorCode::reference, "MTH-1", method, "there is no " + numbered(what, indices[i]));
      if (i > 0 && indices[i - 1] >= indices[i])
        return check_ascending(indices[i - 1], indices[i], "MTH-2", method,
                               numbered(what, indices[i]) + " in method");
    }
    return {};
  }

  // Tensors.

  [[nodiscard]] Result<void> check_tensors() {
    for (std::size_t i = 0; i < model_.tensors.size(); ++i) {
      const auto& tensor = model_.tensors[i];
      PTD_TRY(check_tensor(tensor));
      if (i > 0) {
        const auto& before = model_.tensors[i - 1];
        PTD_TRY(check_ascending(std::tie(before.owner, before.name), std::tie(tensor.owner, tensor.name),
                                "TEN-4", tensor.name, "tensor name"));
      }
    }
    return {};
  }

  [[nodiscard]] Result<void> check_tensor(const Tensor& tensor) {
    if (tensor.storage >= model_.storages.size())
      return fail_on(ErrorCode::reference, "TEN-1", tensor.name,
                     "there is no storage " + std::to_string(tensor.storage));
    if (!is_listed(number(tensor.dtype), dtype_table.size()))
      return unlisted(number(tensor.dtype), "TEN-2", tensor.name, "dtypes");
    PTD_TRY(check_owner(tensor));
    PTD_TRY(check_name(tensor.name, "tensor"));
    PTD_TRY(check_view(tensor, model_.storages[tensor.storage].size));
    PTD_TRY(check_metadata(tensor.metadata, tensor.name));
    return check_packed(tensor);
  }

  [[nodiscard]] Result<void> check_owner(const Tensor& tensor) const {
    if (!is_listed(number(tensor.owner.kind), 3))
      return unlisted(number(tensor.owner.kind), "TEN-3", tensor.name, "owner kinds");
    const std::size_t owners = tensor.owner.kind == OwnerKind::model     ? 1
                               : tensor.owner.kind == OwnerKind::library ? model_.libraries.size()
                                                                         : model_.methods.size();
    if (tensor.owner.index < owners) return {};
    return fail_on(ErrorCode::owner, "TEN-3", tensor.name, "its owner does not exist");
  }

  // Blobs.

  [[nodiscard]] Result<void> check_blobs() {
    for (std::size_t i = 0; i < model_.blobs.size(); ++i) {
      const auto& blob = model_.blobs[i];
      PTD_TRY(check_extent(blob.size, blob.content, blob.name));
      PTD_TRY(check_name(blob.name, "blob"));
      if (!blob.media_type.empty()) PTD_TRY(check_name(blob.media_type, "media type"));
      PTD_TRY(check_metadata(blob.metadata, blob.name));
      if (i > 0) PTD_TRY(check_ascending(model_.blobs[i - 1].name, blob.name, "NAM-2", blob.name, "blob"));
    }
    return {};
  }

  // Metadata, counted over the whole file.

  [[nodiscard]] Result<void> check_metadata(const std::vector<Pair>& pairs, std::string_view owner) {
    pairs_ += pairs.size();
    PTD_TRY(check_count(pairs_, limits::max_pairs, "metadata pairs"));
    return check_pairs(pairs, owner);
  }

  // What refers to what.

  [[nodiscard]] Result<void> check_bindings() const {
    for (std::uint32_t i = 0; i < model_.methods.size(); ++i)
      for (const auto tensor : model_.methods[i].tensors) PTD_TRY(check_binding(i, model_.tensors[tensor]));
    return {};
  }

  [[nodiscard]] Result<void> check_binding(std::uint32_t method, const Tensor& tensor) const {
    const auto& [name, tensors, libraries, blobs, metadata] = model_.methods[method];
    const auto owner = tensor.owner;
    const bool allowed =
        owner.kind == OwnerKind::model || (owner.kind == OwnerKind::method && owner.index == method) ||
        (owner.kind == OwnerKind::library && std::ranges::binary_search(libraries, owner.index));
    if (allowed) return {};
    return fail_on(
        ErrorCode::binding, "BND-1", tensor.name,
        "method " + in_quotes(name) + " binds a tensor of a method or library that is not its own");
  }

  // A method's own tensor beside the model's of the same name: never other content, never both bound.
  [[nodiscard]] Result<void> check_repeated_names() const {
    const auto first = std::ranges::partition_point(
        model_.tensors, [](const Tensor& tensor) { return tensor.owner.kind != OwnerKind::method; });
    for (auto i = static_cast<std::size_t>(first - model_.tensors.begin()); i < model_.tensors.size(); ++i) {
      const auto twin = model_.find_tensor({OwnerKind::model, 0}, model_.tensors[i].name);
      if (twin) PTD_TRY(check_twins(static_cast<std::uint32_t>(i), *twin));
    }
    return {};
  }

  [[nodiscard]] Result<void> check_twins(std::uint32_t own, std::uint32_t shared) const {
    const auto& tensor = model_.tensors[own];
    const auto& method = model_.methods[tensor.owner.index];
    if (std::ranges::binary_search(method.tensors, own) && std::ranges::binary_search(method.tensors, shared))
      return fail_on(ErrorCode::binding, "BND-2", tensor.name,
                     "method " + in_quotes(method.name) + " binds two tensors of this name");
    const auto& a = model_.storages[tensor.storage];
    const auto& b = model_.storages[model_.tensors[shared].storage];
    if (std::tie(a.size, a.content, a.access, a.origin) != std::tie(b.size, b.content, b.access, b.origin))
      return fail_on(
          ErrorCode::content_conflict, "BND-3", tensor.name,
          "method " + in_quotes(method.name) + " has other content under this name than the model");
    return {};
  }

  [[nodiscard]] Result<void> check_storage_order() const {
    std::size_t seen = 0;
    for (const auto& tensor : model_.tensors) {
      if (tensor.storage > seen)
        return fail_on(ErrorCode::order, "STO-6", tensor.name,
                       "storages do not stand in order of first reference");
      seen = std::max<std::size_t>(seen, tensor.storage + std::size_t{1});
    }
    if (seen == model_.storages.size()) return {};
    return fail_on(ErrorCode::unreferenced, "STO-6", numbered("storage", seen),
                   "no tensor uses this storage");
  }

  [[nodiscard]] Result<void> check_contents_used() const {
    std::vector<bool> used(model_.contents.size());
    const auto mark = [&](std::uint32_t content) {
      if (content != no_index) used[content] = true;
    };
    for (const auto& storage : model_.storages) mark(storage.content);
    for (const auto& blob : model_.blobs) mark(blob.content);
    const auto unused = std::ranges::find(used, false);
    if (unused == used.end()) return {};
    return fail_on(ErrorCode::unreferenced, "CON-3",
                   numbered("content", static_cast<std::size_t>(unused - used.begin())),
                   "neither a storage nor a blob uses this content");
  }

  const Model& model_;
  const Version& version_;
  std::uint64_t pairs_ = 0;
};

}  // namespace

Result<void> check_model(const Model& model, const Version& version) {
  return ModelCheck(model, version).run();
}

}  // namespace ptd::model
