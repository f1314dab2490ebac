// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// A .ptd file as an input: everything that it says, so that a second pass gives the same file.
#include <algorithm>

#include "foreign/import_sinks.hpp"

namespace ptd::foreign {
namespace {

std::vector<PairSpec> to_specs(const std::vector<Pair>& pairs) {
  std::vector<PairSpec> specs;
  specs.reserve(pairs.size());
  for (const auto& pair : pairs) specs.push_back({std::string(pair.key), std::string(pair.value), pair.kind});
  return specs;
}

template <class Integer>
std::vector<Integer> to_vector(std::span<const Integer> values) {
  return {values.begin(), values.end()};
}

class PtdImport {
 public:
  PtdImport(Writer& writer, Reader file, const ImportOptions& options, ImportReport& report,
            std::string label, PtdUnion& all)
      : writer_(writer),
        file_(std::move(file)),
        model_(file_.model()),
        options_(options),
        report_(report),
        label_(std::move(label)),
        all_(all),
        sources_(model_.contents.size()) {}

  Result<void> run() {
    PTD_TRY(add_blobs());
    PTD_TRY(add_libraries());
    PTD_TRY(add_methods());
    PTD_TRY(add_storages());
    PTD_TRY(add_tensors());
    PTD_TRY(bind_all());
    return add_metadata();
  }

 private:
  // One source a content, so that the writer knows what is equal before it reads.
  [[nodiscard]] SourcePtr content(std::uint32_t index) {
    if (index == no_index) return {};
    auto& source = sources_[index];
    if (!source) source = file_.content_source(index);
    return source;
  }

  Result<void> add_blobs() {
    for (const auto& blob : model_.blobs) {
      if (const auto known = all_.blobs.find(blob.name); known != all_.blobs.end()) {
        blobs_.push_back(known->second);
        continue;
      }
      PTD_LET(id, writer_.add_blob({std::string(blob.name), content(blob.content), blob.size,
                                    std::string(blob.media_type), to_specs(blob.metadata)}));
      all_.blobs.emplace(blob.name, id);
      blobs_.push_back(id);
    }
    return {};
  }

  Result<void> add_metadata() {
    for (auto& pair : to_specs(model_.metadata))
      if (all_.metadata.insert(pair.key).second) PTD_TRY(writer_.add_metadata(std::move(pair)));
    return {};
  }

  Result<void> add_libraries() {
    for (const auto& library : model_.libraries) {
      if (const auto known = all_.libraries.find(library.name); known != all_.libraries.end()) {
        libraries_.push_back(known->second);
        continue;
      }
      LibrarySpec spec{std::string(library.name), {}, to_specs(library.metadata)};
      for (const auto& v : library.variants)
        spec.variants.push_back({v.blob != no_index, v.blob != no_index ? blobs_[v.blob] : BlobId{}, v.sm,
                                 v.ptx, v.kind, std::string(v.target)});
      PTD_LET(id, writer_.add_library(std::move(spec)));
      all_.libraries.emplace(library.name, id);
      libraries_.push_back(id);
    }
    return {};
  }

  Result<void> add_methods() {
    if (!options_.method.empty() && model_.methods.size() != 1)
      return fail_on(ErrorCode::unsupported_input, "", label_,
                     "it has " + std::to_string(model_.methods.size()) +
                         " methods, so it cannot become the method \"" + options_.method +
                         "\"; leave METHOD= out");
    for (const auto& method : model_.methods) {
      const std::string name = options_.method.empty() ? std::string(method.name) : options_.method;
      PTD_LET(id, add_method_metadata(writer_, name, label_, to_specs(method.metadata)));
      methods_.push_back(id);
    }
    return {};
  }

  // A storage becomes state if one of its tensors is made state.
  [[nodiscard]] std::vector<bool> made_mutable() const {
    std::vector<bool> made(model_.storages.size());
    for (const auto& tensor : model_.tensors)
      if (is_made_mutable(options_, std::string(tensor.name))) made[tensor.storage] = true;
    return made;
  }

  Result<void> add_storages() {
    const auto made = made_mutable();
    for (std::size_t i = 0; i < model_.storages.size(); ++i) {
      const auto& storage = model_.storages[i];
      PTD_LET(id, writer_.add_storage({storage.size, content(storage.content),
                                       made[i] ? Access::mutable_ : storage.access, storage.origin,
                                       storage.placement, label_}));
      storages_.push_back(id);
      mutable_.push_back(made[i] || storage.access == Access::mutable_);
    }
    return {};
  }

  [[nodiscard]] OwnerSpec owner_of(const Owner& owner) const {
    switch (owner.kind) {
      case OwnerKind::library:
        return OwnerSpec::library(libraries_[owner.index]);
      case OwnerKind::method:
        return OwnerSpec::method(methods_[owner.index]);
      default:
        return OwnerSpec::model();
    }
  }

  Result<void> add_tensors() {
    for (const auto& tensor : model_.tensors) {
      PTD_LET(id,
              writer_.add_tensor({std::string(tensor.name), owner_of(tensor.owner), tensor.dtype,
                                  storages_[tensor.storage], tensor.storage_offset, to_vector(tensor.sizes),
                                  to_vector(tensor.strides), std::string(tensor.scheme),
                                  to_vector(tensor.logical_sizes), to_specs(tensor.metadata)}));
      tensors_.push_back(id);
      ++report_.tensors;
      report_.mutable_tensors += mutable_[tensor.storage] ? 1U : 0U;
    }
    return {};
  }

  Result<void> bind_all() {
    for (std::size_t i = 0; i < model_.methods.size(); ++i) {
      const auto& method = model_.methods[i];
      for (const auto tensor : method.tensors) PTD_TRY(writer_.bind(methods_[i], tensors_[tensor]));
      for (const auto library : method.libraries) PTD_TRY(writer_.bind(methods_[i], libraries_[library]));
      for (const auto blob : method.blobs) PTD_TRY(writer_.bind(methods_[i], blobs_[blob]));
    }
    return {};
  }

  Writer& writer_;
  Reader file_;
  const Model& model_;
  const ImportOptions& options_;
  ImportReport& report_;
  std::string label_;
  PtdUnion& all_;
  std::vector<SourcePtr> sources_;  ///< by content, made when asked for
  std::vector<BlobId> blobs_;
  std::vector<LibraryId> libraries_;
  std::vector<MethodId> methods_;
  std::vector<StorageId> storages_;
  std::vector<TensorId> tensors_;
  std::vector<bool> mutable_;
};

Result<void> refuse_later_minor(const Model& model, const std::string& path) {
  if (model.minor == 0) return {};
  return fail_on(ErrorCode::unsupported_input, "EVO-5", path,
                 "it is of the later version 1." + std::to_string(model.minor) +
                     ", and a copy would lose what this version does not know; use a newer ptd");
}

}  // namespace

Result<void> import_ptd(Writer& writer, const std::filesystem::path& path, const ImportOptions& options,
                        ImportReport& report) {
  PTD_LET(file, open_ptd(path));
  PTD_TRY(refuse_later_minor(file.model(), path.string()));
  PtdUnion alone;
  return PtdImport(writer, file, options, report, path.string(), alone).run();
}

Result<void> add_ptd(Writer& writer, const Reader& file, const std::string& label, PtdUnion& all) {
  PTD_TRY(refuse_later_minor(file.model(), label));
  const ImportOptions options;
  ImportReport report;
  return PtdImport(writer, file, options, report, label, all).run();
}

}  // namespace ptd::foreign
