// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Adding objects to a Writer. Whatever can be refused without reading content is refused here.
#include <algorithm>
#include <ptd/limits.hpp>

#include "model/check.hpp"
#include "writer/state.hpp"

namespace ptd {
namespace {

template <class Id>
std::uint32_t number(Id id) {
  return static_cast<std::uint32_t>(id);
}

template <class List>
std::uint32_t next_number(const List& list) {
  return static_cast<std::uint32_t>(list.size());
}

Result<void> check_id(std::uint32_t id, std::size_t count, std::string_view what) {
  if (id < count) return {};
  return fail(ErrorCode::argument, "", "this writer has no " + std::string(what) + " " + std::to_string(id));
}

Result<void> check_room(std::size_t count, std::uint64_t limit, std::string_view what) {
  if (count < limit) return {};
  return fail(ErrorCode::limit, "LIM-1",
              "the format's limit of " + std::to_string(limit) + " " + std::string(what) + " is reached");
}

// Keys in any order, but each once.
Result<void> check_metadata(std::vector<PairSpec>& pairs, std::string_view owner) {
  std::ranges::stable_sort(pairs, {}, &PairSpec::key);
  return model::check_pairs(writer::view_pairs(pairs), owner);
}

// An equal pair again is no news. `all` is ascending by key; what is new is put behind it.
void add_new_pairs(std::vector<PairSpec>& all, std::vector<PairSpec> more) {
  const std::size_t known = all.size();
  for (auto& pair : more) {
    const auto end = all.begin() + static_cast<std::ptrdiff_t>(known);
    const auto twin =
        std::lower_bound(all.begin(), end, pair, [](const auto& a, const auto& b) { return a.key < b.key; });
    if (twin == end || *twin != pair) all.push_back(std::move(pair));
  }
}

Result<void> check_extent(std::uint64_t size, const SourcePtr& content, std::string_view label) {
  if (size > limits::max_bytes)
    return fail_on(ErrorCode::size, "STO-1", label,
                   std::to_string(size) + " bytes are over the limit of 2^60");
  if (content && content->size() > size)
    return fail_on(ErrorCode::size, "STO-3", label,
                   "the content is larger than the " + std::to_string(size) + " bytes declared");
  return {};
}

template <class Enum>
bool is_listed(Enum value, std::uint64_t last) {
  return static_cast<std::uint64_t>(value) >= 1 && static_cast<std::uint64_t>(value) <= last;
}

// Strides of dimensions with at most one element mean nothing.
bool same_strides(const TensorSpec& a, const TensorSpec& b) {
  for (std::size_t i = 0; i < a.sizes.size(); ++i)
    if (a.sizes[i] > 1 && a.strides[i] != b.strides[i]) return false;
  return true;
}

// What of two tensors of one key differs, for a message; empty if nothing.
std::string difference(const TensorSpec& a, const TensorSpec& b, const StorageSpec& in_a,
                       const StorageSpec& in_b) {
  if (a.dtype != b.dtype)
    return "dtype " + std::string(dtype_name(a.dtype)) + " against " + std::string(dtype_name(b.dtype));
  if (a.sizes != b.sizes) return "different sizes";
  if (!same_strides(a, b)) return "different strides";
  if (a.storage_offset != b.storage_offset) return "different storage offsets";
  if (a.scheme != b.scheme || a.logical_sizes != b.logical_sizes) return "different packing";
  if (a.metadata != b.metadata) return "different metadata";
  if (in_a.access != in_b.access) return "one is mutable and one is not";
  if (in_a.origin != in_b.origin) return "one is external and one is not";
  if (in_a.placement != in_b.placement) return "different placements";
  if (in_a.size != in_b.size)
    return "storages of " + std::to_string(in_a.size) + " and " + std::to_string(in_b.size) + " bytes";
  return {};
}

// A mutable storage stands for memory: two that one input keeps apart must not become one.
bool would_alias(const Writer::State& state, std::uint32_t kept, std::uint32_t added) {
  const auto& storages = state.storages;
  if (storages[kept].spec.access != Access::mutable_) return false;
  const auto is_kept_apart = [&](std::uint32_t member) {
    const auto& label = storages[member].spec.label;
    return !label.empty() && std::ranges::any_of(storages[kept].members, [&](std::uint32_t other) {
      return storages[other].spec.label == label;
    });
  };
  return std::ranges::any_of(storages[added].members, is_kept_apart);
}

void join(Writer::State& state, std::uint32_t kept, std::uint32_t added) {
  auto& from = state.storages[added];
  auto& into = state.storages[kept];
  from.parent = kept;
  into.members.insert(into.members.end(), from.members.begin(), from.members.end());
  from.members.clear();
}

Failure conflict(const std::string& name, const std::string& a, const std::string& b,
                 const std::string& what) {
  return fail_on(ErrorCode::conflict, "WRT-4", name,
                 "\"" + escaped(a) + "\" and \"" + escaped(b) + "\" give this name to different tensors (" +
                     what + "); rename one or let its method own it");
}

Result<void> meet(Writer::State& state, std::uint32_t earlier, const TensorSpec& now) {
  const TensorSpec& before = state.tensors[earlier];
  const auto& in_before = state.storages[number(before.storage)].spec;
  const auto& in_now = state.storages[number(now.storage)].spec;
  if (const auto what = difference(before, now, in_before, in_now); !what.empty())
    return conflict(now.name, in_before.label, in_now.label, what);
  const auto kept = state.root_of(number(before.storage)), added = state.root_of(number(now.storage));
  if (kept == added) return {};
  if (would_alias(state, kept, added))
    return conflict(now.name, in_before.label, in_now.label, "one aliases its memory with another tensor");
  join(state, kept, added);
  return {};
}

Result<void> check_variants(const LibrarySpec& library, std::size_t blobs) {
  for (const auto& variant : library.variants)
    if (variant.has_blob) PTD_TRY(check_id(number(variant.blob), blobs, "blob"));
  return {};
}

Result<void> check_owner(const Writer::State& state, const OwnerSpec& owner) {
  if (!is_listed(owner.kind, 3))
    return fail(ErrorCode::argument, "", "a tensor's owner is the model, a library or a method");
  const std::size_t count = owner.kind == OwnerKind::model     ? 1
                            : owner.kind == OwnerKind::library ? state.libraries.size()
                                                               : state.methods.size();
  return check_id(owner.id, count, owner.kind == OwnerKind::library ? "library" : "method");
}

// The rules of a single tensor, by the same code that a reader uses.
Result<void> check_tensor(const TensorSpec& tensor, std::uint64_t storage_size) {
  PTD_TRY(model::check_name(tensor.name, "tensor"));
  if (!is_listed(tensor.dtype, dtype_table.size()))
    return fail_on(ErrorCode::unlisted_number, "TEN-2", tensor.name, "its dtype is not in the table");
  const Tensor view = writer::view_tensor(tensor);
  PTD_TRY(model::check_view(view, storage_size));
  return model::check_packed(view);
}

}  // namespace

namespace writer {

std::vector<Pair> view_pairs(const std::vector<PairSpec>& pairs) {
  std::vector<Pair> out;
  out.reserve(pairs.size());
  for (const auto& pair : pairs) out.push_back({pair.key, pair.value, pair.kind});
  return out;
}

Tensor view_tensor(const TensorSpec& spec) {
  Tensor out;
  out.name = spec.name;
  out.dtype = spec.dtype;
  out.storage_offset = spec.storage_offset;
  out.sizes = spec.sizes;
  out.strides = spec.strides;
  out.scheme = spec.scheme;
  out.logical_sizes = spec.logical_sizes;
  out.metadata = view_pairs(spec.metadata);
  return out;
}

}  // namespace writer

Writer::Writer() : state_(std::make_unique<State>()) {}
Writer::Writer(Writer&&) noexcept = default;
Writer& Writer::operator=(Writer&&) noexcept = default;
Writer::~Writer() = default;

Result<StorageId> Writer::add_storage(StorageSpec storage) {
  auto& storages = state_->storages;
  PTD_TRY(check_extent(storage.size, storage.content, storage.label));
  if (!is_listed(storage.access, 2) || !is_listed(storage.origin, 2) || !is_listed(storage.placement, 3))
    return fail_on(ErrorCode::unlisted_number, "STO-4", storage.label,
                   "its access, origin or placement is not in the table");
  if (storage.origin == Origin::external && storage.content)
    return fail_on(ErrorCode::external, "STO-5", storage.label, "an external storage cannot have a content");
  const auto id = next_number(storages);
  storages.push_back({std::move(storage), id, {id}});
  return StorageId{id};
}

Result<BlobId> Writer::add_blob(BlobSpec blob) {
  PTD_TRY(model::check_name(blob.name, "blob"));
  if (!blob.media_type.empty()) PTD_TRY(model::check_name(blob.media_type, "media type"));
  if (blob.size == 0 && blob.content) blob.size = blob.content->size();
  PTD_TRY(check_extent(blob.size, blob.content, blob.name));
  PTD_TRY(check_metadata(blob.metadata, blob.name));
  PTD_TRY(check_room(state_->blobs.size(), limits::max_blobs, "blobs"));
  if (state_->blob_by_name.contains(blob.name))
    return fail_on(ErrorCode::duplicate, "NAM-2", blob.name, "duplicate blob \"" + escaped(blob.name) + "\"");
  const auto id = next_number(state_->blobs);
  state_->blobs.push_back(std::move(blob));
  state_->blob_by_name.emplace(state_->blobs.back().name, id);
  return BlobId{id};
}

Result<LibraryId> Writer::add_library(LibrarySpec library) {
  PTD_TRY(model::check_name(library.name, "library"));
  PTD_TRY(check_variants(library, state_->blobs.size()));
  PTD_TRY(check_metadata(library.metadata, library.name));
  PTD_TRY(check_room(state_->libraries.size(), limits::max_libraries, "libraries"));
  if (state_->library_by_name.contains(library.name))
    return fail_on(ErrorCode::duplicate, "NAM-2", library.name,
                   "duplicate library \"" + escaped(library.name) + "\"");
  const auto id = next_number(state_->libraries);
  state_->libraries.push_back(std::move(library));
  state_->library_by_name.emplace(state_->libraries.back().name, id);
  return LibraryId{id};
}

Result<MethodId> Writer::add_method(std::string name, std::vector<PairSpec> metadata) {
  PTD_TRY(model::check_name(name, "method"));
  const auto found = state_->method_by_name.find(name);
  const bool is_new = found == state_->method_by_name.end();
  if (is_new) PTD_TRY(check_room(state_->methods.size(), limits::max_methods, "methods"));
  auto joined = is_new ? std::vector<PairSpec>() : state_->methods[found->second].metadata;
  add_new_pairs(joined, std::move(metadata));
  PTD_TRY(check_metadata(joined, name));
  const auto id = is_new ? next_number(state_->methods) : found->second;
  if (is_new) {
    state_->methods.push_back({std::move(name), {}, {}, {}, {}});
    state_->method_by_name.emplace(state_->methods.back().name, id);
  }
  state_->methods[id].metadata = std::move(joined);
  return MethodId{id};
}

Result<TensorId> Writer::add_tensor(TensorSpec tensor) {
  PTD_TRY(check_id(number(tensor.storage), state_->storages.size(), "storage"));
  PTD_TRY(check_owner(*state_, tensor.owner));
  PTD_TRY(check_tensor(tensor, state_->storages[number(tensor.storage)].spec.size));
  PTD_TRY(check_metadata(tensor.metadata, tensor.name));
  auto& first_tensor = state_->storages[number(tensor.storage)].first_tensor;
  const auto found = state_->tensor_by_key.find({tensor.owner, tensor.name});
  if (found != state_->tensor_by_key.end()) {
    PTD_TRY(meet(*state_, found->second, tensor));
    if (first_tensor == no_index) first_tensor = found->second;
    return TensorId{found->second};
  }
  PTD_TRY(check_room(state_->tensors.size(), limits::max_tensors, "tensors"));
  const auto id = next_number(state_->tensors);
  if (first_tensor == no_index) first_tensor = id;
  state_->tensors.push_back(std::move(tensor));
  state_->tensor_by_key.emplace(State::TensorKey{state_->tensors.back().owner, state_->tensors.back().name},
                                id);
  return TensorId{id};
}

Result<void> Writer::bind(MethodId method, TensorId tensor) {
  PTD_TRY(check_id(number(method), state_->methods.size(), "method"));
  PTD_TRY(check_id(number(tensor), state_->tensors.size(), "tensor"));
  state_->methods[number(method)].tensors.push_back(number(tensor));
  return {};
}

Result<void> Writer::bind(MethodId method, LibraryId library) {
  PTD_TRY(check_id(number(method), state_->methods.size(), "method"));
  PTD_TRY(check_id(number(library), state_->libraries.size(), "library"));
  state_->methods[number(method)].libraries.push_back(number(library));
  return {};
}

Result<void> Writer::bind(MethodId method, BlobId blob) {
  PTD_TRY(check_id(number(method), state_->methods.size(), "method"));
  PTD_TRY(check_id(number(blob), state_->blobs.size(), "blob"));
  state_->methods[number(method)].blobs.push_back(number(blob));
  return {};
}

Result<void> Writer::add_metadata(PairSpec pair) {
  PTD_TRY(model::check_pairs({{pair.key, pair.value, pair.kind}}, "the file"));
  PTD_TRY(check_room(state_->metadata.size(), limits::max_pairs, "metadata pairs"));
  auto key = pair.key;
  const auto [twin, is_new] = state_->metadata.try_emplace(std::move(key), std::move(pair));
  if (is_new) return {};
  return fail_on(ErrorCode::duplicate, "MET-4", twin->first, "duplicate metadata key of the file");
}

}  // namespace ptd
