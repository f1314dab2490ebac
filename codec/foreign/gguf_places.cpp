// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Where the tensors of a GGUF file lie.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "foreign/gguf_cursor.hpp"
#include "foreign/gguf_rules.hpp"
#include "foreign/json_events.hpp"

namespace ptd::foreign {
namespace {

constexpr std::uint64_t default_alignment = 32;
constexpr std::uint64_t max_alignment = 0xFFFFFFFF;
constexpr std::uint64_t dim_limit = std::uint64_t{1} << 63;

std::string description(const GgufTensor& tensor) {
  return fmt::format("tensor {} is {} [{}] (innermost first)", quote(tensor.name), tensor.type->name,
                     fmt::join(tensor.dims, ", "));
}

std::string text_of(wire::Maybe number) { return number ? std::to_string(*number) : "2^64 or more"; }

Failure misplaced(const GgufTensor& tensor, wire::Maybe expected, std::uint64_t alignment) {
  const bool is_aligned = tensor.offset % alignment == 0;
  return fail_on(ErrorCode::foreign_input, "", tensor.name,
                 fmt::format("{} and begins at offset {} of the data, {}; the tensors before it, aligned to "
                             "{}, end at {}",
                             description(tensor), tensor.offset,
                             is_aligned ? "which leaves a gap or overlaps" : "which is not aligned",
                             alignment, text_of(expected)));
}

Failure cut_short(std::string_view subject, const std::string& what, wire::Maybe needed,
                  std::uint64_t file_size) {
  return fail_on(ErrorCode::foreign_input, "", subject,
                 fmt::format("the GGUF file is cut short: {} ends at byte {}, and the file has {} bytes; "
                             "fetch or copy the file again",
                             what, text_of(needed), file_size));
}

// Each tensor where the one before it ends; at the same time no sum can overflow.
Result<void> check_order(const GgufHeader& header, std::uint64_t file_size) {
  wire::Maybe expected = 0;
  for (const auto& tensor : header.tensors) {
    if (tensor.offset != expected) return misplaced(tensor, expected, header.alignment);
    const auto end = wire::add(wire::add(header.data_offset, expected), tensor.bytes);
    if (!end || *end > file_size)
      return cut_short(tensor.name, "tensor " + quote(tensor.name), end, file_size);
    expected = round_up(wire::add(expected, tensor.bytes), header.alignment);
  }
  return {};
}

Result<void> check_end(GgufHeader& header, std::uint64_t file_size) {
  const auto end = gguf_content_end(header);
  const auto padded = round_up(end, header.alignment);
  header.has_padded_end = padded == file_size;
  if (header.has_padded_end || end == file_size) return {};
  if (!padded || file_size < *padded)
    return cut_short("", "the padding behind the last tensor", padded, file_size);
  return fail_at(ErrorCode::foreign_input, "", *padded,
                 fmt::format("the last {} bytes of the GGUF file belong to no tensor", file_size - *padded));
}

template <class Integer>
std::optional<std::uint64_t> unsigned_of(Bytes bytes) {
  const auto value = wire::load<Integer>(bytes, 0);
  if (std::cmp_less(value, 0)) return std::nullopt;
  return static_cast<std::uint64_t>(value);
}

}  // namespace

Result<std::uint64_t> gguf_tensor_bytes(const GgufTensor& tensor, ErrorCode code) {
  const auto refuse = [&](std::string_view why) {
    return fail_on(code, "", tensor.name, fmt::format("{}, {}", description(tensor), why));
  };
  const auto& dims = tensor.dims;
  if (dims.size() > max_gguf_rank) return refuse(fmt::format("and GGUF allows {} dimensions", max_gguf_rank));
  if (std::ranges::any_of(dims, [](auto dim) { return dim >= dim_limit; }))
    return refuse("which GGUF cannot count: a dimension is below 2^63");
  const std::uint64_t row = dims.empty() ? 1 : dims.front();
  if (row % tensor.type->block != 0)
    return refuse(fmt::format("and {} elements do not fill blocks of {}", row, tensor.type->block));
  if (std::ranges::find(dims, 0U) != dims.end()) return 0;
  wire::Maybe bytes = wire::multiply(row / tensor.type->block, tensor.type->block_bytes);
  for (std::size_t i = 1; i < dims.size(); ++i) bytes = wire::multiply(bytes, dims[i]);
  if (!bytes || *bytes >= dim_limit) return refuse("which is more than any file can hold");
  return *bytes;
}

std::optional<std::uint64_t> gguf_unsigned(const GgufPair& pair, Bytes file) {
  const auto value = file.subspan(pair.begin, pair.end - pair.begin);
  switch (pair.type) {
    case GgufType::uint8:
      return unsigned_of<std::uint8_t>(value);
    case GgufType::int8:
      return unsigned_of<std::int8_t>(value);
    case GgufType::uint16:
      return unsigned_of<std::uint16_t>(value);
    case GgufType::int16:
      return unsigned_of<std::int16_t>(value);
    case GgufType::uint32:
      return unsigned_of<std::uint32_t>(value);
    case GgufType::int32:
      return unsigned_of<std::int32_t>(value);
    case GgufType::uint64:
      return unsigned_of<std::uint64_t>(value);
    case GgufType::int64:
      return unsigned_of<std::int64_t>(value);
    default:
      return std::nullopt;
  }
}

Result<void> check_alignment(GgufHeader& header, Bytes file) {
  header.alignment = default_alignment;
  const auto pair = std::ranges::find(header.pairs, alignment_key, &GgufPair::key);
  if (pair == header.pairs.end()) return {};
  const auto stated = gguf_unsigned(*pair, file);
  if (!stated || *stated == 0 || *stated % 8 != 0 || *stated > max_alignment)
    return fail_on(ErrorCode::foreign_input, "", alignment_key,
                   fmt::format("general.alignment must be a multiple of 8 below 2^32, and is {}",
                               stated ? std::to_string(*stated) : "no such integer"));
  header.alignment = *stated;
  return {};
}

Result<void> check_places(GgufHeader& header, std::uint64_t file_size) {
  const auto data = round_up(header.header_bytes, header.alignment);
  if (!data || (*data > file_size && !header.tensors.empty()))
    return cut_short("", "the header, aligned,", data, file_size);
  header.data_offset = *data;
  PTD_TRY(check_order(header, file_size));
  return check_end(header, file_size);
}

std::uint64_t gguf_content_end(const GgufHeader& header) noexcept {
  if (header.tensors.empty()) return header.header_bytes;
  const auto& last = header.tensors.back();
  return header.data_offset + last.offset + last.bytes;
}

}  // namespace ptd::foreign
