// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "cuda/layout.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace ptd::cuda {
namespace {

/// A number for each storage, equal for those that exactly the same methods use: each method splits the sets
/// before it.
std::vector<std::uint32_t> method_sets(const Model& model) {
  constexpr std::uint32_t none = no_index;
  std::vector<std::uint32_t> sets(model.storages.size());
  std::vector<std::uint32_t> seen_by(model.storages.size(), none);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> split{
      {none, 0}};  // by set: the method that split it, into what
  for (std::uint32_t method = 0; method < model.methods.size(); ++method)
    for (const auto tensor : model.methods[method].tensors) {
      const auto storage = model.tensors[tensor].storage;
      if (std::exchange(seen_by[storage], method) == method) continue;
      const auto old = sets[storage];
      if (split[old].first != method) {
        split[old] = {method, static_cast<std::uint32_t>(split.size())};
        split.emplace_back(none, 0);
      }
      sets[storage] = split[old].second;
    }
  return sets;
}

void order_by_file(const Reader& file, Layout& layout) {
  const auto& storages = file.model().storages;
  std::vector<std::pair<std::uint64_t, std::uint32_t>> places;
  places.reserve(storages.size());
  for (std::uint32_t i = 0; i < storages.size(); ++i) {
    const auto content = storages[i].content;
    places.emplace_back(content == no_index ? ~std::uint64_t{0} : file.segment_of(content).offset, i);
  }
  std::ranges::sort(places);
  layout.entries.reserve(places.size());
  layout.entry_of_storage.resize(places.size());
  for (const auto& [place, storage] : places) {
    const auto& spec = storages[storage];
    const auto number = static_cast<std::uint32_t>(layout.entries.size());
    layout.entry_of_storage[storage] = number;
    layout.has_external |= spec.origin == Origin::external;
    layout.entries.push_back(
        {storage, number, 0, spec.access == Access::mutable_, spec.placement == Placement::host, spec.size});
  }
}

void number_groups(const Model& model, Layout& layout) {
  const auto sets = method_sets(model);
  const auto kind = [&](const Entry& entry) {
    return std::tuple(entry.is_on_host, entry.is_mutable, sets[entry.storage]);
  };
  std::map<std::tuple<bool, bool, std::uint32_t>, std::uint32_t> numbers;
  for (const auto& entry : layout.entries) numbers.try_emplace(kind(entry));
  std::uint32_t groups = 0;
  for (auto& [of, number] : numbers) number = groups++;
  layout.group_sizes.resize(groups);
  for (auto& entry : layout.entries) {
    entry.group = numbers.find(kind(entry))->second;
    ++layout.group_sizes[entry.group];
  }
}

/// Contents are unique by digest [CON-2], so equal ones have equal numbers. Nearly all have one storage, so
/// only the others go through a map.
void find_twins(const Model& model, Layout& layout) {
  std::vector<std::uint32_t> first_of(model.contents.size(), no_index);
  std::map<std::tuple<std::uint32_t, std::uint64_t, bool>, std::uint32_t> others;
  for (auto& entry : layout.entries) {
    const auto& storage = model.storages[entry.storage];
    if (entry.is_mutable || storage.origin == Origin::external) continue;
    if (storage.content != no_index) {
      auto& first = first_of[storage.content];
      if (first == no_index) first = entry.twin;
      const auto& other = layout.entries[first];
      if (other.bytes == entry.bytes && other.is_on_host == entry.is_on_host) {
        entry.twin = first;
        continue;
      }
    }
    const auto key = std::tuple(storage.content, entry.bytes, entry.is_on_host);
    entry.twin = others.try_emplace(key, entry.twin).first->second;
  }
}

}  // namespace

Layout lay_out(const Reader& file) {
  Layout layout;
  order_by_file(file, layout);
  number_groups(file.model(), layout);
  find_twins(file.model(), layout);
  layout.has_coded = std::ranges::any_of(file.layout().segments,
                                         [](const auto& segment) { return is_coded(segment.encoding); });
  layout.entry_of_tensor.reserve(file.model().tensors.size());
  for (const auto& tensor : file.model().tensors)
    layout.entry_of_tensor.push_back(layout.entry_of_storage[tensor.storage]);
  return layout;
}

}  // namespace ptd::cuda
