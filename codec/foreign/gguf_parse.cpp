// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <ptd/limits.hpp>

#include "foreign/gguf_cursor.hpp"
#include "foreign/gguf_rules.hpp"
#include "foreign/guard.hpp"
#include "foreign/json_events.hpp"
#include "wire/utf8.hpp"

namespace ptd::foreign {
namespace {

constexpr std::string_view swapped_magic = "FUGG";
constexpr std::string_view prefix = "its first 24 bytes";
constexpr std::uint64_t least_pair_bytes = 8 + 1 + 4 + 1;        // a key of one byte, a value of one byte
constexpr std::uint64_t least_tensor_bytes = 8 + 1 + 4 + 4 + 8;  // a name of one byte, no dimensions

Failure refuse_version(std::uint32_t version) {
  if (version == 1)
    return fail_at(ErrorCode::unsupported_input, "", 4,
                   "this is GGUF version 1, which was in use for a few days of August 2023; convert the "
                   "original model again with a current llama.cpp");
  return fail_at(ErrorCode::unsupported_input, "", 4,
                 fmt::format("this is GGUF version {}; versions 2 and 3 are known", version));
}

Failure refuse_big_endian() {
  return fail_at(
      ErrorCode::unsupported_input, "", 4,
      "this is a big-endian GGUF file; run `gguf-convert-endian FILE little` of the Python package "
      "gguf first");
}

Result<std::uint32_t> read_version(GgufCursor& cursor) {
  PTD_LET(magic, cursor.take(gguf_magic.size(), prefix));
  if (std::ranges::equal(magic, std::as_bytes(std::span(swapped_magic)))) return refuse_big_endian();
  if (!std::ranges::equal(magic, std::as_bytes(std::span(gguf_magic))))
    return fail_at(ErrorCode::foreign_input, "", 0, "a GGUF file begins with \"GGUF\"");
  PTD_LET(version, cursor.number<std::uint32_t>(prefix));
  if (version != 0 && (version & 0xFFFF) == 0) return refuse_big_endian();
  if (version != 2 && version != 3) return refuse_version(version);
  return version;
}

Result<std::uint64_t> read_count(GgufCursor& cursor, std::uint64_t least_bytes, std::uint64_t limit,
                                 std::string_view what) {
  PTD_LET(count, cursor.count(least_bytes, what));
  if (count <= limit) return count;
  return fail(ErrorCode::unsupported_input, "",
              fmt::format("the GGUF file has {} {}, and PTD holds at most {}", count, what, limit));
}

// --- pairs ---------------------------------------------------------------------------------------------

Error of_key(Error error, std::string_view key) {
  error.message += fmt::format(" (metadata key {})", quote(key));
  error.subject = key;
  return error;
}

Result<void> read_value(GgufCursor& cursor, GgufPair& pair) {
  PTD_LET(type, read_gguf_type(cursor));
  pair.type = type;
  pair.begin = cursor.position();
  PTD_TRY(skip_gguf_value(cursor, type));
  pair.end = cursor.position();
  return {};
}

Result<GgufPair> read_pair(GgufCursor& cursor) {
  const auto position = cursor.position();
  PTD_LET(key, cursor.string("a metadata key"));
  if (key.empty()) return fail_at(ErrorCode::foreign_input, "", position, "a metadata key is empty");
  if (key.size() > max_gguf_key_bytes)
    return fail_at(
        ErrorCode::foreign_input, "", position,
        fmt::format("a metadata key has {} bytes; GGUF allows {}", key.size(), max_gguf_key_bytes));
  GgufPair pair;
  pair.key = key;
  if (auto value = read_value(cursor, pair); !value) return Failure(of_key(std::move(value).error(), key));
  return pair;
}

// --- tensors -------------------------------------------------------------------------------------------

Failure refuse(const GgufTensor& tensor, ErrorCode code, std::string_view what) {
  return fail_on(code, "", tensor.name, fmt::format("tensor {} {}", quote(tensor.name), what));
}

Result<void> check_name(const GgufTensor& tensor, std::uint64_t position) {
  if (tensor.name.empty())
    return fail_at(ErrorCode::unsupported_input, "", position,
                   "a tensor's name is empty, which PTD does not allow");
  if (tensor.name.size() > limits::max_name_bytes)
    return refuse(
        tensor, ErrorCode::unsupported_input,
        fmt::format("has a name of {} bytes; PTD allows {}", tensor.name.size(), limits::max_name_bytes));
  if (!wire::is_utf8(tensor.name) || tensor.name.find('\0') != std::string::npos)
    return refuse(tensor, ErrorCode::unsupported_input,
                  "has a name that is not UTF-8 or holds a NUL, which PTD does not allow");
  return {};
}

Result<const GgmlType*> read_tensor_type(GgufCursor& cursor, const GgufTensor& tensor) {
  PTD_LET(number, cursor.number<std::uint32_t>("the description of a tensor"));
  if (const auto* type = ggml_type(number)) return type;
  if (const auto name = removed_ggml_type(number); !name.empty())
    return refuse(tensor, ErrorCode::unsupported_input,
                  fmt::format("has type {} (number {}), which GGML has removed; quantise the original model "
                              "again with a current llama.cpp",
                              name, number));
  return refuse(tensor, ErrorCode::unsupported_input,
                fmt::format("has type number {}, which this version of ptd does not know", number));
}

Result<void> read_dims(GgufCursor& cursor, GgufTensor& tensor) {
  PTD_LET(rank, cursor.number<std::uint32_t>("the description of a tensor"));
  if (rank > max_gguf_rank)
    return refuse(tensor, ErrorCode::unsupported_input,
                  fmt::format("has {} dimensions; GGUF allows {}", rank, max_gguf_rank));
  for (std::uint32_t i = 0; i < rank; ++i) {
    PTD_LET(dim, cursor.number<std::uint64_t>("the description of a tensor"));
    tensor.dims.push_back(dim);
  }
  return {};
}

Result<GgufTensor> read_tensor(GgufCursor& cursor) {
  const auto position = cursor.position();
  GgufTensor tensor;
  PTD_LET(name, cursor.string("a tensor's name"));
  tensor.name = name;
  PTD_TRY(check_name(tensor, position));
  PTD_TRY(read_dims(cursor, tensor));
  PTD_LET(type, read_tensor_type(cursor, tensor));
  tensor.type = type;
  PTD_LET(offset, cursor.number<std::uint64_t>("the description of a tensor"));
  tensor.offset = offset;
  PTD_LET(bytes, gguf_tensor_bytes(tensor, ErrorCode::foreign_input));
  tensor.bytes = bytes;
  return tensor;
}

// --- the whole -----------------------------------------------------------------------------------------

// By sorting: hashing could be made slow by chosen names, comparing each with each is.
template <class Item>
Result<void> check_unique(const std::vector<Item>& items, std::string Item::*name, std::string_view what) {
  std::vector<std::size_t> order(items.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) -> std::string_view { return items[i].*name; });
  const auto twin = std::ranges::adjacent_find(
      order, [&](std::size_t a, std::size_t b) { return items[a].*name == items[b].*name; });
  if (twin == order.end()) return {};
  const auto& repeated = items[*twin].*name;
  return fail_on(ErrorCode::duplicate, "", repeated,
                 fmt::format("duplicate {} {}: it is number {} and number {} of {}", what, quote(repeated),
                             *twin + 1, *std::next(twin) + 1, items.size()));
}

Result<void> read_pairs(GgufCursor& cursor, std::uint64_t count, GgufHeader& header) {
  for (std::uint64_t i = 0; i < count; ++i) {
    PTD_LET(pair, read_pair(cursor));
    header.pairs.push_back(std::move(pair));
  }
  header.pairs_end = cursor.position();
  return check_unique(header.pairs, &GgufPair::key, "metadata key");
}

Result<void> read_tensors(GgufCursor& cursor, std::uint64_t count, GgufHeader& header) {
  for (std::uint64_t i = 0; i < count; ++i) {
    PTD_LET(tensor, read_tensor(cursor));
    header.tensors.push_back(std::move(tensor));
  }
  header.header_bytes = cursor.position();
  return check_unique(header.tensors, &GgufTensor::name, "tensor name");
}

Result<GgufHeader> read_header(GgufCursor& cursor, Bytes first, std::uint64_t file_size) {
  GgufHeader header;
  PTD_LET(version, read_version(cursor));
  header.version = version;
  PTD_LET(tensors, read_count(cursor, least_tensor_bytes, limits::max_tensors, "tensors"));
  PTD_LET(pairs, read_count(cursor, least_pair_bytes, limits::max_pairs, "metadata pairs"));
  PTD_TRY(read_pairs(cursor, pairs, header));
  PTD_TRY(check_alignment(header, first));
  PTD_TRY(read_tensors(cursor, tensors, header));
  PTD_TRY(check_places(header, file_size));
  return header;
}

Result<std::optional<GgufHeader>> parse(Bytes first, std::uint64_t file_size) {
  GgufCursor cursor(first, file_size);
  auto header = read_header(cursor, first, file_size);
  if (header) return std::optional(std::move(*header));
  if (cursor.is_starved()) return std::optional<GgufHeader>();
  return Failure(std::move(header).error());
}

}  // namespace

Result<std::optional<GgufHeader>> parse_gguf(Bytes first, std::uint64_t file_size) {
  return guarded([&] { return parse(first, file_size); });
}

}  // namespace ptd::foreign
