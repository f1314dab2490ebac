// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "cli/find_object.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

namespace ptd::cli {
namespace {

using Indices = std::vector<std::uint32_t>;

Failure not_found(const std::string& name, const std::string& where) {
  return fail_on(ErrorCode::not_found, "", name, where + " of this name; see `ptd info --all`");
}

// Every tensor of the name, whoever owns it.
Indices tensors_named(const Model& model, std::string_view name) {
  Indices found;
  const auto look = [&](OwnerKind kind, std::size_t owners) {
    for (std::uint32_t i = 0; i < owners; ++i)
      if (const auto tensor = model.find_tensor({kind, i}, name)) found.push_back(*tensor);
  };
  look(OwnerKind::model, 1);
  look(OwnerKind::library, model.libraries.size());
  look(OwnerKind::method, model.methods.size());
  return found;
}

std::string option_for(const Model& model, std::uint32_t tensor) {
  const auto owner = model.tensors[tensor].owner;
  switch (owner.kind) {
    case OwnerKind::library:
      return "--library \"" + escaped(model.libraries[owner.index].name) + "\"";
    case OwnerKind::method:
      return "--method \"" + escaped(model.methods[owner.index].name) + "\"";
    default:
      return "--model";
  }
}

Failure ambiguous(const Model& model, const std::string& name, const Indices& tensors, bool blob) {
  constexpr std::size_t most = 20;
  std::vector<std::string> options;
  for (const auto tensor : tensors) options.push_back(option_for(model, tensor));
  if (blob) options.emplace_back("--blob");
  const auto all = options.size();
  options.resize(std::min(all, most));
  if (all > most) options.push_back(fmt::format("{} more", all - most));
  return fail_on(ErrorCode::argument, "", name,
                 fmt::format("{} objects have this name; choose one of: {}", all, fmt::join(options, ", ")));
}

Result<FoundObject> find_blob(const Model& model, const std::string& name) {
  if (const auto blob = model.find_blob(name)) return FoundObject{no_index, *blob};
  return not_found(name, "the file has no blob");
}

Result<FoundObject> find_owned(const Model& model, const std::string& name, Owner owner,
                               const std::string& where) {
  if (const auto tensor = model.find_tensor(owner, name)) return FoundObject{*tensor, no_index};
  return not_found(name, where);
}

Result<FoundObject> find_in_library(const Model& model, const std::string& name, const std::string& library) {
  const auto owner = model.find_library(library);
  if (!owner) return not_found(library, "the file has no library");
  return find_owned(model, name, {OwnerKind::library, *owner},
                    "the library \"" + escaped(library) + "\" owns no tensor");
}

// A method may own a tensor without binding it, and binds constants of its libraries.
Result<FoundObject> find_in_method(const Model& model, const std::string& name, const std::string& method) {
  const auto index = model.find_method(method);
  if (!index) return not_found(method, "the file has no method");
  if (const auto meant = model.find_in_method(*index, name)) return FoundObject{*meant, no_index};
  if (const auto owned = model.find_tensor({OwnerKind::method, *index}, name))
    return FoundObject{*owned, no_index};
  auto bound = tensors_named(model, name);
  std::erase_if(bound, [&](std::uint32_t tensor) {
    return !std::ranges::binary_search(model.methods[*index].tensors, tensor);
  });
  if (bound.size() == 1) return FoundObject{bound.front(), no_index};
  if (bound.size() > 1) return ambiguous(model, name, bound, false);
  return not_found(name, "the method \"" + escaped(method) + "\" binds no tensor");
}

Result<FoundObject> find_anywhere(const Model& model, const std::string& name) {
  const auto tensors = tensors_named(model, name);
  const auto blob = model.find_blob(name);
  if (tensors.size() + (blob ? 1 : 0) > 1) return ambiguous(model, name, tensors, blob.has_value());
  if (blob) return FoundObject{no_index, *blob};
  if (!tensors.empty()) return FoundObject{tensors.front(), no_index};
  return not_found(name, "the file has neither a tensor nor a blob");
}

}  // namespace

Result<FoundObject> find_object(const Model& model, const std::string& name, const NameScope& scope) {
  if (scope.blob) return find_blob(model, name);
  if (scope.model) return find_owned(model, name, {}, "the model itself owns no tensor");
  if (!scope.library.empty()) return find_in_library(model, name, scope.library);
  if (!scope.method.empty()) return find_in_method(model, name, scope.method);
  return find_anywhere(model, name);
}

}  // namespace ptd::cli
