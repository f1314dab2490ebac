// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "cuda/layout.hpp"

#include <algorithm>
#include <map>
#include <numeric>
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

void number_groups(const Model& model, Layout& layout) {
  const auto sets = method_sets(model);
  const auto kind = [&](std::size_t i) {
    const auto& storage = model.storages[i];
    return std::tuple(storage.placement == Placement::host, storage.access, sets[i]);
  };
  std::map<decltype(kind(0)), std::uint32_t> numbers;
  for (std::size_t i = 0; i < sets.size(); ++i) numbers.try_emplace(kind(i));
  for (auto& [of, number] : numbers) number = layout.groups++;
  layout.group.resize(sets.size());
  for (std::size_t i = 0; i < sets.size(); ++i) layout.group[i] = numbers.find(kind(i))->second;
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
  layout.order.reserve(places.size());
  for (const auto& [place, storage] : places) layout.order.push_back(storage);
}

// Contents are unique by digest [CON-2], so equal ones have equal numbers.
void find_twins(const Model& model, Layout& layout) {
  layout.twin.resize(model.storages.size());
  std::iota(layout.twin.begin(), layout.twin.end(), 0U);
  std::map<std::tuple<std::uint32_t, std::uint64_t, Placement>, std::uint32_t> first;
  for (std::uint32_t i = 0; i < model.storages.size(); ++i) {
    const auto& storage = model.storages[i];
    if (storage.access == Access::mutable_ || storage.origin == Origin::external) continue;
    layout.twin[i] = first.try_emplace({storage.content, storage.size, storage.placement}, i).first->second;
  }
}

}  // namespace

Layout lay_out(const Reader& file) {
  Layout layout;
  order_by_file(file, layout);
  number_groups(file.model(), layout);
  find_twins(file.model(), layout);
  for (std::uint32_t i = 0; i < file.model().contents.size() && !layout.is_coded; ++i)
    layout.is_coded = is_coded(file.segment_of(i).encoding);
  return layout;
}

}  // namespace ptd::cuda
