// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// GGUF files. Input: the file.
#include "foreign/gguf.hpp"

#include <algorithm>

#include "foreign/gguf_cursor.hpp"
#include "support/conversion.hpp"
#include "support/require.hpp"
#include "support/target.hpp"
#include "wire/endian.hpp"

namespace ptd::fuzz {
namespace {

using foreign::GgufHeader;

void require_in_file(const GgufHeader& header, Bytes file) {
  require(header.pairs_end <= header.header_bytes && header.header_bytes <= file.size(),
          "the header lies in the file");
  for (const auto& pair : header.pairs)
    require(pair.begin <= pair.end && pair.end <= header.pairs_end, "values lie in the header");
  for (const auto& tensor : header.tensors)
    require(tensor.bytes == 0 ||
                (header.data_offset <= file.size() && tensor.offset <= file.size() - header.data_offset &&
                 tensor.bytes <= file.size() - header.data_offset - tensor.offset),
            "tensors lie in the file");
}

void require_renderable(const GgufHeader& header, Bytes file) {
  auto again = header;
  const auto pairs = file.subspan(foreign::gguf_prefix_bytes, header.pairs_end - foreign::gguf_prefix_bytes);
  const auto bytes = foreign::render_gguf(again, header.pairs.size(), pairs);
  require_success(bytes, "what was parsed is rendered");
  require(std::ranges::equal(*bytes, file.first(header.header_bytes)), "a header comes back as it was");
}

/// The elements that an array of numbers says it has are all there: type and count stand before them.
void require_counted(const foreign::GgufPair& pair, Bytes file) {
  constexpr std::uint64_t head = 4 + 8;
  if (pair.type != foreign::GgufType::array) return;
  const auto width = foreign::gguf_width(foreign::GgufType{wire::load<std::uint32_t>(file, pair.begin)});
  const auto count = wire::load<std::uint64_t>(file, pair.begin + 4);
  const auto bytes = pair.end - pair.begin - head;
  if (width > 0) require(bytes % width == 0 && count == bytes / width, "an array's elements are there");
}

// A part of the file gives nothing, an error, or the same.
void check_part(Bytes file) {
  const auto part = foreign::parse_gguf(file.first(file.size() / 2), file.size());
  if (!succeeded(part) || !*part) return;
  const auto whole = foreign::parse_gguf(file, file.size());
  require_success(whole, "more of a file changes nothing");
  require((*whole)->header_bytes == (*part)->header_bytes, "more of a file changes nothing");
}

/// The file with all padding zero: what it holds is not kept.
std::vector<std::byte> without_padding(Bytes file, const GgufHeader& header) {
  std::vector<std::byte> out(file.size());
  const auto keep = [&](std::uint64_t offset, std::uint64_t size) {
    std::ranges::copy(file.subspan(offset, size), out.begin() + static_cast<std::ptrdiff_t>(offset));
  };
  keep(0, header.header_bytes);
  for (const auto& tensor : header.tensors)
    if (tensor.bytes > 0) keep(header.data_offset + tensor.offset, tensor.bytes);
  return out;
}

void check_conversion(Bytes input, const GgufHeader& header) {
  foreign::ImportOptions options;
  options.allow_partial = true;
  const auto file = converted(input, options);
  if (!file) return;
  const auto back = exported(*file, foreign::export_gguf);
  require(back && *back == without_padding(input, header), "a GGUF file comes back as it was");
}

void run(Bytes input) {
  check_part(input);
  const auto header = foreign::parse_gguf(input, input.size());
  if (!succeeded(header)) return;
  require(header->has_value(), "a whole file is enough");
  require_in_file(**header, input);
  for (const auto& pair : (*header)->pairs) require_counted(pair, input);
  require_renderable(**header, input);
  check_conversion(input, **header);
}

}  // namespace

Target gguf_target() { return {"gguf", run, {64 << 20, 1024}}; }

}  // namespace ptd::fuzz
