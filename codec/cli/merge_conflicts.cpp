// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "cli/merge_conflicts.hpp"

#include <algorithm>
#include <optional>
#include <tuple>
#include <unordered_map>

namespace ptd::cli {
namespace {

/// An object of one of the models.
struct Place {
  std::size_t model = 0;
  std::uint32_t index = 0;

  friend bool operator==(const Place&, const Place&) = default;
};

using Known = std::unordered_map<std::string, Place>;

// Names hold no NUL, so it keeps parts of a key apart.
std::string key_of(OwnerKind kind, std::string_view owner, std::string_view name) {
  std::string key(1, static_cast<char>('0' + static_cast<int>(kind)));
  return key.append(owner).append(1, '\0').append(name);
}

class Conflicts {
 public:
  explicit Conflicts(std::span<const Model* const> models) : models_(models) {}

  std::vector<MergeConflict> run() {
    for (std::size_t i = 0; i < models_.size(); ++i) add_model(i);
    return std::move(conflicts_);
  }

 private:
  void add_model(std::size_t number) {
    const Model& model = *models_[number];
    for (const auto& pair : model.metadata) meet_pair(Subject::metadata, pair.key, number, pair, "value");
    for (const auto& method : model.methods)
      for (const auto& pair : method.metadata)
        meet_pair(Subject::method, method.name, number, pair, "metadata \"" + std::string(pair.key) + "\"");
    meet_named(Subject::library, number, model.libraries, libraries_, compare_libraries);
    meet_named(Subject::blob, number, model.blobs, blobs_, compare_blobs);
    meet_tensors(number);
    meet_twins(number);
    meet_bindings(number);
  }

  void add(Subject subject, std::string_view name, std::size_t first, std::size_t second,
           std::vector<Detail> details, std::string owner = {}) {
    if (!details.empty())
      conflicts_.push_back({subject, std::string(name), std::move(owner), first, second, std::move(details)});
  }

  // Metadata of the file (subject metadata) and of methods: key by key, since methods join theirs.
  void meet_pair(Subject subject, std::string_view name, std::size_t number, const Pair& pair,
                 const std::string& what) {
    const auto owner = subject == Subject::method ? OwnerKind::method : OwnerKind::model;
    const auto [found, is_new] = pairs_.try_emplace(key_of(owner, name, pair.key), std::pair(number, &pair));
    if (is_new) return;
    const auto& [first, other] = found->second;
    auto details = compare_pairs({*other}, {pair});
    for (auto& detail : details) detail.what = what;
    add(subject, name, first, number, std::move(details));
  }

  template <class List, class Compare>
  void meet_named(Subject subject, std::size_t number, const List& list, Known& known, Compare compare) {
    for (std::uint32_t i = 0; i < list.size(); ++i) {
      const auto [found, is_new] = known.try_emplace(std::string(list[i].name), Place{number, i});
      if (is_new) continue;
      const auto& [first, index] = found->second;
      const Model& other = *models_[first];
      add(subject, list[i].name, first, number,
          compare(other, list_of<List>(other)[index], *models_[number], list[i]));
    }
  }

  template <class List>
  static const List& list_of(const Model& model) {
    if constexpr (std::is_same_v<List, std::vector<Library>>)
      return model.libraries;
    else
      return model.blobs;
  }

  static std::string key_of_tensor(const Model& model, const Tensor& tensor) {
    const auto [kind, owner] = owner_name(model, tensor.owner);
    return key_of(kind, owner, tensor.name);
  }

  void meet_tensors(std::size_t number) {
    const Model& model = *models_[number];
    for (std::uint32_t i = 0; i < model.tensors.size(); ++i) {
      const Tensor& tensor = model.tensors[i];
      const auto [found, is_new] = tensors_.try_emplace(key_of_tensor(model, tensor), Place{number, i});
      if (is_new) continue;
      const Place first = found->second;
      auto details =
          compare_tensors(*models_[first.model], models_[first.model]->tensors[first.index], model, tensor);
      if (details.empty() && !is_same_memory(first, {number, i}))
        details.push_back({"which tensors share its memory", "", ""});
      add(Subject::tensor, tensor.name, first.model, number, std::move(details),
          owner_note(model, tensor.owner));
    }
  }

  // Two storages of state that one model keeps apart must not become one by way of another model.
  bool is_same_memory(Place first, Place second) {
    const auto storage = [&](Place tensor) {
      return Place{tensor.model, models_[tensor.model]->tensors[tensor.index].storage};
    };
    const Place a = storage(first), b = storage(second);
    if (models_[a.model]->storages[a.index].access != Access::mutable_) return true;
    const auto forward = memory_.try_emplace({a, b.model}, b.index).first;
    const auto backward = memory_.try_emplace({b, a.model}, a.index).first;
    return forward->second == b.index && backward->second == a.index;
  }

  // BND-3: where a method and the model own tensors of one name, they hold the same.
  void meet_twins(std::size_t number) {
    const Model& model = *models_[number];
    for (std::uint32_t i = 0; i < model.tensors.size(); ++i) {
      const Tensor& tensor = model.tensors[i];
      if (tensor.owner.kind == OwnerKind::library) continue;
      if (tensor.owner.kind == OwnerKind::model) {
        for (const auto twin : twins_[std::string(tensor.name)]) compare_twins(twin, {number, i});
      } else if (const auto twin = tensors_.find(key_of(OwnerKind::model, {}, tensor.name));
                 twin != tensors_.end()) {
        compare_twins(twin->second, {number, i});
      }
    }
    for (std::uint32_t i = 0; i < model.tensors.size(); ++i)
      if (model.tensors[i].owner.kind == OwnerKind::method)
        twins_[std::string(model.tensors[i].name)].push_back({number, i});
  }

  void compare_twins(Place first, Place second) {
    if (first.model == second.model) return;  // a valid model keeps the rule by itself
    const Model &a = *models_[first.model], &b = *models_[second.model];
    const Tensor &in_a = a.tensors[first.index], &in_b = b.tensors[second.index];
    auto details = compare_tensors(a, in_a, b, in_b);
    std::erase_if(details, [](const Detail& d) {
      return d.what != "content" && d.what != "storage size" && d.what != "access" && d.what != "origin";
    });
    const auto own =
        in_b.owner.kind == OwnerKind::method ? owner_note(b, in_b.owner) : owner_note(a, in_a.owner);
    add(Subject::tensor, in_b.name, first.model, second.model, std::move(details), own + " and the model");
  }

  // BND-2: a method means one tensor by a name, its own or the model's.
  void meet_bindings(std::size_t number) {
    const Model& model = *models_[number];
    for (const auto& method : model.methods)
      for (const auto i : method.tensors) meet_binding(number, method, model.tensors[i]);
  }

  void meet_binding(std::size_t number, const Method& method, const Tensor& tensor) {
    if (tensor.owner.kind == OwnerKind::library) return;
    const auto kind = static_cast<std::uint32_t>(tensor.owner.kind);
    const auto [found, is_new] =
        bindings_.try_emplace(key_of(OwnerKind::method, method.name, tensor.name), Place{number, kind});
    if (is_new || found->second.index == kind) return;
    const auto text = [](std::uint32_t owner) {
      return owner == static_cast<std::uint32_t>(OwnerKind::method) ? "its own" : "the model's";
    };
    add(Subject::method, method.name, found->second.model, number,
        {{"tensor \"" + std::string(tensor.name) + "\"", text(found->second.index), text(kind)}});
  }

  struct MemoryHash {
    std::size_t operator()(const std::pair<Place, std::size_t>& key) const noexcept {
      const auto& [place, model] = key;
      return (place.model * 31 + model) * 0x9E3779B97F4A7C15U + place.index;
    }
  };

  std::span<const Model* const> models_;
  std::vector<MergeConflict> conflicts_;
  std::unordered_map<std::string, std::pair<std::size_t, const Pair*>> pairs_;
  Known libraries_, blobs_, tensors_;
  Known bindings_;                                             // the index is that of an owner kind
  std::unordered_map<std::string, std::vector<Place>> twins_;  // tensors that methods own, by name
  std::unordered_map<std::pair<Place, std::size_t>, std::uint32_t, MemoryHash> memory_;
};

}  // namespace

std::vector<MergeConflict> find_conflicts(std::span<const Model* const> models) {
  return Conflicts(models).run();
}

}  // namespace ptd::cli
