// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "cli/rename_pairs.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <unordered_map>

#include "cli/model_compare.hpp"

namespace ptd::cli {
namespace {

using Indices = std::vector<std::uint32_t>;
using Pairs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

// A view and its bytes, as one string: equal strings, equal tensors.
class Fingerprint {
 public:
  Fingerprint(const Model& model, const Tensor& tensor) {
    const Storage& storage = model.storages[tensor.storage];
    add(static_cast<std::uint64_t>(tensor.dtype));
    add(static_cast<std::uint64_t>(storage.access));
    add(static_cast<std::uint64_t>(storage.placement));
    add(storage.size);
    add(tensor.storage_offset);
    add_shape(tensor);
    add_list(tensor.logical_sizes);
    add(tensor.scheme.size());
    text_ += tensor.scheme;
    if (storage.content == no_index) return;
    const auto& digest = model.contents[storage.content].digest;
    text_.append(reinterpret_cast<const char*>(digest.data()), digest.size());
  }

  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  void add(std::uint64_t number) { text_.append(reinterpret_cast<const char*>(&number), sizeof number); }
  void add_list(std::span<const std::uint64_t> numbers) {
    add(numbers.size());
    for (const auto number : numbers) add(number);
  }
  void add_shape(const Tensor& tensor) {
    add_list(tensor.sizes);
    for (std::size_t i = 0; i < tensor.sizes.size(); ++i) add(tensor.sizes[i] > 1 ? tensor.strides[i] : 0);
  }

  std::string text_;
};

// Nothing is no evidence.
bool has_bytes(const Model& model, const Tensor& tensor) {
  return element_count(tensor) > 0 && model.storages[tensor.storage].origin == Origin::stored;
}

struct Twins {
  Indices gone, fresh;
};

class Pairing {
 public:
  Pairing(const Model& before, const Model& after) : before_(before), after_(after) {}

  Pairs run(const Indices& gone, const Indices& fresh) {
    collect(before_, gone, &Twins::gone);
    collect(after_, fresh, &Twins::fresh);
    for (auto& [fingerprint, twins] : groups_) {
      pair_by_name(twins);
      if (twins.gone.size() == twins.fresh.size()) pair_in_order(twins);
    }
    std::ranges::sort(pairs_);
    return std::move(pairs_);
  }

 private:
  void collect(const Model& model, const Indices& tensors, Indices Twins::*side) {
    for (const auto i : tensors)
      if (has_bytes(model, model.tensors[i]))
        (groups_[Fingerprint(model, model.tensors[i]).take()].*side).push_back(i);
  }

  static void sort_by_name(const Model& model, Indices& tensors) {
    std::ranges::stable_sort(tensors, {}, [&](std::uint32_t i) { return model.tensors[i].name; });
  }

  // Takes the pairs of one name out of the group: their owner changed.
  void pair_by_name(Twins& twins) {
    sort_by_name(before_, twins.gone);
    sort_by_name(after_, twins.fresh);
    Twins rest;
    auto i = twins.gone.begin(), j = twins.fresh.begin();
    while (i != twins.gone.end() && j != twins.fresh.end()) {
      const auto order = before_.tensors[*i].name <=> after_.tensors[*j].name;
      if (order < 0)
        rest.gone.push_back(*i++);
      else if (order > 0)
        rest.fresh.push_back(*j++);
      else
        pairs_.emplace_back(*i++, *j++);
    }
    rest.gone.insert(rest.gone.end(), i, twins.gone.end());
    rest.fresh.insert(rest.fresh.end(), j, twins.fresh.end());
    twins = std::move(rest);
  }

  void pair_in_order(const Twins& twins) {
    for (std::size_t i = 0; i < twins.gone.size(); ++i) pairs_.emplace_back(twins.gone[i], twins.fresh[i]);
  }

  const Model &before_, &after_;
  std::unordered_map<std::string, Twins> groups_;
  Pairs pairs_;
};

}  // namespace

Pairs pair_renamed(const Model& before, const Indices& gone, const Model& after, const Indices& fresh) {
  return Pairing(before, after).run(gone, fresh);
}

}  // namespace ptd::cli
