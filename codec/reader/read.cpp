// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Reading contents, storages, blobs and whole tensors.
#include <algorithm>
#include <cstring>

#include "file/failure.hpp"
#include "reader/chunk_reader.hpp"
#include "reader/gather.hpp"
#include "reader/pieces.hpp"
#include "reader/state.hpp"

namespace ptd {
namespace {

using reader::ChunkReader;

struct RangeTool {
  explicit RangeTool(const ByteSource& source) : reader(source) {}
  ChunkReader reader;
  ReadReport report;
};

void add_report(ReadReport& sum, ReadReport& part) {
  sum.raw_bytes += part.raw_bytes;
  sum.stored_bytes += part.stored_bytes;
  sum.chunks += part.chunks;
  part = {};
}

Result<void> check_index(std::uint32_t index, std::size_t count, std::string_view what) {
  if (index < count) return {};
  return fail(ErrorCode::argument, "", "there is no " + std::string(what) + " " + std::to_string(index));
}

Result<void> check_range(std::uint64_t offset, std::uint64_t size, std::uint64_t limit) {
  if (offset <= limit && size <= limit - offset) return {};
  return fail(ErrorCode::argument, "",
              std::to_string(size) + " bytes from byte " + std::to_string(offset) +
                  " on are not inside the " + std::to_string(limit) + " bytes that there are");
}

// A damaged chunk is somebody's tensor: say whose.
template <class T>
Result<T> named(Result<T> result, std::string_view subject) {
  if (!result && result.error().subject.empty()) result.error().subject = subject;
  return result;
}

// First bytes from the content if there is one, then zeros.
Result<ReadReport> read_extent(const Reader& file, std::uint32_t content, std::uint64_t size,
                               std::uint64_t offset, MutableBytes destination, const ReadOptions& options) {
  PTD_TRY(check_range(offset, destination.size(), size));
  const std::uint64_t held = content == no_index ? 0 : file.model().contents[content].size;
  const std::uint64_t split = std::min<std::uint64_t>(held - std::min(held, offset), destination.size());
  const auto zeros = destination.subspan(split);
  if (!zeros.empty()) std::memset(zeros.data(), 0, zeros.size());
  ReadReport report;
  if (split > 0) {
    PTD_LET(read, file.read_content(content, offset, destination.first(split), options));
    report = read;
  }
  report.wanted_bytes = destination.size();
  return report;
}

}  // namespace

Result<ReadReport> Reader::read_content(std::uint32_t content, std::uint64_t offset, MutableBytes destination,
                                        const ReadOptions& options) const {
  return file::guarded([&]() -> Result<ReadReport> {
    const State& state = *state_;
    PTD_TRY(check_index(content, state.model.contents.size(), "content"));
    const std::uint64_t raw_size = state.model.contents[content].size;
    PTD_TRY(check_range(offset, destination.size(), raw_size));
    ReadReport report;
    report.wanted_bytes = destination.size();
    if (destination.empty()) return report;
    const Segment& segment = segment_of(content);
    PTD_LET(table, state.tables.get(state.source(), segment, raw_size));
    const std::uint64_t step = reader::chunks_in_piece(segment) * segment.chunk_bytes();
    const std::uint64_t first = offset / step;
    const std::uint64_t pieces = (offset + destination.size() - 1) / step - first + 1;
    const reader::Checks checks{false, options.check};
    PTD_TRY(reader::for_each_piece(
        pieces, options.threads, [&] { return RangeTool(state.source()); },
        [&](RangeTool& tool, std::uint64_t i) {
          const std::uint64_t begin = std::max((first + i) * step, offset);
          const std::uint64_t end = std::min((first + i + 1) * step, offset + destination.size());
          return tool.reader.read_range(
              segment, *table, begin, destination.subspan(begin - offset, end - begin), checks, tool.report);
        },
        [&](RangeTool& tool) { add_report(report, tool.report); }));
    return report;
  });
}

Result<ReadReport> Reader::read_storage(std::uint32_t storage, std::uint64_t offset, MutableBytes destination,
                                        const ReadOptions& options) const {
  PTD_TRY(check_index(storage, model().storages.size(), "storage"));
  const Storage& from = model().storages[storage];
  if (from.origin == Origin::external)
    return fail(ErrorCode::argument, "",
                "storage " + std::to_string(storage) + " is external: its bytes are not in the file");
  return read_extent(*this, from.content, from.size, offset, destination, options);
}

Result<ReadReport> Reader::read_blob(std::uint32_t blob, std::uint64_t offset, MutableBytes destination,
                                     const ReadOptions& options) const {
  PTD_TRY(check_index(blob, model().blobs.size(), "blob"));
  const Blob& from = model().blobs[blob];
  return named(read_extent(*this, from.content, from.size, offset, destination, options), from.name);
}

Result<ReadReport> Reader::read_tensor(std::uint32_t tensor, MutableBytes destination,
                                       const ReadOptions& options) const {
  return file::guarded([&]() -> Result<ReadReport> {
    PTD_TRY(check_index(tensor, model().tensors.size(), "tensor"));
    const Tensor& view = model().tensors[tensor];
    if (destination.size() != logical_bytes(view))
      return fail_on(ErrorCode::argument, "", view.name,
                     "the destination must have " + std::to_string(logical_bytes(view)) + " bytes");
    if (is_contiguous(view))
      return named(
          read_storage(view.storage, view.storage_offset * dtype_bits(view.dtype) / 8, destination, options),
          view.name);
    std::vector<Slice> all;
    for (const auto size : view.sizes) all.push_back({0, size, 1});
    return read_region(tensor, all, destination, options);
  });
}

Result<ReadReport> Reader::read_region(std::uint32_t tensor, std::span<const Slice> region,
                                       MutableBytes destination, const ReadOptions& options) const {
  return file::guarded([&]() -> Result<ReadReport> {
    PTD_TRY(check_index(tensor, model().tensors.size(), "tensor"));
    const Tensor& view = model().tensors[tensor];
    PTD_TRY(reader::check_region(view, region, destination.size()));
    const Storage& storage = model().storages[view.storage];
    if (storage.origin == Origin::external)
      return fail_on(ErrorCode::argument, "", view.name,
                     "its storage is external: its bytes are not in the file");
    return named(reader::gather(*state_, view, region, destination, options), view.name);
  });
}

namespace {

class ContentSource final : public ByteSource {
 public:
  ContentSource(Reader file, std::uint32_t content) : file_(std::move(file)), content_(content) {}
  [[nodiscard]] std::uint64_t size() const noexcept override { return file_.model().contents[content_].size; }
  [[nodiscard]] Result<void> read(std::uint64_t offset, MutableBytes destination) const override {
    if (offset > size() || destination.size() > size() - offset)
      return fail_on(ErrorCode::io, "", label(), "a read reaches past the end of a content");
    // Whoever reads a source in pieces brings the threads.
    PTD_TRY(file_.read_content(content_, offset, destination, {true, 1}));
    return {};
  }
  [[nodiscard]] std::string label() const override { return file_.file().source->label(); }

 private:
  Reader file_;
  std::uint32_t content_;
};

}  // namespace

SourcePtr Reader::content_source(std::uint32_t content) const {
  return std::make_shared<ContentSource>(*this, content);
}

}  // namespace ptd
