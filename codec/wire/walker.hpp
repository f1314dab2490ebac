// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// The message encoding: one pass over the words of a Cap'n Proto message that accepts exactly one
// encoding of each value [ENC-*].
#pragma once

#include <cstdint>
#include <ptd/error.hpp>
#include <span>

namespace ptd::wire {

using Words = std::span<const std::uint64_t>;

struct StructShape;

enum class PointerKind : std::uint8_t { text, data, u32_list, u64_list, struct_list };

/// What the schema says about one pointer of a struct.
struct PointerShape {
  PointerKind kind = PointerKind::data;
  const StructShape* element = nullptr;  ///< of a struct_list
};

/// What the schema says about a struct: which bits of each data word carry fields, and its pointers.
struct StructShape {
  std::span<const std::uint64_t> data_masks;
  std::span<const PointerShape> pointers;
};

extern const StructShape model_shape;
extern const StructShape layout_shape;

/// What to make of bits, words and pointers that the shape does not know.
enum class Unknown : std::uint8_t {
  refused,  ///< the file is of this reader's minor version or an older one: they cannot be there
  ignored,  ///< of a later one: they may be there, but obey every other rule
};

/// Checks a whole message. `base` is its byte offset in the file, for errors (code `encoding`). After success
/// Cap'n Proto's getters meet nothing that they would refuse or read in two ways. Time is linear in
/// the message, memory constant.
Result<void> check_message(Words words, const StructShape& root, Unknown unknown, std::uint64_t base);

}  // namespace ptd::wire
