// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// The verify level: every byte that `open` did not look at (SPEC.md, "Order of checks").
#include <algorithm>

#include "file/failure.hpp"
#include "file/ordered.hpp"
#include "reader/chunk_reader.hpp"
#include "reader/state.hpp"
#include "segment/digest.hpp"
#include "wire/checked.hpp"
#include "wire/messages.hpp"

namespace ptd {
namespace {

using reader::ChunkReader;
using reader::TablePtr;

struct Piece {
  std::size_t segment = 0;
  std::uint64_t first_chunk = 0, last_chunk = 0;
  std::uint64_t padding_begin = 0;
  Result<TablePtr> table = TablePtr();
};

// What the threads of a verification share. Used by one thread at a time: in take and in commit.
class Verification {
 public:
  Verification(const Reader::State& file, const VerifyOptions& options) : state(file), options_(options) {
    for (const auto& segment : state.layout.segments) total_ += state.raw_size(segment);
  }

  // The next piece: some chunks of one segment. False when all segments have been given out.
  bool take(Piece& piece) {
    if (segment_ == state.layout.segments.size()) return false;
    const auto& segment = state.layout.segments[segment_];
    if (chunk_ == 0) table_ = reader::load_table(state.source(), segment, state.raw_size(segment));
    piece.segment = segment_;
    piece.table = table_;
    piece.first_chunk = chunk_;
    piece.last_chunk = std::min(chunk_ + reader::chunks_in_piece(segment), segment.chunks);
    piece.padding_begin = chunk_ == 0 ? segment_end_ : segment.offset;
    chunk_ = piece.last_chunk;
    if (chunk_ == segment.chunks) next_segment(segment);
    return true;
  }

  Result<void> commit(const Piece& piece, Bytes leaves, bool all_zero, const ReadReport& read) {
    const auto& segment = state.layout.segments[piece.segment];
    const auto& content = state.model.contents[segment.content];
    if (piece.first_chunk == 0) {
      root_.emplace(content.size);
      zero_so_far_ = true;
    }
    root_->add(leaves);
    zero_so_far_ = zero_so_far_ && all_zero;
    report.chunks += read.chunks;
    report.raw_bytes += read.raw_bytes;
    report.stored_bytes += read.stored_bytes;
    if (piece.last_chunk == segment.chunks) PTD_TRY(finish_segment(segment, content));
    if (options_.progress && !options_.progress(report.raw_bytes, total_))
      return fail(ErrorCode::cancelled, "", "the verification was stopped before its end");
    return {};
  }

  [[nodiscard]] std::uint64_t segments_end() const { return segment_end_; }

  const Reader::State& state;
  VerifyReport report;

 private:
  void next_segment(const Segment& segment) {
    segment_end_ = segment.offset + segment.stored_size;
    ++segment_;
    chunk_ = 0;
  }

  Result<void> finish_segment(const Segment& segment, const Content& content) {
    ++report.segments;
    if (zero_so_far_)
      return fail_at(ErrorCode::zero_content, "CON-4", segment.offset,
                     "a content is all zero; it must be left out");
    if (root_->finish() != content.digest)
      return fail_at(ErrorCode::content_digest, "DIG-2", segment.offset,
                     "a content does not have the digest that the model gives it; do not use this file");
    return {};
  }

  const VerifyOptions& options_;
  std::uint64_t total_ = 0;
  std::size_t segment_ = 0;
  std::uint64_t chunk_ = 0;
  std::uint64_t segment_end_ = wire::header_bytes;
  Result<TablePtr> table_ = TablePtr();
  std::optional<segment::RootHasher> root_;
  bool zero_so_far_ = true;
};

Result<void> check_padding(const ByteSource& source, std::uint64_t begin, std::uint64_t end) {
  if (begin == end) return {};
  std::vector<std::byte> buffer(end - begin);  // shorter than the largest alignment
  PTD_TRY(source.read(begin, buffer));
  const auto stray = std::ranges::find_if(buffer, [](std::byte byte) { return byte != std::byte{0}; });
  if (stray == buffer.end()) return {};
  return fail_at(ErrorCode::padding, "PAD-1", begin + static_cast<std::uint64_t>(stray - buffer.begin()),
                 "padding between segments is not zero; something is hidden there or the file is damaged");
}

class VerifyWorker final : public file::OrderedWorker {
 public:
  explicit VerifyWorker(Verification& shared) : shared_(shared), reader_(shared.state.source()) {}

  Result<bool> take() override { return shared_.take(piece_); }

  Result<void> work() override {
    const auto& state = shared_.state;
    const auto& segment = state.layout.segments[piece_.segment];
    if (piece_.first_chunk == 0) PTD_TRY(check_padding(state.source(), piece_.padding_begin, segment.offset));
    if (!piece_.table) return Failure(piece_.table.error());
    const auto& table = **piece_.table;
    raw_.resize(table.raw_end(piece_.last_chunk - 1) - table.raw_begin(piece_.first_chunk));
    read_ = {};
    PTD_TRY(reader_.read_chunks(segment, table, piece_.first_chunk, piece_.last_chunk, raw_, {true, true},
                                read_));
    leaves_.resize(wire::divide_up(raw_.size(), segment::leaf_bytes) * sizeof(Digest));
    segment::hash_leaves(raw_, leaves_);
    zero_ = segment::all_zero(raw_);
    return {};
  }

  Result<void> commit() override { return shared_.commit(piece_, leaves_, zero_, read_); }
  Result<void> finish() override { return {}; }

 private:
  Verification& shared_;
  ChunkReader reader_;
  Piece piece_;
  ReadReport read_;
  std::vector<std::byte> raw_, leaves_;
  bool zero_ = false;
};

// The high bits of the last byte of a tensor whose elements do not fill it [SUB-3].
Result<void> check_pad_bits(const Reader& file) {
  const auto& model = file.model();
  for (const auto& tensor : model.tensors) {
    const auto used = element_count(tensor) % 8 * dtype_bits(tensor.dtype) % 8;
    if (used == 0 || model.storages[tensor.storage].origin == Origin::external) continue;
    const auto last = tensor.storage_offset * dtype_bits(tensor.dtype) / 8 + logical_bytes(tensor) - 1;
    std::byte byte{};
    PTD_TRY(file.read_storage(tensor.storage, last, {&byte, 1}, {true, 1}));
    if (std::to_integer<unsigned>(byte) >> used != 0)
      return fail_on(ErrorCode::pad_bits, "SUB-3", tensor.name,
                     "the unused bits of its last byte are not zero");
  }
  return {};
}

// Bytes of a later minor's messages that this reader did not understand: what is lost on the way
// through its own structs.
Result<std::uint64_t> count_unknown(const Reader::State& state) {
  if (state.header.minor <= wire::supported_minor) return 0;
  PTD_LET(model, wire::encode_model(state.model));
  PTD_LET(layout, wire::encode_layout(state.layout));
  const std::uint64_t known = (model.size() + layout.size()) * 8;
  const std::uint64_t all = state.header.model_size + state.header.layout_size;
  return all - std::min(all, known);
}

bool is_about_table(ErrorCode code) {
  return code == ErrorCode::table_hash || code == ErrorCode::chunk_table;
}

// The segment that a byte of payload or of a chunk table belongs to; none if it is padding.
const Segment* segment_at(const Reader::State& state, const Error& error) {
  if (!error.offset || error.code == ErrorCode::padding) return nullptr;
  const auto place = is_about_table(error.code) ? &Segment::table_offset : &Segment::offset;
  const auto after = std::ranges::upper_bound(state.layout.segments, *error.offset, {}, place);
  return after == state.layout.segments.begin() ? nullptr : &*std::prev(after);
}

// A name of whoever uses a content.
std::string_view user_of(const Model& model, std::uint32_t content) {
  for (const auto& tensor : model.tensors)
    if (model.storages[tensor.storage].content == content) return tensor.name;
  const auto blob = std::ranges::find(model.blobs, content, &Blob::content);
  return blob == model.blobs.end() ? std::string_view() : blob->name;
}

// A fault in a segment is a fault of somebody's tensor: say whose.
Failure name_user(Error error, const Reader::State& state) {
  const Segment* segment = segment_at(state, error);
  if (segment != nullptr && error.subject.empty()) error.subject = user_of(state.model, segment->content);
  return Failure(std::move(error));
}

}  // namespace

Result<VerifyReport> Reader::verify(const VerifyOptions& options) const {
  return file::guarded([&]() -> Result<VerifyReport> {
    const State& state = *state_;
    Verification shared(state, options);
    if (auto checked =
            file::run_ordered(options.threads, [&] { return std::make_unique<VerifyWorker>(shared); });
        !checked)
      return name_user(std::move(checked).error(), state);
    const auto tables = wire::align_up(shared.segments_end(), 8);
    PTD_TRY(check_padding(state.source(), shared.segments_end(), *tables));
    PTD_TRY(check_pad_bits(*this));
    PTD_LET(unknown, count_unknown(state));
    shared.report.file_bytes = file_size();
    shared.report.tensors = state.model.tensors.size();
    shared.report.unknown_bytes = unknown;
    return shared.report;
  });
}

}  // namespace ptd
