// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "cli/facts.hpp"

#include <algorithm>

namespace ptd::cli {
namespace {

// Sums saturate: a small file may stand for very many zeros, very often.
void add(std::uint64_t& sum, std::uint64_t value) {
  if (__builtin_add_overflow(sum, value, &sum)) sum = ~std::uint64_t{0};
}

class Counter {
 public:
  explicit Counter(const Reader& file) : file_(file), model_(file.model()), users_(model_.contents.size()) {}

  Facts run() {
    count_methods();
    count_alone();
    for (const auto& storage : model_.storages)
      if (storage.origin == Origin::external) add(facts_.external_bytes, storage.size);
    for (const auto& content : model_.contents) facts_.raw_bytes += content.size;
    for (const auto& segment : file_.layout().segments) facts_.stored_bytes += segment.stored_size;
    const auto kept = facts_.raw_bytes + facts_.zero_bytes;
    facts_.shared_bytes = facts_.alone_bytes - std::min(kept, facts_.alone_bytes);
    count_unreferenced();
    return std::move(facts_);
  }

 private:
  [[nodiscard]] std::vector<std::uint32_t> storages_of(const Method& method) const {
    std::vector<std::uint32_t> storages;
    for (const auto tensor : method.tensors) storages.push_back(model_.tensors[tensor].storage);
    std::ranges::sort(storages);
    storages.erase(std::unique(storages.begin(), storages.end()), storages.end());
    return storages;
  }

  void count_methods() {
    std::vector<std::vector<std::uint32_t>> storages;
    for (const auto& method : model_.methods) {
      storages.push_back(storages_of(method));
      note_users(storages.back());
    }
    for (const auto& of_method : storages) facts_.methods.push_back(count_method(of_method));
  }

  void note_users(const std::vector<std::uint32_t>& storages) {
    std::vector<std::uint32_t> contents;
    for (const auto storage : storages)
      if (model_.storages[storage].content != no_index) contents.push_back(model_.storages[storage].content);
    std::ranges::sort(contents);
    contents.erase(std::unique(contents.begin(), contents.end()), contents.end());
    for (const auto content : contents) ++users_[content];
  }

  MethodFacts count_method(const std::vector<std::uint32_t>& storages) {
    MethodFacts out;
    for (const auto i : storages) {
      const Storage& storage = model_.storages[i];
      if (storage.origin == Origin::external) continue;
      add(out.bytes, storage.size);
      if (storage.content != no_index && users_[storage.content] > 1)
        add(out.shared_bytes, model_.contents[storage.content].size);
    }
    return out;
  }

  // A tensor stored on its own, as often as methods bind it.
  void count_tensor(std::uint32_t index) {
    const Tensor& tensor = model_.tensors[index];
    const Storage& storage = model_.storages[tensor.storage];
    if (storage.origin == Origin::external) return;
    // A broadcast view has more elements than bytes.
    const std::uint64_t bytes = std::min(logical_bytes(tensor), storage.size);
    add(facts_.alone_bytes, bytes);
    if (storage.is_zeros()) add(facts_.zero_bytes, bytes);
  }

  void count_alone() {
    std::vector<bool> bound(model_.tensors.size());
    for (const auto& method : model_.methods)
      for (const auto tensor : method.tensors) {
        bound[tensor] = true;
        count_tensor(tensor);
      }
    for (std::uint32_t i = 0; i < bound.size(); ++i)
      if (!bound[i]) count_tensor(i);
    for (const auto& blob : model_.blobs) {
      add(facts_.alone_bytes, blob.size);
      if (blob.content == no_index) add(facts_.zero_bytes, blob.size);
    }
  }

  // Bytes of contents outside the hull of every view. Views in order of their start make it one sweep.
  void count_unreferenced() {
    std::vector<std::vector<std::pair<std::uint64_t, std::uint64_t>>> views(model_.storages.size());
    for (const auto& tensor : model_.tensors)
      if (element_count(tensor) > 0) views[tensor.storage].push_back(hull_of(tensor));
    for (std::size_t i = 0; i < views.size(); ++i) {
      const auto content = model_.storages[i].content;
      facts_.unreferenced.push_back(content == no_index ? 0 : gaps(views[i], model_.contents[content].size));
      add(facts_.unreferenced_bytes, facts_.unreferenced.back());
    }
  }

  static std::pair<std::uint64_t, std::uint64_t> hull_of(const Tensor& tensor) {
    std::uint64_t elements = tensor.storage_offset + 1;
    for (std::size_t i = 0; i < tensor.sizes.size(); ++i)
      if (tensor.sizes[i] > 1) elements += (tensor.sizes[i] - 1) * tensor.strides[i];
    const std::uint64_t bits = dtype_bits(tensor.dtype);
    return {tensor.storage_offset * bits / 8, (elements * bits + 7) / 8};
  }

  static std::uint64_t gaps(std::vector<std::pair<std::uint64_t, std::uint64_t>>& views, std::uint64_t size) {
    std::ranges::sort(views);
    std::uint64_t end = 0, gap = 0;
    for (const auto& [from, to] : views) {
      if (from > end) gap += std::min(from, size) - std::min(end, size);
      end = std::max(end, to);
    }
    return gap + size - std::min(end, size);
  }

  const Reader& file_;
  const Model& model_;
  std::vector<std::uint32_t> users_;  // methods, by content
  Facts facts_;
};

}  // namespace

Facts gather_facts(const Reader& file) { return Counter(file).run(); }

}  // namespace ptd::cli
