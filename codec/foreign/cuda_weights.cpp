// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "foreign/cuda_weights.hpp"

#include <algorithm>

#include "foreign/executorch_keys.hpp"
#include "foreign/json_events.hpp"
#include "foreign/scalar_type.hpp"

namespace ptd::foreign {

/// One entry of a manifest and what is known around it.
struct CudaWeights::Weight {
  const CudaEntry& entry;
  const ExecutorchMethod& method;
  LibraryId library;
  bool is_state;
  std::vector<std::string> aliases;  ///< FQNs of one allocation, the entry's own among them
  std::vector<NamedBytes*> bytes;  ///< what the files give to its storage key; none for the runtime's caches

  [[nodiscard]] bool is_external() const { return bytes.empty(); }
};

namespace {

bool same_view(const TensorSpec& a, const TensorSpec& b) {
  return a.dtype == b.dtype && a.sizes == b.sizes && a.strides == b.strides &&
         a.storage_offset == b.storage_offset && a.metadata == b.metadata;
}

// Groups are numbered within one manifest; entries without one are alone.
std::map<std::uint32_t, std::vector<std::string>> group_names(const CudaManifest& manifest) {
  std::map<std::uint32_t, std::vector<std::string>> names;
  for (const auto& entry : manifest.entries)
    if (entry.group) names[*entry.group].push_back(entry.fqn);
  return names;
}

std::string origin_text(char digit, const ExecutorchMethod& method) {
  if (digit == '1' || digit == '2') return "as its manifest says";
  if (method.mutable_fqns) return "as the program's list of mutable buffers says";
  return "since its manifest does not say which are; --immutable says so of others";
}

}  // namespace

bool CudaWeights::is_state(const ExecutorchMethod& method, const CudaEntry& entry) const {
  if (is_made_mutable(options_, entry.fqn)) return true;
  if (matches_any(options_.immutable_globs, entry.fqn)) return false;
  if (entry.is_shareable) return !*entry.is_shareable;
  return !method.mutable_fqns || method.mutable_fqns->contains(entry.fqn);
}

Result<void> CudaWeights::add(const ExecutorchMethod& method, MethodId id, const CudaPayload& payload) {
  if (const auto* keys = std::get_if<CudaKeyList>(&payload)) return add_keys(method, id, *keys);
  return add_manifest(method, id, std::get<CudaManifest>(payload));
}

Result<LibraryId> CudaWeights::add_library(const ExecutorchMethod& method, MethodId id,
                                           const std::vector<CudaVariant>& variants) {
  LibrarySpec library;
  const auto number = libraries_[method.name]++;
  library.name = method.name + (number == 0 ? "" : "/" + std::to_string(number));
  for (const auto& variant : variants) {
    VariantSpec spec;
    spec.sm = variant.sm;
    spec.ptx = variant.ptx;
    spec.kind = variant.is_fallback ? VariantKind::fallback : VariantKind::regular;
    const auto code = data_.find(variant.library_key);
    for (auto* bytes : code) {
      bytes->is_used = true;
      std::vector<PairSpec> metadata;
      if (bytes->in_program) metadata.push_back({std::string(in_program), "true", ValueKind::text});
      PTD_LET(blob,
              blobs_.add({variant.library_key, bytes->content, 0, "", std::move(metadata)}, bytes->origin));
      spec.has_blob = true;
      spec.blob = blob;
    }
    const auto index = library.variants.size();
    if (code.empty())
      library.metadata.push_back({std::string(library_key) + (index == 0 ? "" : "." + std::to_string(index)),
                                  variant.library_key, ValueKind::text});
    library.variants.push_back(std::move(spec));
  }
  if (!library.metadata.empty())
    report_.notes.push_back("the compiled code of " + quote(method.name) +
                            " is in none of the files and is left out; give the .pte program to take it in");
  PTD_LET(added, writer_.add_library(std::move(library)));
  PTD_TRY(writer_.bind(id, added));
  return added;
}

Result<void> CudaWeights::add_keys(const ExecutorchMethod& method, MethodId id, const CudaKeyList& keys) {
  PTD_TRY(add_library(method, id, {{0, 0, false, keys.library_key}}));
  const auto found = data_.find(keys.weights_key);
  if (found.empty())
    return fail_on(ErrorCode::not_found, "", keys.weights_key,
                   "the weights of method " + quote(method.name) +
                       " are in none of the files; give the .ptd file that "
                       "ExecuTorch exported with " +
                       quote(method.origin) + ", with --data");
  for (auto* bytes : found) {
    bytes->is_used = true;
    PTD_LET(blob, blobs_.add({keys.weights_key, bytes->content, 0, "", {}}, bytes->origin));
    PTD_TRY(writer_.bind(id, blob));
  }
  report_.notes.push_back("the weights of " + quote(method.name) + " are one opaque blob of " +
                          std::to_string(found[0]->range.size) +
                          " bytes without names, so nothing of it can be shared tensor by tensor; export "
                          "again with a newer ExecuTorch");
  return {};
}

Result<void> CudaWeights::add_manifest(const ExecutorchMethod& method, MethodId id,
                                       const CudaManifest& manifest) {
  PTD_LET(library, add_library(method, id, manifest.variants));
  const auto groups = group_names(manifest);
  std::set<std::uint32_t> state_groups;
  for (const auto& entry : manifest.entries)
    if (entry.group && is_state(method, entry)) state_groups.insert(*entry.group);
  std::uint64_t states = 0;
  for (const auto& entry : manifest.entries) {
    const bool as_state = entry.group ? state_groups.contains(*entry.group) : is_state(method, entry);
    const auto aliases = entry.group ? groups.at(*entry.group) : std::vector<std::string>{entry.fqn};
    Weight weight{entry, method, library, as_state, aliases, data_.find(entry.storage_key)};
    PTD_TRY(add_entry(weight, id));
    states += weight.is_state ? 1U : 0U;
  }
  report_.tensors += manifest.entries.size();
  report_.mutable_tensors += states;
  report_.notes.push_back("method " + quote(method.name) + ": " + std::to_string(manifest.entries.size()) +
                          " weights, of which " + std::to_string(states) + " are state and " +
                          std::to_string(manifest.entries.size() - states) + " are not, " +
                          origin_text(manifest.digit, method));
  return {};
}

Result<void> CudaWeights::check_bytes(const Weight& weight) const {
  const auto& entry = weight.entry;
  if (weight.bytes.empty() && !entry.fqn.starts_with(offgraph_cache_prefix))
    return fail_on(ErrorCode::not_found, "", entry.storage_key,
                   "the bytes of " + quote(entry.fqn) + " of method " + quote(weight.method.name) +
                       " are in none of the files; give the .ptd file that ExecuTorch exported with " +
                       quote(weight.method.origin) + ", with --data");
  for (const auto* bytes : weight.bytes)
    if (bytes->range.size != entry.storage_bytes)
      return fail_on(ErrorCode::foreign_input, "", entry.fqn,
                     "its manifest (" + quote(weight.method.origin) + ") says that its storage has " +
                         std::to_string(entry.storage_bytes) + " bytes; " + quote(bytes->origin) + " has " +
                         std::to_string(bytes->range.size) + ": they do not belong together");
  return {};
}

Result<TensorSpec> CudaWeights::describe(const Weight& weight) const {
  const auto& entry = weight.entry;
  const auto* const type = find_scalar_type(entry.scalar_type);
  if (type == nullptr || !type->dtype)
    return fail_on(ErrorCode::unsupported_input, "", entry.fqn,
                   "its element type has the number " + std::to_string(entry.scalar_type) +
                       ", which the CUDA backend does not have (in " + quote(weight.method.origin) + ")");
  TensorSpec tensor;
  tensor.name = entry.fqn;
  tensor.dtype = *type->dtype;
  tensor.storage_offset = entry.storage_offset;
  tensor.sizes = entry.sizes;
  tensor.strides = entry.strides;
  tensor.metadata.push_back({std::string(key_of_storage), entry.storage_key, ValueKind::text});
  return tensor;
}

Result<StorageId> CudaWeights::new_storage(const Weight& weight, const NamedBytes* bytes) {
  StorageSpec spec;
  spec.size = weight.entry.storage_bytes;
  spec.access = weight.is_state ? Access::mutable_ : Access::immutable;
  spec.placement = weight.entry.device == CudaDevice::cpu ? Placement::host : Placement::device;
  spec.origin = bytes == nullptr ? Origin::external : Origin::stored;
  if (bytes != nullptr) spec.content = bytes->content;
  spec.label = weight.method.origin + ":" + weight.method.name;
  if (bytes != nullptr) spec.label += " with " + bytes->origin;
  return writer_.add_storage(std::move(spec));
}

// One that was made from the same key is the same; one that was not shall meet Writer's checks.
Result<StorageId> CudaWeights::storage_of(Weight& weight) {
  const auto& entry = weight.entry;
  const auto fits = [&](const Made& made) {
    return made.storage_key == entry.storage_key && made.bytes == entry.storage_bytes;
  };
  auto& made = weight.is_state ? state_ : shared_;
  const auto names = weight.is_state ? weight.aliases : std::vector<std::string>{entry.storage_key};
  for (const auto& name : names) {
    const auto found = made.find({entry.device, name});
    if (found == made.end() || !fits(found->second)) continue;
    for (const auto& other : names) made.try_emplace({entry.device, other}, found->second);
    return found->second.id;
  }
  PTD_LET(id, new_storage(weight, weight.is_external() ? nullptr : weight.bytes.front()));
  for (const auto& name : names)
    made.try_emplace({entry.device, name}, Made{id, entry.storage_key, entry.storage_bytes});
  return id;
}

// The model's, unless the compiler made the name up, the options say otherwise, or the model's tensor of this
// name is another view or lives elsewhere: then the method has its own.
OwnerSpec CudaWeights::owner_of(const Weight& weight, const TensorSpec& tensor, MethodId method) const {
  if (is_library_local(weight.entry)) return OwnerSpec::library(weight.library);
  if (owner_in(options_, method, tensor.name).kind == OwnerKind::method) return OwnerSpec::method(method);
  const auto first = first_.find(tensor.name);
  if (first == first_.end()) return OwnerSpec::model();
  const bool is_same_storage = first->second.tensor.storage == tensor.storage;
  const bool is_other_view = is_same_storage && !same_view(first->second.tensor, tensor);
  if (is_other_view || first->second.device != weight.entry.device) return OwnerSpec::method(method);
  return OwnerSpec::model();
}

Result<void> CudaWeights::add_entry(Weight& weight, MethodId method) {
  PTD_TRY(check_bytes(weight));
  weight.is_state |= weight.is_external();
  for (auto* bytes : weight.bytes) bytes->is_used = true;
  PTD_LET(tensor, describe(weight));
  PTD_LET(storage, storage_of(weight));
  tensor.storage = storage;
  tensor.owner = owner_of(weight, tensor, method);
  if (tensor.owner.kind == OwnerKind::model)
    first_.try_emplace(tensor.name, First{tensor, weight.entry.device});
  PTD_LET(id, writer_.add_tensor(tensor));
  PTD_TRY(writer_.bind(method, id));
  // What further files give to the same key must be equal: the writer compares.
  for (std::size_t i = 1; i < weight.bytes.size(); ++i) {
    PTD_LET(other, new_storage(weight, weight.bytes[i]));
    tensor.storage = other;
    PTD_TRY(writer_.add_tensor(tensor));
  }
  return {};
}

}  // namespace ptd::foreign
