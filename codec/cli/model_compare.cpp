// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "cli/model_compare.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "cli/walk_both.hpp"

namespace ptd::cli {
namespace {

std::string in_quotes(std::string_view text) { return fmt::format("\"{}\"", text); }

// Texts are made for what differs only: most of a large model is equal.
class Details {
 public:
  template <class T, class Text>
  void compare(std::string_view what, const T& a, const T& b, Text&& text) {
    if (a != b) add(std::string(what), text(a), text(b));
  }
  void add(std::string what, std::string before, std::string after) {
    details_.push_back({std::move(what), std::move(before), std::move(after)});
  }
  void add_all(std::vector<Detail> more) { std::ranges::move(more, std::back_inserter(details_)); }
  std::vector<Detail> take() { return std::move(details_); }

 private:
  std::vector<Detail> details_;
};

const auto number_text = [](std::uint64_t number) { return std::to_string(number); };
const auto plain_text = [](std::string_view text) { return std::string(text); };

std::string access_text(Access access) { return access == Access::mutable_ ? "mutable" : "immutable"; }
std::string origin_text(Origin origin) { return origin == Origin::external ? "external" : "stored"; }
std::string placement_text(Placement placement) {
  constexpr const char* names[] = {"", "any", "host", "device"};
  return names[static_cast<unsigned>(placement)];
}

std::string content_text(const Model& model, std::uint32_t content) {
  return content == no_index ? "zeros" : to_hex(model.contents[content].digest);
}

void compare_content(Details& out, const Model& before, std::uint32_t a, const Model& after,
                     std::uint32_t b) {
  const bool both = a != no_index && b != no_index;
  const bool same = both ? before.contents[a] == after.contents[b] : a == b;
  if (!same) out.add("content", content_text(before, a), content_text(after, b));
}

bool same_list(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b) {
  return std::ranges::equal(a, b);
}

bool same_strides(const Tensor& a, const Tensor& b) {
  for (std::size_t i = 0; i < a.sizes.size(); ++i)
    if (a.sizes[i] > 1 && a.strides[i] != b.strides[i]) return false;
  return true;
}

// Other sizes have other strides; that is worth a word only where one of the views has gaps or an order of
// its own.
void compare_shape(Details& out, const Tensor& a, const Tensor& b) {
  const bool same_sizes = same_list(a.sizes, b.sizes);
  if (!same_sizes) out.add("sizes", list_text(a.sizes), list_text(b.sizes));
  const bool same = same_sizes ? same_strides(a, b) : is_contiguous(a) && is_contiguous(b);
  if (!same) out.add("strides", list_text(a.strides), list_text(b.strides));
}

void compare_storages(Details& out, const Model& before, const Storage& a, const Model& after,
                      const Storage& b) {
  if (a.origin == b.origin) compare_content(out, before, a.content, after, b.content);
  out.compare("storage size", a.size, b.size, number_text);
  out.compare("access", a.access, b.access, access_text);
  out.compare("origin", a.origin, b.origin, origin_text);
  out.compare("placement", a.placement, b.placement, placement_text);
}

std::string value_text(const Pair& pair) {
  if (pair.kind == ValueKind::bytes) return fmt::format("{} bytes", pair.value.size());
  return pair.kind == ValueKind::json ? std::string(pair.value) : in_quotes(pair.value);
}

void compare_pair(Details& out, const Pair& a, const Pair& b) {
  if (a.kind == b.kind && a.value == b.value) return;
  auto before = value_text(a), after = value_text(b);
  if (before == after) after = fmt::format("{} other bytes", b.value.size());
  out.add(std::string(a.key), std::move(before), std::move(after));
}

std::string variant_text(const Model& model, const Variant& variant) {
  auto text = fmt::format("sm {} ptx {}", variant.sm, variant.ptx);
  if (!variant.target.empty()) text += " " + std::string(variant.target);
  if (variant.kind == VariantKind::fallback) text += " fallback";
  return text +
         (variant.blob == no_index ? " without code" : " in " + in_quotes(model.blobs[variant.blob].name));
}

std::set<std::string> variant_texts(const Model& model, const Library& library) {
  std::set<std::string> texts;
  for (const auto& variant : library.variants) texts.insert(variant_text(model, variant));
  return texts;
}

}  // namespace

std::vector<Detail> compare_tensors(const Model& before, const Tensor& a, const Model& after,
                                    const Tensor& b) {
  Details out;
  out.compare("dtype", a.dtype, b.dtype, [](DType dtype) { return std::string(dtype_name(dtype)); });
  compare_shape(out, a, b);
  out.compare("storage offset", a.storage_offset, b.storage_offset, number_text);
  compare_storages(out, before, before.storages[a.storage], after, after.storages[b.storage]);
  out.compare("scheme", a.scheme, b.scheme, plain_text);
  if (!same_list(a.logical_sizes, b.logical_sizes))
    out.add("logical sizes", list_text(a.logical_sizes), list_text(b.logical_sizes));
  out.add_all(compare_metadata(a.metadata, b.metadata));
  return out.take();
}

std::vector<Detail> compare_blobs(const Model& before, const Blob& a, const Model& after, const Blob& b) {
  Details out;
  compare_content(out, before, a.content, after, b.content);
  out.compare("size", a.size, b.size, number_text);
  out.compare("media type", a.media_type, b.media_type, plain_text);
  out.add_all(compare_metadata(a.metadata, b.metadata));
  return out.take();
}

std::vector<Detail> compare_libraries(const Model& before, const Library& a, const Model& after,
                                      const Library& b) {
  Details out;
  const auto in_a = variant_texts(before, a), in_b = variant_texts(after, b);
  for (const auto& text : in_a)
    if (!in_b.contains(text)) out.add("variant", text, "");
  for (const auto& text : in_b)
    if (!in_a.contains(text)) out.add("variant", "", text);
  out.add_all(compare_metadata(a.metadata, b.metadata));
  return out.take();
}

std::vector<Detail> compare_pairs(const std::vector<Pair>& a, const std::vector<Pair>& b) {
  Details out;
  walk_both(
      a, b, [](const Pair& pair) { return pair.key; },
      [&](const Pair& only) { out.add(std::string(only.key), value_text(only), ""); },
      [&](const Pair& only) { out.add(std::string(only.key), "", value_text(only)); },
      [&](const Pair& in_a, const Pair& in_b) { compare_pair(out, in_a, in_b); });
  return out.take();
}

std::vector<Detail> compare_metadata(const std::vector<Pair>& a, const std::vector<Pair>& b) {
  auto details = compare_pairs(a, b);
  for (auto& detail : details) detail.what = "metadata " + in_quotes(detail.what);
  return details;
}

OwnerName owner_name(const Model& model, const Owner& owner) {
  switch (owner.kind) {
    case OwnerKind::library:
      return {owner.kind, model.libraries[owner.index].name};
    case OwnerKind::method:
      return {owner.kind, model.methods[owner.index].name};
    default:
      return {OwnerKind::model, {}};
  }
}

std::string owner_text(const OwnerName& owner) {
  if (owner.first == OwnerKind::model) return "the model";
  return (owner.first == OwnerKind::library ? "library " : "method ") + in_quotes(owner.second);
}

std::string owner_note(const Model& model, const Owner& owner) {
  return owner.kind == OwnerKind::model ? "" : owner_text(owner_name(model, owner));
}

std::string list_text(std::span<const std::uint64_t> values) {
  return fmt::format("[{}]", fmt::join(values, ", "));
}

}  // namespace ptd::cli
