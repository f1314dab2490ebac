// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "cli/model_diff.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <tuple>

#include "cli/rename_pairs.hpp"
#include "cli/walk_both.hpp"

namespace ptd::cli {
namespace {

using Indices = std::vector<std::uint32_t>;

// What of a model takes part. Lists ascend, so names do too.
struct Part {
  const Model& model;
  Indices tensors, libraries, blobs;
};

template <class List>
Indices all_of(const List& list) {
  Indices indices(list.size());
  std::iota(indices.begin(), indices.end(), 0U);
  return indices;
}

Part whole(const Model& model) {
  return {model, all_of(model.tensors), all_of(model.libraries), all_of(model.blobs)};
}

Indices copy_of(std::span<const std::uint32_t> indices) { return {indices.begin(), indices.end()}; }

Part bound_by(const Model& model, std::uint32_t method) {
  const auto& m = model.methods[method];
  return {model, copy_of(m.tensors), copy_of(m.libraries), copy_of(m.blobs)};
}

// What takes whose place: objects of the first model and of the second, where one became the other.
class Pairing {
 public:
  Pairing(std::size_t before, std::size_t after) : forward_(before, no_index), backward_(after, no_index) {}

  void join(std::uint32_t i, std::uint32_t j) {
    forward_[i] = j;
    backward_[j] = i;
  }
  [[nodiscard]] std::uint32_t after(std::uint32_t i) const { return forward_[i]; }
  [[nodiscard]] std::uint32_t before(std::uint32_t j) const { return backward_[j]; }

 private:
  Indices forward_, backward_;  // no_index for what is gone or new
};

auto key_of(const Model& model, const Tensor& tensor) {
  return std::tuple_cat(owner_name(model, tensor.owner), std::tuple(tensor.name));
}

std::string full_name(const Model& model, const Tensor& tensor) {
  const auto owner = owner_note(model, tensor.owner);
  return fmt::format("\"{}\"{}{}", tensor.name, owner.empty() ? "" : " of ", owner);
}

void add_saturated(std::uint64_t& sum, std::uint64_t value) {
  if (__builtin_add_overflow(sum, value, &sum)) sum = ~std::uint64_t{0};
}

void count(Tally& tally, const Tensor& tensor) {
  ++tally.tensors;
  add_saturated(tally.bytes, logical_bytes(tensor));
}

// What a model says about its tensors the other way round.
class Backwards {
 public:
  explicit Backwards(const Part& part)
      : model_(part.model),
        methods_(model_.tensors.size()),
        views_(model_.storages.size(), {no_index, no_index}) {
    for (const auto& method : model_.methods)
      for (const auto tensor : method.tensors) methods_[tensor].push_back(method.name);
    for (const auto tensor : part.tensors) note_view(views_[model_.tensors[tensor].storage], tensor);
  }

  /// The methods that bind it.
  [[nodiscard]] std::string methods_of(std::uint32_t tensor) const {
    return fmt::format("{}", fmt::join(methods_[tensor], ", "));
  }

  /// Another tensor in its storage, if there is one.
  [[nodiscard]] std::uint32_t neighbour_of(std::uint32_t tensor) const {
    const auto& [first, second] = views_[model_.tensors[tensor].storage];
    return first == tensor ? second : first;
  }

 private:
  using TwoViews = std::pair<std::uint32_t, std::uint32_t>;
  static void note_view(TwoViews& views, std::uint32_t tensor) {
    if (views.first == no_index)
      views.first = tensor;
    else if (views.second == no_index)
      views.second = tensor;
  }

  const Model& model_;
  std::vector<std::vector<std::string_view>> methods_;
  std::vector<TwoViews> views_;
};

class Diff {
 public:
  Diff(Part before, Part after)
      : a_(std::move(before)),
        b_(std::move(after)),
        backwards_a_(a_),
        backwards_b_(b_),
        tensors_(a_.model.tensors.size(), b_.model.tensors.size()),
        libraries_(a_.model.libraries.size(), b_.model.libraries.size()),
        blobs_(a_.model.blobs.size(), b_.model.blobs.size()),
        storages_(a_.model.storages.size(), b_.model.storages.size()) {}

  ModelDiff of_models() {
    compare_files();
    compare_file_metadata();
    compare_objects();
    compare_methods();
    return finish();
  }

  ModelDiff of_methods(const Method& a, const Method& b) {
    changed(Subject::method, b.name, compare_metadata(a.metadata, b.metadata));
    compare_objects();
    return finish();
  }

 private:
  Difference& add(Change change, Subject subject, std::string_view name, std::vector<Detail> details = {}) {
    auto& out = diff_.differences.emplace_back();
    out.change = change;
    out.subject = subject;
    out.name = name;
    out.details = std::move(details);
    return out;
  }

  void changed(Subject subject, std::string_view name, std::vector<Detail> details) {
    if (!details.empty()) add(Change::changed, subject, name, std::move(details));
  }

  void compare_files() {
    const auto version = [](const Model& m) { return fmt::format("{}.{}", m.major, m.minor); };
    std::vector<Detail> details;
    if (version(a_.model) != version(b_.model))
      details.push_back({"format version", version(a_.model), version(b_.model)});
    if (a_.model.required_features != b_.model.required_features)
      details.push_back({"required features", fmt::format("{:#x}", a_.model.required_features),
                         fmt::format("{:#x}", b_.model.required_features)});
    changed(Subject::file, "", std::move(details));
  }

  void compare_file_metadata() {
    for (auto& [key, before, after] : compare_pairs(a_.model.metadata, b_.model.metadata)) {
      const auto change = before.empty() ? Change::added : after.empty() ? Change::removed : Change::changed;
      add(change, Subject::metadata, key, {{"value", std::move(before), std::move(after)}});
    }
  }

  void compare_objects() {
    compare_libraries_and_blobs();
    compare_all_tensors();
    compare_contents();
  }

  // --- libraries and blobs, which names alone make one -------------------------------------------------

  template <class List, class Describe, class Compare>
  void compare_named(Subject subject, const List& in_a, const List& in_b, const Indices& part_a,
                     const Indices& part_b, Pairing& pairing, Describe describe, Compare compare) {
    walk_both(
        part_a, part_b, [&](std::uint32_t i) { return in_a[i].name; },
        [&](std::uint32_t i) { return in_b[i].name; },
        [&](std::uint32_t i) { add(Change::removed, subject, in_a[i].name, describe(in_a[i], false)); },
        [&](std::uint32_t i) { add(Change::added, subject, in_b[i].name, describe(in_b[i], true)); },
        [&](std::uint32_t i, std::uint32_t j) {
          pairing.join(i, j);
          changed(subject, in_b[j].name, compare(a_.model, in_a[i], b_.model, in_b[j]));
        });
  }

  static Detail fact(std::string what, std::string value, bool is_after) {
    return is_after ? Detail{std::move(what), "", std::move(value)}
                    : Detail{std::move(what), std::move(value), ""};
  }

  void compare_libraries_and_blobs() {
    compare_named(
        Subject::library, a_.model.libraries, b_.model.libraries, a_.libraries, b_.libraries, libraries_,
        [](const Library& library, bool after) {
          return std::vector{fact("variants", std::to_string(library.variants.size()), after)};
        },
        compare_libraries);
    compare_named(
        Subject::blob, a_.model.blobs, b_.model.blobs, a_.blobs, b_.blobs, blobs_,
        [](const Blob& blob, bool after) {
          return std::vector{fact("bytes", std::to_string(blob.size), after)};
        },
        compare_blobs);
  }

  // --- tensors -----------------------------------------------------------------------------------------

  void compare_all_tensors() {
    Indices gone, fresh;
    walk_both(
        a_.tensors, b_.tensors, [&](std::uint32_t i) { return key_of(a_.model, a_.model.tensors[i]); },
        [&](std::uint32_t i) { return key_of(b_.model, b_.model.tensors[i]); },
        [&](std::uint32_t i) { gone.push_back(i); }, [&](std::uint32_t i) { fresh.push_back(i); },
        [&](std::uint32_t i, std::uint32_t j) { tensors_.join(i, j); });
    for (const auto& [i, j] : pair_renamed(a_.model, gone, b_.model, fresh)) tensors_.join(i, j);
    for (const auto i : a_.tensors) {
      if (tensors_.after(i) == no_index)
        lose_tensor(i);
      else
        match_tensors(i, tensors_.after(i));
    }
    for (const auto j : fresh)
      if (tensors_.before(j) == no_index) gain_tensor(j);
  }

  static std::vector<Detail> facts_of(const Tensor& tensor, std::string methods, bool after) {
    std::vector facts{fact("dtype", std::string(dtype_name(tensor.dtype)), after),
                      fact("sizes", list_text(tensor.sizes), after),
                      fact("bytes", std::to_string(logical_bytes(tensor)), after)};
    if (!methods.empty()) facts.push_back(fact("methods", std::move(methods), after));
    return facts;
  }

  void lose_tensor(std::uint32_t index) {
    const Tensor& tensor = a_.model.tensors[index];
    count(diff_.summary.removed, tensor);
    auto facts = facts_of(tensor, backwards_a_.methods_of(index), false);
    add(Change::removed, Subject::tensor, tensor.name, std::move(facts)).owner =
        owner_note(a_.model, tensor.owner);
  }

  void gain_tensor(std::uint32_t index) {
    const Tensor& tensor = b_.model.tensors[index];
    count(diff_.summary.added, tensor);
    auto facts = facts_of(tensor, backwards_b_.methods_of(index), true);
    add(Change::added, Subject::tensor, tensor.name, std::move(facts)).owner =
        owner_note(b_.model, tensor.owner);
  }

  void match_tensors(std::uint32_t i, std::uint32_t j) {
    const Tensor &a = a_.model.tensors[i], &b = b_.model.tensors[j];
    auto details = compare_tensors(a_.model, a, b_.model, b);
    if (auto detail = compare_memory(i, j)) details.push_back(*std::move(detail));
    const bool renamed = key_of(a_.model, a) != key_of(b_.model, b);
    auto& tally = renamed           ? diff_.summary.renamed
                  : details.empty() ? diff_.summary.same
                                    : diff_.summary.changed;
    count(tally, b);
    if (!renamed && details.empty()) return;
    auto& out = add(renamed ? Change::renamed : Change::changed, Subject::tensor, a.name, std::move(details));
    out.owner = owner_note(a_.model, a.owner);
    if (!renamed) return;
    out.new_name = b.name;
    out.new_owner = owner_note(b_.model, b.owner);
  }

  // Tensors that share state must go on sharing it, and others must not begin to. Immutable storages may be
  // one or two as a writer likes.
  std::optional<Detail> compare_memory(std::uint32_t i, std::uint32_t j) {
    const auto a = a_.model.tensors[i].storage, b = b_.model.tensors[j].storage;
    const auto is_memory = [](const Storage& storage) {
      return storage.access == Access::mutable_ || storage.origin == Origin::external;
    };
    if (!is_memory(a_.model.storages[a]) || !is_memory(b_.model.storages[b])) return std::nullopt;
    if (storages_.after(a) == no_index && storages_.before(b) == no_index) storages_.join(a, b);
    if (storages_.after(a) == b) return std::nullopt;
    return Detail{"memory", memory_text(a_.model, backwards_a_.neighbour_of(i)),
                  memory_text(b_.model, backwards_b_.neighbour_of(j))};
  }

  static std::string memory_text(const Model& model, std::uint32_t neighbour) {
    return neighbour == no_index ? "its own" : "shared with " + full_name(model, model.tensors[neighbour]);
  }

  // --- methods -----------------------------------------------------------------------------------------

  void compare_methods() {
    walk_both(
        a_.model.methods, b_.model.methods, [](const Method& method) { return method.name; },
        [&](const Method& gone) { add(Change::removed, Subject::method, gone.name, facts_of(gone, false)); },
        [&](const Method& fresh) { add(Change::added, Subject::method, fresh.name, facts_of(fresh, true)); },
        [&](const Method& a, const Method& b) {
          changed(Subject::method, b.name, compare_metadata(a.metadata, b.metadata));
          compare_bindings(a, b);
        });
  }

  static std::vector<Detail> facts_of(const Method& method, bool after) {
    return {fact("tensors", std::to_string(method.tensors.size()), after),
            fact("libraries", std::to_string(method.libraries.size()), after),
            fact("blobs", std::to_string(method.blobs.size()), after)};
  }

  void compare_bindings(const Method& a, const Method& b) {
    const auto name = [](const auto& list) {
      return [&list](std::uint32_t i) { return fmt::format("\"{}\"", list[i].name); };
    };
    compare_bound(b.name, "tensor", a.tensors, b.tensors, tensors_,
                  [&](std::uint32_t j) { return full_name(b_.model, b_.model.tensors[j]); });
    compare_bound(b.name, "library", a.libraries, b.libraries, libraries_, name(b_.model.libraries));
    compare_bound(b.name, "blob", a.blobs, b.blobs, blobs_, name(b_.model.blobs));
  }

  // Of what both models have: what is gone or new has a line of its own, which names the methods.
  template <class Name>
  void compare_bound(std::string_view method, const char* what, std::span<const std::uint32_t> in_a,
                     std::span<const std::uint32_t> in_b, const Pairing& pairing, Name name) {
    Indices kept;
    for (const auto i : in_a)
      if (pairing.after(i) != no_index) kept.push_back(pairing.after(i));
    std::ranges::sort(kept);
    const auto same = [](std::uint32_t i) { return i; };
    walk_both(
        kept, in_b, same,
        [&](std::uint32_t j) {
          add(Change::changed, Subject::method, method, {{what, name(j), ""}});
        },
        [&](std::uint32_t j) {
          if (pairing.before(j) != no_index)
            add(Change::changed, Subject::method, method, {{what, "", name(j)}});
        },
        [](std::uint32_t, std::uint32_t) {});
  }

  // --- contents ----------------------------------------------------------------------------------------

  static Indices contents_of(const Part& part) {
    Indices contents;
    for (const auto i : part.tensors)
      contents.push_back(part.model.storages[part.model.tensors[i].storage].content);
    for (const auto i : part.blobs) contents.push_back(part.model.blobs[i].content);
    std::ranges::sort(contents);
    contents.erase(std::unique(contents.begin(), contents.end()), contents.end());
    if (!contents.empty() && contents.back() == no_index) contents.pop_back();
    return contents;
  }

  void compare_contents() {
    const auto &in_a = a_.model.contents, &in_b = b_.model.contents;
    auto& summary = diff_.summary;
    walk_both(
        contents_of(a_), contents_of(b_), [&](std::uint32_t i) { return in_a[i].digest; },
        [&](std::uint32_t i) { return in_b[i].digest; },
        [&](std::uint32_t i) { summary.before_bytes += in_a[i].size; },
        [&](std::uint32_t i) { summary.after_bytes += in_b[i].size; },
        [&](std::uint32_t, std::uint32_t j) { summary.shared_bytes += in_b[j].size; });
  }

  ModelDiff finish() {
    const auto key = [](const Difference& d) { return std::tie(d.subject, d.owner, d.name, d.change); };
    std::ranges::stable_sort(diff_.differences, {}, key);
    return std::move(diff_);
  }

  Part a_, b_;
  Backwards backwards_a_, backwards_b_;
  Pairing tensors_, libraries_, blobs_;
  Pairing storages_;  // of memory that matters
  ModelDiff diff_;
};

}  // namespace

std::string_view subject_name(Subject subject) noexcept {
  constexpr std::string_view names[] = {"file", "metadata", "method", "library", "blob", "tensor"};
  return names[static_cast<unsigned>(subject)];
}

ModelDiff diff_models(const Model& before, const Model& after) {
  return Diff(whole(before), whole(after)).of_models();
}

ModelDiff diff_methods(const Model& before, std::uint32_t method_before, const Model& after,
                       std::uint32_t method_after) {
  return Diff(bound_by(before, method_before), bound_by(after, method_after))
      .of_methods(before.methods[method_before], after.methods[method_after]);
}

}  // namespace ptd::cli
