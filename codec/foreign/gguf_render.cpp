// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "foreign/gguf_rules.hpp"
#include "foreign/guard.hpp"
#include "foreign/json_events.hpp"
#include "wire/endian.hpp"

namespace ptd::foreign {
namespace {

using Buffer = std::vector<std::byte>;

void append(Buffer& out, Bytes bytes) {
  const auto begin = out.size();
  out.resize(begin + bytes.size());
  std::ranges::copy(bytes, out.begin() + static_cast<std::ptrdiff_t>(begin));
}

template <class Integer>
void append_number(Buffer& out, Integer value) {
  append(out, std::as_bytes(std::span(&value, 1)));
}

void append_string(Buffer& out, std::string_view text) {
  append_number<std::uint64_t>(out, text.size());
  append(out, std::as_bytes(std::span(text)));
}

Result<void> place(std::vector<GgufTensor>& tensors, std::uint64_t alignment) {
  wire::Maybe offset = 0;
  for (auto& tensor : tensors) {
    PTD_LET(bytes, gguf_tensor_bytes(tensor));
    tensor.bytes = bytes;
    tensor.offset = *offset;
    offset = round_up(wire::add(offset, bytes), alignment);
    if (!offset || *offset > (std::uint64_t{1} << 62))
      return fail_on(ErrorCode::unsupported_input, "", tensor.name,
                     "tensor " + quote(tensor.name) + " ends beyond the largest file that can be");
  }
  return {};
}

void append_tensor(Buffer& out, const GgufTensor& tensor) {
  append_string(out, tensor.name);
  append_number(out, static_cast<std::uint32_t>(tensor.dims.size()));
  for (const auto dim : tensor.dims) append_number(out, dim);
  append_number(out, tensor.type->number);
  append_number(out, tensor.offset);
}

Result<Buffer> render(GgufHeader& header, std::uint64_t pair_count, Bytes pairs) {
  PTD_TRY(place(header.tensors, header.alignment));
  Buffer out;
  append(out, std::as_bytes(std::span(gguf_magic)));
  append_number(out, header.version);
  append_number<std::uint64_t>(out, header.tensors.size());
  append_number(out, pair_count);
  append(out, pairs);
  header.pairs_end = out.size();
  for (const auto& tensor : header.tensors) append_tensor(out, tensor);
  header.header_bytes = out.size();
  header.data_offset = *round_up(out.size(), header.alignment);
  return out;
}

}  // namespace

Result<std::vector<std::byte>> render_gguf(GgufHeader& header, std::uint64_t pair_count, Bytes pairs) {
  return guarded([&] { return render(header, pair_count, pairs); });
}

std::uint64_t gguf_file_size(const GgufHeader& header) noexcept {
  const auto end = gguf_content_end(header);
  return header.has_padded_end ? round_up(end, header.alignment).value_or(end) : end;
}

void append_gguf_string_pair(std::vector<std::byte>& pairs, std::string_view key, std::string_view value) {
  append_string(pairs, key);
  append_number(pairs, GgufType::string);
  append_string(pairs, value);
}

}  // namespace ptd::foreign
