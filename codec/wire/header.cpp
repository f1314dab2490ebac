// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "wire/header.hpp"

#include <algorithm>
#include <ptd/limits.hpp>

#include "wire/checked.hpp"
#include "wire/endian.hpp"
#include "wire/hash.hpp"

namespace ptd::wire {
namespace {

// Byte offsets of the fields (SPEC.md, "Header").
constexpr std::size_t at_major = 8, at_minor = 10, at_size = 12, at_required = 16, at_optional = 24,
                      at_layout_offset = 32, at_layout_size = 40, at_model_size = 48, at_layout_hash = 56,
                      at_model_hash = 64, at_header_hash = 72;
constexpr std::uint32_t size_read_big_endian = 0x50000000;  // 80 with its bytes reversed

Result<void> check_magic(Bytes first) {
  const auto length = std::min<std::size_t>(first.size(), magic.size());
  if (!std::ranges::equal(first.first(length), std::as_bytes(std::span(magic)).first(length)))
    return fail_at(ErrorCode::not_ptd, "HDR-1", 0, "this is not a PTD file: its first 8 bytes are not PTD's");
  if (first.size() < header_bytes)
    return fail_at(ErrorCode::too_short, "HDR-2", first.size(),
                   "the file ends inside its 80-byte header, after " + std::to_string(first.size()) +
                       " bytes; it is empty or was cut off, so fetch it again");
  return {};
}

Result<void> check_header_hash(Bytes first) {
  if (load<std::uint64_t>(first, at_header_hash) == xxh3(first.first(at_header_hash))) return {};
  if (load<std::uint32_t>(first, at_size) == size_read_big_endian)
    return fail_at(ErrorCode::byte_order, "HDR-3", at_size,
                   "wrong byte order: the header's integers are big-endian, and PTD is little-endian only");
  return fail_at(ErrorCode::header_hash, "HDR-4", at_header_hash,
                 "the header does not match its hash; the file is damaged, so fetch it again");
}

Result<void> check_version(Bytes first) {
  const auto major = load<std::uint16_t>(first, at_major);
  if (major != supported_major)
    return fail_at(ErrorCode::major_version, "HDR-5", at_major,
                   "the file is of PTD version " + std::to_string(major) + "." +
                       std::to_string(load<std::uint16_t>(first, at_minor)) +
                       " and this reader reads 1.x; use a reader of that version");
  const auto size = load<std::uint32_t>(first, at_size);
  if (size != header_bytes)
    return fail_at(ErrorCode::header_size, "HDR-6", at_size,
                   "the header says that it has " + std::to_string(size) + " bytes; in version 1 it has 80");
  const auto unknown = load<std::uint64_t>(first, at_required) & ~known_required_features;
  if (unknown != 0)
    return fail_at(ErrorCode::required_feature, "HDR-7", at_required,
                   "the file needs feature bit " + std::to_string(std::countr_zero(unknown)) +
                       ", which this reader does not know; use a newer reader");
  return {};
}

Header read_fields(Bytes first) {
  return {load<std::uint16_t>(first, at_major),         load<std::uint16_t>(first, at_minor),
          load<std::uint64_t>(first, at_required),      load<std::uint64_t>(first, at_optional),
          load<std::uint64_t>(first, at_layout_offset), load<std::uint64_t>(first, at_layout_size),
          load<std::uint64_t>(first, at_model_size),    load<std::uint64_t>(first, at_layout_hash),
          load<std::uint64_t>(first, at_model_hash)};
}

bool is_message_size(std::uint64_t size) {
  return size != 0 && size % 8 == 0 && size <= limits::max_message_bytes;
}

Result<void> check_ranges(const Header& header) {
  const auto end = add(add(header.layout_offset, header.layout_size), header.model_size);
  if (header.layout_offset < header_bytes || header.layout_offset % 8 != 0 || !end ||
      *end > limits::max_file_bytes)
    return fail_at(ErrorCode::header_range, "HDR-8", at_layout_offset,
                   "the header places the layout at byte " + std::to_string(header.layout_offset) +
                       ", where it cannot be");
  for (const auto& [size, place] :
       {std::pair{header.layout_size, at_layout_size}, std::pair{header.model_size, at_model_size}})
    if (!is_message_size(size))
      return fail_at(ErrorCode::header_range, "HDR-9", place,
                     "a message of " + std::to_string(size) +
                         " bytes cannot be: sizes are multiples of 8 from 8 to 1,073,741,824");
  return {};
}

Result<void> check_file_size(std::uint64_t expected, std::uint64_t actual) {
  if (actual < expected)
    return fail_at(ErrorCode::truncated, "HDR-10", actual,
                   "the file is cut off: " + std::to_string(expected - actual) + " of " +
                       std::to_string(expected) + " bytes are missing, so fetch it again");
  if (actual > expected)
    return fail_at(ErrorCode::trailing_bytes, "HDR-11", expected,
                   std::to_string(actual - expected) + " bytes follow the end of the file's data at byte " +
                       std::to_string(expected));
  return {};
}

Result<void> check_reader_limit(const Header& header, std::uint64_t max_message_bytes) {
  const auto largest = std::max(header.layout_size, header.model_size);
  if (largest <= max_message_bytes) return {};
  return fail(ErrorCode::reader_limit, "LIM-2",
              "a message of " + std::to_string(largest) + " bytes is over this reader's limit of " +
                  std::to_string(max_message_bytes) + "; raise the limit");
}

}  // namespace

Result<Header> parse_header(Bytes first, std::uint64_t file_size, std::uint64_t max_message_bytes) {
  PTD_TRY(check_magic(first));
  PTD_TRY(check_header_hash(first));
  PTD_TRY(check_version(first));
  const Header header = read_fields(first);
  PTD_TRY(check_ranges(header));
  PTD_TRY(check_file_size(header.file_size(), file_size));
  PTD_TRY(check_reader_limit(header, max_message_bytes));
  return header;
}

std::array<std::byte, header_bytes> encode_header(const Header& header) {
  std::array<std::byte, header_bytes> bytes{};
  const MutableBytes out(bytes);
  std::memcpy(bytes.data(), magic.data(), magic.size());
  store(out, at_major, header.major);
  store(out, at_minor, header.minor);
  store(out, at_size, static_cast<std::uint32_t>(header_bytes));
  store(out, at_required, header.required_features);
  store(out, at_optional, header.optional_features);
  store(out, at_layout_offset, header.layout_offset);
  store(out, at_layout_size, header.layout_size);
  store(out, at_model_size, header.model_size);
  store(out, at_layout_hash, header.layout_hash);
  store(out, at_model_hash, header.model_hash);
  store(out, at_header_hash, xxh3(Bytes(bytes).first(at_header_hash)));
  return bytes;
}

}  // namespace ptd::wire
