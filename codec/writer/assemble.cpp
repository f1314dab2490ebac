// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "writer/assemble.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

namespace ptd::writer {
namespace {

using Numbers = std::vector<std::uint32_t>;

// The place in the file of each object that the writer numbered in the order added.
Numbers ranks_of(const std::map<std::string_view, std::uint32_t>& by_name) {
  Numbers ranks(by_name.size());
  std::uint32_t rank = 0;
  for (const auto& [name, number] : by_name) ranks[number] = rank++;
  return ranks;
}

class Assembler {
 public:
  Assembler(const Writer::State& state, const Plan& plan, const Streamed& streamed)
      : state_(state),
        plan_(plan),
        streamed_(streamed),
        methods_(ranks_of(state.method_by_name)),
        libraries_(ranks_of(state.library_by_name)),
        blobs_(ranks_of(state.blob_by_name)) {}

  Assembled run() && {
    add_contents();
    add_tensors();
    add_libraries();
    add_methods();
    add_blobs();
    for (const auto& [key, pair] : state_.metadata)
      out_.model.metadata.push_back({pair.key, pair.value, pair.kind});
    add_segments();
    return std::move(out_);
  }

 private:
  void add_contents() {
    auto& contents = out_.model.contents;
    for (const auto& stored : streamed_.segments) contents.push_back(stored.content);
    std::ranges::sort(contents, {}, &Content::digest);
  }

  [[nodiscard]] std::uint32_t content_of(const Digest& digest) const {
    const auto& contents = out_.model.contents;
    const auto found = std::ranges::lower_bound(contents, digest, {}, &Content::digest);
    return static_cast<std::uint32_t>(found - contents.begin());
  }

  [[nodiscard]] std::uint32_t content_of_unit(std::uint32_t unit) const {
    if (unit == no_index || streamed_.units.empty() || streamed_.units[unit].zero) return no_index;
    return content_of(streamed_.units[unit].content.digest);
  }

  // Tensors in file order; storages as tensors first refer to them.
  void add_tensors() {
    const auto order = order_tensors();
    tensor_ranks_.resize(order.size());
    storage_ranks_.assign(state_.storages.size(), no_index);
    for (const auto number : order) {
      const TensorSpec& spec = state_.tensors[number];
      tensor_ranks_[number] = static_cast<std::uint32_t>(out_.model.tensors.size());
      Tensor tensor = view_tensor(spec);
      tensor.owner = owner_of(spec.owner);
      tensor.storage = storage_of(state_.root_of(static_cast<std::uint32_t>(spec.storage)));
      out_.model.tensors.push_back(std::move(tensor));
    }
  }

  [[nodiscard]] Numbers order_tensors() const {
    Numbers order;
    order.reserve(state_.tensors.size());
    for (const auto& [key, number] : state_.tensor_by_key) order.push_back(number);
    // The keys are ordered by name within each owner already; owners are ordered by their names.
    std::ranges::stable_sort(order, {},
                             [&](std::uint32_t number) { return owner_of(state_.tensors[number].owner); });
    return order;
  }

  [[nodiscard]] Owner owner_of(const OwnerSpec& spec) const {
    if (spec.kind == OwnerKind::model) return {};
    return {spec.kind, spec.kind == OwnerKind::library ? libraries_[spec.id] : methods_[spec.id]};
  }

  std::uint32_t storage_of(std::uint32_t root) {
    auto& rank = storage_ranks_[root];
    if (rank == no_index) rank = add_storage(root);
    return rank;
  }

  std::uint32_t add_storage(std::uint32_t root) {
    const StorageSpec& spec = state_.storages[root].spec;
    const Storage storage{spec.size, content_of_unit(plan_.unit_of_storage[root]), spec.access, spec.origin,
                          spec.placement};
    const auto next = static_cast<std::uint32_t>(out_.model.storages.size());
    if (storage.access == Access::immutable && storage.origin == Origin::stored) {
      const auto [twin, is_new] =
          immutable_.try_emplace({storage.content, storage.size, storage.placement}, next);
      if (!is_new) return twin->second;
    }
    out_.model.storages.push_back(storage);
    return next;
  }

  void add_libraries() {
    for (const auto& [name, number] : state_.library_by_name) {
      const LibrarySpec& spec = state_.libraries[number];
      Library library{name, {}, view_pairs(spec.metadata)};
      for (const auto& variant : spec.variants) library.variants.push_back(view_variant(variant));
      std::ranges::sort(library.variants, {},
                        [](const Variant& v) { return std::tuple(v.kind, v.sm, v.ptx, v.target); });
      out_.model.libraries.push_back(std::move(library));
    }
  }

  [[nodiscard]] Variant view_variant(const VariantSpec& spec) const {
    return {spec.has_blob ? blobs_[static_cast<std::uint32_t>(spec.blob)] : no_index, spec.sm, spec.ptx,
            spec.kind, spec.target};
  }

  void add_methods() {
    for (const auto& [name, number] : state_.method_by_name) {
      const auto& spec = state_.methods[number];
      out_.model.methods.push_back({name, ranked(spec.tensors, tensor_ranks_),
                                    ranked(spec.libraries, libraries_), ranked(spec.blobs, blobs_),
                                    view_pairs(spec.metadata)});
    }
  }

  std::span<const std::uint32_t> ranked(const Numbers& numbers, const Numbers& ranks) {
    auto& list = out_.index_lists.emplace_back();
    for (const auto number : numbers) list.push_back(ranks[number]);
    std::ranges::sort(list);
    list.erase(std::unique(list.begin(), list.end()), list.end());
    return list;
  }

  void add_blobs() {
    for (const auto& [name, number] : state_.blob_by_name) {
      const BlobSpec& spec = state_.blobs[number];
      out_.model.blobs.push_back({name, spec.size, content_of_unit(plan_.unit_of_blob[number]),
                                  spec.media_type, view_pairs(spec.metadata)});
    }
  }

  void add_segments() {
    for (const auto& stored : streamed_.segments) {
      out_.layout.segments.push_back(stored.segment);
      out_.layout.segments.back().content = content_of(stored.content.digest);
    }
  }

  const Writer::State& state_;
  const Plan& plan_;
  const Streamed& streamed_;
  Numbers methods_, libraries_, blobs_, tensor_ranks_, storage_ranks_;
  std::map<std::tuple<std::uint32_t, std::uint64_t, Placement>, std::uint32_t> immutable_;
  Assembled out_;
};

}  // namespace

Assembled assemble(const Writer::State& state, const Plan& plan, const Streamed& streamed) {
  return Assembler(state, plan, streamed).run();
}

}  // namespace ptd::writer
