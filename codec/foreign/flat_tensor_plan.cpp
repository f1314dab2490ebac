// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include <foreign/flat_tensor_generated.h>

#include <array>
#include <cstring>

#include "foreign/flat_tensor.hpp"
#include "wire/checked.hpp"
#include "wire/endian.hpp"

namespace ptd::foreign {
namespace {

constexpr std::uint64_t segment_alignment = 128;  // what ExecuTorch's serializer uses unless told otherwise
constexpr std::uint32_t header_length = 40;
constexpr std::size_t header_room = 48;  // padded, so that what follows stays aligned to 16
constexpr std::size_t header_offset = 8;

Failure too_large(std::string_view what) {
  return fail(ErrorCode::unsupported_input, "",
              "the FlatTensor file would have a " + std::string(what) + " that is too large for the format");
}

// Offsets count from the segment base.
Result<std::vector<FileRange>> place(const std::vector<std::uint64_t>& sizes) {
  std::vector<FileRange> ranges;
  wire::Maybe end = 0;
  for (const auto size : sizes) {
    const auto begin = wire::align_up(end, segment_alignment);
    end = wire::add(begin, size);
    if (!end) return too_large("size");
    ranges.push_back({*begin, size});
  }
  return ranges;
}

flatbuffers::Offset<fb::FlatTensorLayout> add_layout(flatbuffers::FlatBufferBuilder& builder,
                                                     const FlatTensorLayoutInfo& layout) {
  std::vector<std::int32_t> sizes;
  for (const auto size : layout.sizes) sizes.push_back(static_cast<std::int32_t>(size));
  return fb::CreateFlatTensorLayoutDirect(builder, layout.scalar_type, &sizes, &layout.dim_order);
}

flatbuffers::Offset<fb::FlatTensorName> add_name(flatbuffers::FlatBufferBuilder& builder,
                                                 const FlatTensorEntry& entry) {
  flatbuffers::Offset<fb::FlatTensorLayout> layout;
  if (entry.layout) layout = add_layout(builder, *entry.layout);
  return fb::CreateFlatTensorNameDirect(builder, entry.key.c_str(), entry.segment, layout);
}

void build_message(flatbuffers::FlatBufferBuilder& builder, const std::vector<FlatTensorEntry>& entries,
                   const std::vector<FileRange>& segments) {
  std::vector<flatbuffers::Offset<fb::FlatTensorSegment>> places;
  places.reserve(segments.size());
  for (const auto& segment : segments)
    places.push_back(fb::CreateFlatTensorSegment(builder, segment.offset, segment.size));
  std::vector<flatbuffers::Offset<fb::FlatTensorName>> names;
  names.reserve(entries.size());
  for (const auto& entry : entries) names.push_back(add_name(builder, entry));
  fb::FinishFlatTensorRootBuffer(builder, fb::CreateFlatTensorRootDirect(builder, 0, &places, &names));
}

void append(std::vector<std::byte>& out, Bytes bytes) { out.insert(out.end(), bytes.begin(), bytes.end()); }

// The header goes between the message's identifier and its tables; the root offset steps over it.
std::vector<std::byte> head_of(Bytes message, std::uint64_t segment_base, std::uint64_t segment_bytes) {
  std::array<std::byte, header_room> header{};
  std::memcpy(header.data(), "FH01", 4);
  wire::store<std::uint32_t>(header, 4, header_length);
  wire::store<std::uint64_t>(header, 8, header_room);
  wire::store<std::uint64_t>(header, 16, message.size());
  wire::store<std::uint64_t>(header, 24, segment_base);
  wire::store<std::uint64_t>(header, 32, segment_bytes);
  std::vector<std::byte> head;
  head.reserve(static_cast<std::size_t>(segment_base));
  append(head, message.first(header_offset));
  append(head, header);
  append(head, message.subspan(header_offset));
  wire::store<std::uint32_t>(head, 0, wire::load<std::uint32_t>(head, 0) + header_room);
  return head;
}

// Each entry costs its key, its sizes and some tables; FlatBuffers asserts where we must refuse.
std::uint64_t most_message_bytes(const std::vector<FlatTensorEntry>& entries, std::size_t segments) {
  constexpr std::uint64_t for_tables = 96;
  std::uint64_t bytes = for_tables * (segments + 1);
  for (const auto& entry : entries)
    bytes += for_tables + entry.key.size() + (entry.layout ? entry.layout->sizes.size() * 5 : 0);
  return bytes;
}

}  // namespace

Result<FlatTensorPlan> plan_flat_tensor(const std::vector<FlatTensorEntry>& entries,
                                        const std::vector<std::uint64_t>& segments) {
  if (most_message_bytes(entries, segments.size()) >= FLATBUFFERS_MAX_BUFFER_SIZE)
    return too_large("message");
  FlatTensorPlan plan;
  PTD_LET(ranges, place(segments));
  const std::uint64_t segment_bytes = ranges.empty() ? 0 : ranges.back().offset + ranges.back().size;
  flatbuffers::FlatBufferBuilder builder;
  build_message(builder, entries, ranges);
  const Bytes message(reinterpret_cast<const std::byte*>(builder.GetBufferPointer()), builder.GetSize());
  const auto base = *wire::align_up(message.size() + header_room, segment_alignment);
  const auto end = wire::add(base, segment_bytes);
  if (!end) return too_large("size");
  plan.head = head_of(message, segments.empty() ? 0 : base, segment_bytes);
  plan.head.resize(static_cast<std::size_t>(base));
  for (auto& range : ranges) range.offset += base;
  plan.segments = std::move(ranges);
  plan.file_bytes = *end;
  return plan;
}

}  // namespace ptd::foreign
