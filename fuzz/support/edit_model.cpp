// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "support/edit_model.hpp"

#include <bit>
#include <limits>

namespace ptd::fuzz {
namespace {

/// Numbers at which checks differ: powers of two, their neighbours, and what was there before, but for one.
std::uint64_t interesting(std::uint64_t old, Choices& choices) {
  switch (choices.below(6)) {
    case 0:
      return old + 1;
    case 1:
      return old - 1;
    case 2:
      return choices.below(0);
    case 3:
      return choices.below(256);
    case 4:
      return (std::uint64_t{1} << choices.below(64)) - choices.below(2);
    default:
      return old ^ (std::uint64_t{1} << choices.below(64));
  }
}

/// The least stride that takes the end of a dimension past 2^64: to where it began, if overflow is not
/// looked at. Two elements cannot go so far.
std::uint64_t wrapping_stride(std::uint64_t size) {
  constexpr auto largest = ~std::uint64_t{0};
  return size < 3 ? largest : largest / (size - 1) + 1;
}

template <class Number>
requires std::is_integral_v<Number> || std::is_enum_v<Number>
void edit_number(Number& number, Choices& choices) {
  number = static_cast<Number>(interesting(static_cast<std::uint64_t>(number), choices));
}

std::string edited(std::string_view text, Choices& choices) {
  std::string out(text);
  const auto at = choices.below(out.size() + 1);
  const auto byte = static_cast<char>(choices.below(256));
  switch (choices.below(4)) {
    case 0:
      return {};
    case 1:
      return out.insert(at, 1, byte);
    case 2:
      return std::string(choices.below(1100), 'n');
    default:
      if (at < out.size()) out[at] = byte;
      return out;
  }
}

template <class Element>
void edit_list(std::vector<Element>& list, Choices& choices) {
  if (list.empty()) return;
  const auto one = choices.below(list.size());
  const auto other = choices.below(list.size());
  switch (choices.below(3)) {
    case 0:
      std::swap(list[one], list[other]);
      break;
    case 1: {
      const Element copy = list[one];
      list.insert(list.begin() + static_cast<std::ptrdiff_t>(other), copy);
      break;
    }
    default:
      list.erase(list.begin() + static_cast<std::ptrdiff_t>(one));
  }
}

template <class Integer>
std::vector<Integer> edited(std::span<const Integer> numbers, Choices& choices) {
  std::vector<Integer> out(numbers.begin(), numbers.end());
  if (out.empty() || choices.flag())
    out.push_back(static_cast<Integer>(choices.below(8)));
  else if (choices.flag())
    edit_number(out[choices.below(out.size())], choices);
  else
    edit_list(out, choices);
  return out;
}

/// Any one of a list's elements, if there is one.
template <class Element>
Element* any(std::vector<Element>& list, Choices& choices) {
  return list.empty() ? nullptr : &list[choices.below(list.size())];
}

class ModelEdit {
 public:
  ModelEdit(samples::Sample& sample, Choices& choices)
      : sample_(sample), model_(sample.model), choices_(choices) {}

  void run() {
    switch (choices_.below(9)) {
      case 0:
        return edit_version();
      case 1:
        return edit_any(model_.contents, [&](Content& one) { edit_content(one); });
      case 2:
        return edit_any(model_.storages, [&](Storage& one) { edit_storage(one); });
      case 3:
        return edit_any(model_.libraries, [&](Library& one) { edit_library(one); });
      case 4:
        return edit_any(model_.methods, [&](Method& one) { edit_method(one); });
      case 5:
        return edit_any(model_.blobs, [&](Blob& one) { edit_blob(one); });
      case 6:
        return edit_pairs(model_.metadata);
      default:
        return edit_any(model_.tensors, [&](Tensor& one) { edit_tensor(one); });
    }
  }

 private:
  template <class Element, class Edit>
  void edit_any(std::vector<Element>& list, Edit edit) {
    if (choices_.below(4) == 0) return edit_list(list, choices_);
    if (auto* one = any(list, choices_)) edit(*one);
  }

  void edit_text(std::string_view& text) { text = sample_.text(edited(text, choices_)); }
  void edit_numbers(std::span<const std::uint64_t>& list) { list = sample_.numbers(edited(list, choices_)); }
  void edit_indices(std::span<const std::uint32_t>& list) { list = sample_.indices(edited(list, choices_)); }

  void edit_version() {
    switch (choices_.below(3)) {
      case 0:
        return edit_number(model_.major, choices_);
      case 1:
        return edit_number(model_.minor, choices_);
      default:
        return edit_number(model_.required_features, choices_);
    }
  }

  void edit_content(Content& content) {
    if (choices_.flag()) return edit_number(content.size, choices_);
    auto& byte = content.digest[choices_.below(content.digest.size())];
    byte = static_cast<std::byte>(choices_.below(256));
  }

  void edit_storage(Storage& storage) {
    switch (choices_.below(5)) {
      case 0:
        return edit_number(storage.size, choices_);
      case 1:
        return edit_number(storage.content, choices_);
      case 2:
        return edit_number(storage.access, choices_);
      case 3:
        return edit_number(storage.origin, choices_);
      default:
        return edit_number(storage.placement, choices_);
    }
  }

  void edit_variant(Variant& variant) {
    switch (choices_.below(5)) {
      case 0:
        return edit_number(variant.blob, choices_);
      case 1:
        return edit_number(variant.sm, choices_);
      case 2:
        return edit_number(variant.ptx, choices_);
      case 3:
        return edit_number(variant.kind, choices_);
      default:
        return edit_text(variant.target);
    }
  }

  void edit_library(Library& library) {
    switch (choices_.below(3)) {
      case 0:
        return edit_text(library.name);
      case 1:
        return edit_pairs(library.metadata);
      default:
        return edit_any(library.variants, [&](Variant& one) { edit_variant(one); });
    }
  }

  void edit_method(Method& method) {
    switch (choices_.below(5)) {
      case 0:
        return edit_text(method.name);
      case 1:
        return edit_pairs(method.metadata);
      case 2:
        return edit_indices(method.libraries);
      case 3:
        return edit_indices(method.blobs);
      default:
        return edit_indices(method.tensors);
    }
  }

  void edit_tensor(Tensor& tensor) {
    switch (choices_.below(11)) {
      case 0:
        return edit_text(tensor.name);
      case 1:
        return edit_number(tensor.owner.kind, choices_);
      case 2:
        return edit_number(tensor.owner.index, choices_);
      case 3:
        return edit_number(tensor.dtype, choices_);
      case 4:
        return edit_number(tensor.storage, choices_);
      case 5:
        return edit_number(tensor.storage_offset, choices_);
      case 6:
        return edit_numbers(tensor.sizes);
      case 7:
        return edit_strides(tensor);
      case 8:
        return edit_text(tensor.scheme);
      case 9:
        return edit_numbers(tensor.logical_sizes);
      default:
        return edit_pairs(tensor.metadata);
    }
  }

  void edit_strides(Tensor& tensor) {
    const bool matches = !tensor.sizes.empty() && tensor.sizes.size() == tensor.strides.size();
    if (!matches || choices_.flag()) return edit_numbers(tensor.strides);
    std::vector<std::uint64_t> strides(tensor.strides.begin(), tensor.strides.end());
    const auto one = choices_.below(strides.size());
    strides[one] = wrapping_stride(tensor.sizes[one]);
    tensor.strides = sample_.numbers(std::move(strides));
  }

  void edit_blob(Blob& blob) {
    switch (choices_.below(5)) {
      case 0:
        return edit_text(blob.name);
      case 1:
        return edit_number(blob.size, choices_);
      case 2:
        return edit_number(blob.content, choices_);
      case 3:
        return edit_text(blob.media_type);
      default:
        return edit_pairs(blob.metadata);
    }
  }

  void edit_pairs(std::vector<Pair>& pairs) {
    edit_any(pairs, [&](Pair& one) {
      if (choices_.below(3) == 0)
        edit_number(one.kind, choices_);
      else
        edit_text(choices_.flag() ? one.key : one.value);
    });
  }

  samples::Sample& sample_;
  Model& model_;
  Choices& choices_;
};

}  // namespace

void edit_model(samples::Sample& sample, Choices& choices) { ModelEdit(sample, choices).run(); }

void edit_layout(Layout& layout, Choices& choices) {
  if (choices.below(4) == 0) return edit_list(layout.segments, choices);
  auto* segment = any(layout.segments, choices);
  if (segment == nullptr) return edit_number(layout.minor, choices);
  switch (choices.below(7)) {
    case 0:
      return edit_number(segment->content, choices);
    case 1:
      return edit_number(segment->encoding, choices);
    case 2:
      return edit_number(segment->alignment_log2, choices);
    case 3:
      return edit_number(segment->chunk_log2, choices);
    case 4:
      return edit_number(segment->stored_size, choices);
    case 5:
      return edit_number(layout.major, choices);
    default:
      return edit_number(layout.minor, choices);
  }
}

void edit_words(std::vector<std::uint64_t>& words, Choices& choices) {
  if (words.empty()) return;
  if (choices.flag()) return edit_number(words[choices.below(words.size())], choices);
  edit_list(words, choices);
}

}  // namespace ptd::fuzz
