// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// parse_header. Input: the file's size (8 bytes, little-endian), then the file's first bytes.
#include <algorithm>

#include "support/require.hpp"
#include "support/target.hpp"
#include "wire/endian.hpp"
#include "wire/hash.hpp"
#include "wire/header.hpp"

namespace ptd::fuzz {
namespace {

constexpr std::uint64_t max_message_bytes = std::uint64_t{1} << 30;

void require_in_file(const wire::Header& header, std::uint64_t file_size) {
  require(header.layout_offset >= wire::header_bytes, "the layout lies behind the header");
  require(header.layout_offset % 8 == 0 && header.layout_size % 8 == 0 && header.model_size % 8 == 0,
          "messages are whole words");
  require(header.layout_size > 0 && header.layout_size <= max_message_bytes && header.model_size > 0 &&
              header.model_size <= max_message_bytes,
          "messages are within the reader's limit");
  require(header.layout_offset <= file_size && header.layout_size <= file_size - header.layout_offset,
          "the layout lies in the file");
  require(header.model_size == file_size - header.layout_offset - header.layout_size,
          "the model ends the file");
}

void check(Bytes first, std::uint64_t file_size) {
  const auto header = wire::parse_header(first, file_size, max_message_bytes);
  if (!succeeded(header)) return;
  require_in_file(*header, file_size);
  require(std::ranges::equal(wire::encode_header(*header), first.first(wire::header_bytes)),
          "what was read is written the same");
}

void repair_hash(MutableBytes header) {
  const auto hashed = header.first(wire::header_bytes - 8);
  wire::store(header, hashed.size(), wire::xxh3(hashed));
}

void run(Bytes input) {
  if (input.size() < 8) return;
  const auto file_size = wire::load<std::uint64_t>(input, 0);
  const auto first = input.subspan(8, std::min<std::size_t>(input.size() - 8, wire::header_bytes));
  if (first.size() > file_size) return;
  if (first.size() < wire::header_bytes && first.size() != file_size) return;
  check(first, file_size);
  if (first.size() < wire::header_bytes) return;
  std::vector<std::byte> repaired(first.begin(), first.end());
  repair_hash(repaired);
  check(repaired, file_size);
}

}  // namespace

Target header_target() { return {"header", run, {16 << 10, 16}}; }

}  // namespace ptd::fuzz
