// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "support/assemble.hpp"

#include <algorithm>

#include "model/check.hpp"
#include "segment/chunk.hpp"
#include "support/require.hpp"
#include "wire/endian.hpp"
#include "wire/hash.hpp"
#include "wire/header.hpp"
#include "wire/messages.hpp"

namespace ptd::fuzz {
namespace {

using Buffer = std::vector<std::byte>;

constexpr std::uint64_t far = std::uint64_t{1} << 62;

std::uint64_t aligned(std::uint64_t at, std::uint64_t alignment) {
  return (at + alignment - 1) / alignment * alignment;
}

std::uint64_t chunk_count(std::uint64_t raw_size, const Segment& segment) {
  return (raw_size >> segment.chunk_log2) + ((raw_size & (segment.chunk_bytes() - 1)) != 0 ? 1 : 0);
}

wire::Header header_of(const Manifest& manifest) {
  wire::Header header;
  header.minor = manifest.minor;
  header.required_features = manifest.required_features;
  header.layout_offset = manifest.layout_offset;
  header.layout_size = 8 * manifest.layout.size();
  header.model_size = 8 * manifest.model.size();
  header.layout_hash = wire::xxh3(std::as_bytes(std::span(manifest.layout)));
  header.model_hash = wire::xxh3(std::as_bytes(std::span(manifest.model)));
  return header;
}

/// Bytes here and there, zeros between them.
class SparseSource final : public ByteSource {
 public:
  struct Part {
    std::uint64_t offset;
    Buffer bytes;
  };
  SparseSource(std::uint64_t size, std::vector<Part> parts) : size_(size), parts_(std::move(parts)) {}

  [[nodiscard]] std::uint64_t size() const noexcept override { return size_; }
  [[nodiscard]] std::string label() const override { return "sparse"; }
  [[nodiscard]] Result<void> read(std::uint64_t offset, MutableBytes to) const override {
    if (offset > size_ || to.size() > size_ - offset)
      return fail_at(ErrorCode::internal, "", offset, "a read past the end of the file");
    std::ranges::fill(to, std::byte{});
    for (const auto& part : parts_) copy(part, offset, to);
    return {};
  }

 private:
  static void copy(const Part& part, std::uint64_t offset, MutableBytes to) {
    const auto begin = std::max(offset, part.offset);
    const auto end = std::min(offset + to.size(), part.offset + part.bytes.size());
    if (begin < end)
      std::ranges::copy(Bytes(part.bytes).subspan(begin - part.offset, end - begin),
                        to.begin() + static_cast<std::ptrdiff_t>(begin - offset));
  }

  std::uint64_t size_;
  std::vector<Part> parts_;
};

Buffer to_bytes(std::span<const std::byte> bytes) { return {bytes.begin(), bytes.end()}; }

void append(Buffer& out, Bytes bytes) { out.insert(out.end(), bytes.begin(), bytes.end()); }

void append_number(Buffer& out, std::uint64_t number) { append(out, std::as_bytes(std::span(&number, 1))); }

/// One segment's stored bytes and its table.
struct Stored {
  Buffer bytes;
  Buffer table;
};

Stored store(const Segment& segment, Bytes raw) {
  segment::ChunkEncoder encoder;
  Stored out;
  for (std::size_t at = 0; at < raw.size(); at += segment.chunk_bytes()) {
    const auto chunk = raw.subspan(at, std::min<std::size_t>(segment.chunk_bytes(), raw.size() - at));
    const auto stored = encoder.encode(segment.encoding, chunk);
    require_success(stored, "every chunk can be encoded");
    append(out.bytes, *stored);
    append_number(out.table, wire::xxh3(chunk));
    if (!is_coded(segment.encoding)) continue;
    append_number(out.table, wire::xxh3(*stored));
    append_number(out.table, stored->size());
  }
  return out;
}

}  // namespace

std::optional<std::uint64_t> end_of_tables(const Model& model, const Layout& layout) {
  std::uint64_t end = wire::header_bytes;
  for (const auto& segment : layout.segments) {
    if (segment.alignment_log2 > 16 || segment.stored_size > far) return std::nullopt;
    end = aligned(end, segment.alignment()) + segment.stored_size;
    if (end > far) return std::nullopt;
  }
  end = aligned(end, 8);
  for (const auto& segment : layout.segments) {
    if (segment.content >= model.contents.size() || segment.chunk_log2 > 24) return std::nullopt;
    const auto chunks = chunk_count(model.contents[segment.content].size, segment);
    if (chunks > far / 24 - end / 24) return std::nullopt;
    end += chunks * model::table_entry_bytes(segment.encoding);
  }
  return end;
}

SourcePtr file_without_payload(const Manifest& manifest) {
  const auto header = header_of(manifest);
  return std::make_shared<SparseSource>(
      header.file_size(), std::vector<SparseSource::Part>{
                              {0, to_bytes(wire::encode_header(header))},
                              {header.layout_offset, to_bytes(std::as_bytes(std::span(manifest.layout)))},
                              {header.model_offset(), to_bytes(std::as_bytes(std::span(manifest.model)))}});
}

Buffer payload(const Model& model, Layout& layout, const std::vector<Buffer>& contents,
               std::uint64_t surplus) {
  Buffer out(wire::header_bytes);
  Buffer tables;
  for (auto& segment : layout.segments) {
    const auto& raw = contents[segment.content];
    auto stored = store(segment, raw);
    if (is_coded(segment.encoding) && surplus <= raw.size() - stored.bytes.size())
      stored.bytes.resize(stored.bytes.size() + surplus);
    segment.stored_size = stored.bytes.size();
    segment.table_hash = wire::xxh3(stored.table);
    out.resize(aligned(out.size(), segment.alignment()));
    append(out, stored.bytes);
    append(tables, stored.table);
  }
  out.resize(aligned(out.size(), 8));
  append(out, tables);
  require(end_of_tables(model, layout) == out.size(), "places follow from sizes");
  return out;
}

Buffer whole_file(const Model& model, const Layout& layout, Buffer payload) {
  const auto layout_words = wire::encode_layout(layout);
  const auto model_words = wire::encode_model(model);
  require_success(layout_words, "a valid layout is encoded");
  require_success(model_words, "a valid model is encoded");
  const auto header = header_of({*layout_words, *model_words, payload.size()});
  std::ranges::copy(wire::encode_header(header), payload.begin());
  append(payload, std::as_bytes(std::span(*layout_words)));
  append(payload, std::as_bytes(std::span(*model_words)));
  return payload;
}

}  // namespace ptd::fuzz
