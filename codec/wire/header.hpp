// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// The fixed 80 bytes at offset 0.
#pragma once

#include <array>
#include <cstdint>
#include <ptd/bytes.hpp>

namespace ptd::wire {

inline constexpr std::uint64_t header_bytes = 80;
inline constexpr std::array<unsigned char, 8> magic = {0x89, 0x50, 0x54, 0x44, 0x0D, 0x0A, 0x1A, 0x0A};
inline constexpr std::uint16_t supported_major = 1;
inline constexpr std::uint16_t supported_minor = 0;

/// Required feature bits that this reader knows: version 1.0 defines none.
inline constexpr std::uint64_t known_required_features = 0;
/// The bits that the model message repeats [VER-1].
inline constexpr std::uint64_t model_feature_mask = 0xFFFFFFFF;

struct Header {
  std::uint16_t major = supported_major;
  std::uint16_t minor = supported_minor;
  std::uint64_t required_features = 0;
  std::uint64_t optional_features = 0;
  std::uint64_t layout_offset = 0;
  std::uint64_t layout_size = 0;
  std::uint64_t model_size = 0;
  std::uint64_t layout_hash = 0;
  std::uint64_t model_hash = 0;

  [[nodiscard]] std::uint64_t model_offset() const noexcept { return layout_offset + layout_size; }
  [[nodiscard]] std::uint64_t file_size() const noexcept { return model_offset() + model_size; }
};

/// Checks the header rules in SPEC.md's order against the file's first bytes (up to 80 of them; fewer only
/// if the file is shorter) and its size. What it returns has a layout and a model that lie in the file and
/// end it. `max_message_bytes` is the reader's own limit for each message.
Result<Header> parse_header(Bytes first, std::uint64_t file_size, std::uint64_t max_message_bytes);

/// The 80 bytes, hash included.
std::array<std::byte, header_bytes> encode_header(const Header& header);

}  // namespace ptd::wire
