// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "wire/utf8.hpp"

#include <cstdint>
#include <cstring>

namespace ptd::wire {
namespace {

// Lead bytes by what must follow (Unicode, table 3-7): the second byte's range rules out overlong
// forms, surrogates and code points past U+10FFFF.
struct Form {
  unsigned char first, last;
  std::size_t length;
  unsigned char second_min, second_max;
};
constexpr Form forms[] = {
    {0x00, 0x7F, 1, 0, 0},       {0xC2, 0xDF, 2, 0x80, 0xBF}, {0xE0, 0xE0, 3, 0xA0, 0xBF},
    {0xE1, 0xEC, 3, 0x80, 0xBF}, {0xED, 0xED, 3, 0x80, 0x9F}, {0xEE, 0xEF, 3, 0x80, 0xBF},
    {0xF0, 0xF0, 4, 0x90, 0xBF}, {0xF1, 0xF3, 4, 0x80, 0xBF}, {0xF4, 0xF4, 4, 0x80, 0x8F},
};

unsigned char at(std::string_view text, std::size_t i) { return static_cast<unsigned char>(text[i]); }

const Form* form_of(unsigned char lead) {
  for (const auto& form : forms)
    if (lead >= form.first && lead <= form.last) return &form;
  return nullptr;
}

bool tail_matches(std::string_view text, const Form& form) {
  if (text.size() < form.length) return false;
  if (form.length > 1 && (at(text, 1) < form.second_min || at(text, 1) > form.second_max)) return false;
  for (std::size_t i = 2; i < form.length; ++i)
    if ((at(text, i) & 0xC0) != 0x80) return false;
  return true;
}

bool eight_ascii(const char* bytes) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes, sizeof word);
  return (word & 0x8080808080808080ULL) == 0;
}

}  // namespace

Utf8Char decode_utf8(std::string_view text) noexcept {
  const Form* form = form_of(at(text, 0));
  if (form == nullptr || !tail_matches(text, *form)) return {};
  if (form->length == 1) return {at(text, 0), 1};
  char32_t code = at(text, 0) & (0xFFU >> (form->length + 1));
  for (std::size_t i = 1; i < form->length; ++i) code = (code << 6) | (at(text, i) & 0x3FU);
  return {code, form->length};
}

bool is_utf8(std::string_view text) noexcept {
  std::size_t i = 0;
  while (i < text.size()) {
    if (text.size() - i >= 8 && eight_ascii(text.data() + i)) {
      i += 8;
    } else if (at(text, i) < 0x80) {
      ++i;
    } else {
      const auto next = decode_utf8(text.substr(i));
      if (next.length == 0) return false;
      i += next.length;
    }
  }
  return true;
}

}  // namespace ptd::wire
