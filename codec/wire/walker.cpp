// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "wire/walker.hpp"

#include <array>
#include <cstring>
#include <string>

namespace ptd::wire {
namespace {

constexpr int max_list_depth = 4;  // [ENC-13]
constexpr std::uint64_t max_elements = (std::uint64_t{1} << 29) - 1;
constexpr unsigned struct_pointer = 0, list_pointer = 1;
constexpr unsigned byte_code = 2, four_byte_code = 4, eight_byte_code = 5, struct_code = 7;

unsigned code_of(PointerKind kind) {
  constexpr unsigned codes[] = {byte_code, byte_code, four_byte_code, eight_byte_code, struct_code};
  return codes[static_cast<unsigned>(kind)];
}

// Void, bit and pointer elements never occur [ENC-8].
bool is_lasting_code(unsigned code) {
  return (code >= byte_code && code <= eight_byte_code) || code == struct_code;
}

unsigned pointer_kind(std::uint64_t word) { return word & 3; }

// A list pointer: bits 2-31 signed offset, 32-34 element code, 35-63 count.
struct ListPointer {
  std::int64_t offset;
  unsigned code;
  std::uint64_t count;
  explicit ListPointer(std::uint64_t word)
      : offset(static_cast<std::int32_t>(static_cast<std::uint32_t>(word)) >> 2),
        code(static_cast<unsigned>(word >> 32) & 7),
        count(word >> 35) {}
};

// A struct pointer or the tag of a struct list: bits 2-31 offset or count, 32-47 data words, 48-63 pointers.
struct StructWord {
  std::uint64_t count;
  std::uint64_t data, pointers;
  explicit StructWord(std::uint64_t word)
      : count(static_cast<std::uint32_t>(word) >> 2), data(word >> 32 & 0xFFFF), pointers(word >> 48) {}
  [[nodiscard]] std::uint64_t words() const { return data + pointers; }
};

class Walker {
 public:
  Walker(Words words, Unknown unknown, std::uint64_t base) : words_(words), unknown_(unknown), base_(base) {}

  Result<void> run(const StructShape& root) {
    PTD_TRY(check_root());
    const StructWord form(words_[0]);
    cursor_ = 1;
    PTD_TRY(claim(form.words(), 0));
    PTD_TRY(check_form(1, 1, form, &root));
    PTD_TRY(visit_pointers(1, form, &root));
    if (cursor_ != words_.size())
      return refuse("ENC-5", cursor_, "words follow the last object of the message");
    return {};
  }

 private:
  [[nodiscard]] Failure refuse(std::string_view rule, std::uint64_t word, std::string what) const {
    return fail_at(
        ErrorCode::encoding, rule, base_ + word * 8,
        "the message is not in PTD's encoding: " + std::move(what) + "; write it with a conforming writer");
  }

  // Objects lie in preorder without gaps, so the next one always starts at the cursor.
  Result<void> claim(std::uint64_t count, std::uint64_t from) {
    if (count > words_.size() - cursor_)
      return refuse("ENC-4", from, "an object ends behind the end of the message");
    cursor_ += count;
    return {};
  }

  [[nodiscard]] Result<void> check_root() const {
    if (words_.empty() || pointer_kind(words_[0]) != struct_pointer || StructWord(words_[0]).count != 0 ||
        StructWord(words_[0]).words() == 0)
      return refuse("ENC-2", 0, "its first word is not a pointer to a struct in the second");
    return {};
  }

  // The sizes of a struct, or of all structs of a list: known, and as small as their values allow.
  [[nodiscard]] Result<void> check_form(std::uint64_t first, std::uint64_t count, const StructWord& form,
                                        const StructShape* shape) const {
    if (unknown_ == Unknown::refused &&
        (form.data > shape->data_masks.size() || form.pointers > shape->pointers.size()))
      return refuse("ENC-12", first, "a struct has fields that this version does not know");
    if (form.data > 0 && !any_set(first + form.data - 1, count, form.words()))
      return refuse("ENC-6", first, "the last data word of a struct is zero everywhere");
    if (form.pointers > 0 && !any_set(first + form.words() - 1, count, form.words()))
      return refuse("ENC-6", first, "the last pointer of a struct is null everywhere");
    return unknown_ == Unknown::refused ? check_bits(first, count, form, *shape) : Result<void>{};
  }

  // Column by column, and only those that have bits without a field: most words are all field.
  [[nodiscard]] Result<void> check_bits(std::uint64_t first, std::uint64_t count, const StructWord& form,
                                        const StructShape& shape) const {
    for (std::uint64_t column = 0; column < form.data; ++column) {
      const std::uint64_t spare = ~shape.data_masks[column];
      for (std::uint64_t i = 0; spare != 0 && i < count; ++i)
        if ((words_[first + column + i * form.words()] & spare) != 0)
          return refuse("ENC-12", first + column + i * form.words(),
                        "bits are set that this version does not know");
    }
    return {};
  }

  [[nodiscard]] bool any_set(std::uint64_t first, std::uint64_t count, std::uint64_t stride) const {
    for (std::uint64_t i = 0; i < count; ++i)
      if (words_[first + i * stride] != 0) return true;
    return false;
  }

  Result<void> visit_pointers(std::uint64_t at, const StructWord& form, const StructShape* shape) {
    for (std::uint64_t i = 0; i < form.pointers; ++i) {
      const std::uint64_t place = at + form.data + i;
      if (words_[place] == 0) continue;
      const bool known = shape != nullptr && i < shape->pointers.size();
      PTD_TRY(visit_pointer(place, known ? &shape->pointers[i] : nullptr));
    }
    return {};
  }

  Result<void> visit_pointer(std::uint64_t at, const PointerShape* shape) {
    const std::uint64_t word = words_[at];
    if (pointer_kind(word) != list_pointer)
      return refuse("ENC-3", at, "a pointer is neither null nor to a list");
    const ListPointer list(word);
    if (static_cast<std::int64_t>(at) + 1 + list.offset != static_cast<std::int64_t>(cursor_))
      return refuse("ENC-4", at, "a pointer does not lead to the next object");
    if (shape != nullptr ? list.code != code_of(shape->kind) : !is_lasting_code(list.code))
      return refuse("ENC-8", at, "a list has elements of another size than the schema's");
    if (list.count == 0) return refuse("ENC-9", at, "an empty list is not null");
    if (list.code == struct_code)
      return visit_struct_list(at, list, shape == nullptr ? nullptr : shape->element);
    return visit_plain_list(at, list, shape != nullptr && shape->kind == PointerKind::text);
  }

  Result<void> visit_plain_list(std::uint64_t at, const ListPointer& list, bool is_text) {
    const std::uint64_t first = cursor_;
    const std::uint64_t size = list.count << (list.code - byte_code);
    PTD_TRY(claim((size + 7) / 8, at));
    const std::uint64_t used_bits = size % 8 * 8;
    if (used_bits != 0 && words_[cursor_ - 1] >> used_bits != 0)
      return refuse("ENC-10", cursor_ - 1, "bits behind the end of a list are not zero");
    if (is_text && !is_text_list(first, size))
      return refuse("ENC-11", first, "a text is empty, holds a NUL or does not end in one");
    return {};
  }

  [[nodiscard]] bool is_text_list(std::uint64_t first, std::uint64_t size) const {
    const auto bytes = std::as_bytes(words_.subspan(first));
    return size >= 2 && std::memchr(bytes.data(), 0, size) == bytes.data() + (size - 1);
  }

  Result<void> visit_struct_list(std::uint64_t at, const ListPointer& list, const StructShape* element) {
    const std::uint64_t tag_at = cursor_;
    PTD_TRY(claim(1 + list.count, at));
    const StructWord tag(words_[tag_at]);
    if (pointer_kind(words_[tag_at]) != struct_pointer || tag.words() == 0 || tag.count == 0 ||
        tag.count > max_elements || tag.count * tag.words() != list.count)
      return refuse("ENC-7", tag_at, "the tag of a list of structs does not agree with the list's size");
    if (++depth_ > max_list_depth) return refuse("ENC-13", at, "lists are nested too deeply");
    PTD_TRY(check_form(tag_at + 1, tag.count, tag, element));
    for (std::uint64_t i = 0; tag.pointers > 0 && i < tag.count; ++i)
      PTD_TRY(visit_pointers(tag_at + 1 + i * tag.words(), tag, element));
    --depth_;
    return {};
  }

  Words words_;
  Unknown unknown_;
  std::uint64_t base_;
  std::uint64_t cursor_ = 0;
  int depth_ = 0;
};

}  // namespace

Result<void> check_message(Words words, const StructShape& root, Unknown unknown, std::uint64_t base) {
  return Walker(words, unknown, base).run(root);
}

}  // namespace ptd::wire
