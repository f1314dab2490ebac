// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "writer/stream.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <set>

#include "file/ordered.hpp"
#include "reader/chunk_reader.hpp"
#include "segment/chunk.hpp"
#include "segment/digest.hpp"
#include "wire/checked.hpp"
#include "wire/endian.hpp"
#include "wire/hash.hpp"
#include "wire/header.hpp"

namespace ptd::writer {
namespace {

// Some neighbouring chunks of one unit, and everything that was found out about them.
struct Piece {
  std::uint32_t unit = 0;
  std::uint64_t begin = 0, size = 0;
  bool first = false, last = false;
  Bytes raw;  // in `buffer`, or where the source has it in memory
  std::vector<std::byte> buffer, leaves, encoded, raw_hashes, stored_chunks;
  bool zero = false;                   // all of it
  bool stored_raw = false;             // no chunk became smaller
  std::optional<std::uint64_t> place;  // where `payload` goes in the file
  Bytes payload;
};

// Writes that were promised a place and have not happened yet.
class Pending {
 public:
  /// One write, done when it goes, however it goes: whoever waits must not wait for ever.
  class Guard {
   public:
    explicit Guard(Pending& pending) : pending_(pending) {}
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;
    ~Guard() { pending_.done(); }

   private:
    Pending& pending_;
  };

  void add() {
    const std::lock_guard lock(mutex_);
    ++count_;
  }
  void done() {
    const std::lock_guard lock(mutex_);
    if (--count_ == 0) none_.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    none_.wait(lock, [&] { return count_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable none_;
  unsigned count_ = 0;
};

// The sequential half: gives out pieces and puts results in their place. One thread at a time.
class Stream {
 public:
  Stream(const Plan& plan, const WriteOptions& options, Output& output, Streamed& streamed)
      : plan_(plan), options_(options), output_(output), out_(streamed) {
    for (const auto& unit : plan.units) total_ += unit.source->size();
    out_.end = wire::header_bytes;
    out_.units.reserve(plan.units.size());
  }

  Result<bool> take(Piece& piece) {
    if (unit_ == plan_.units.size()) return false;
    const Unit& unit = plan_.units[unit_];
    const std::uint64_t chunk = std::uint64_t{1} << unit.chunk_log2;
    const std::uint64_t step = std::max(reader::piece_bytes, chunk);
    piece.unit = unit_;
    piece.begin = begin_;
    piece.size = std::min(step, unit.source->size() - begin_);
    piece.first = begin_ == 0;
    begin_ += piece.size;
    piece.last = begin_ == unit.source->size();
    if (piece.last) {
      ++unit_;
      begin_ = 0;
    }
    if (unit.source->sequential()) PTD_TRY(read(unit, piece));
    return true;
  }

  // The bytes of a piece: where they lie in memory, else in its buffer.
  static Result<void> read(const Unit& unit, Piece& piece) {
    if (const Bytes all = unit.source->in_memory(); !all.empty()) {
      piece.raw = all.subspan(piece.begin, piece.size);
      return {};
    }
    piece.buffer.resize(piece.size);
    piece.raw = piece.buffer;
    return unit.source->read(piece.begin, piece.buffer);
  }

  Result<void> commit(Piece& piece) {
    const Unit& unit = plan_.units[piece.unit];
    if (piece.first) begin_unit(unit);
    root_->add(piece.leaves);
    zero_ = zero_ && piece.zero;
    if (unit.compare_with == no_index) PTD_TRY(place(unit, piece));
    if (piece.last) PTD_TRY(end_unit(unit, piece));
    done_ += piece.size;
    if (options_.progress && !options_.progress(done_, total_))
      return fail(ErrorCode::cancelled, "", "writing was stopped before its end; the target is unchanged");
    return {};
  }

  Pending pending;

 private:
  void begin_unit(const Unit& unit) {
    root_.emplace(unit.source->size());
    zero_ = true;
    stored_raw_ = true;
    start_ = *wire::align_up(out_.end, std::uint64_t{1} << unit.alignment_log2);
    cursor_ = start_;
    hashes_before_ = out_.raw_hashes.size();
    chunks_before_ = out_.stored_chunks.size();
  }

  Result<void> place(const Unit& unit, Piece& piece) {
    PTD_TRY(out_.raw_hashes.append(piece.raw_hashes));
    if (is_coded(unit.encoding)) PTD_TRY(out_.stored_chunks.append(piece.stored_chunks));
    stored_raw_ = stored_raw_ && piece.stored_raw;
    // What is not written reads as zeros: a run of zeros as it is needs no room.
    const bool hole = !is_coded(unit.encoding) && piece.zero;
    if (!hole) piece.place = cursor_;
    cursor_ += piece.payload.size();
    if (cursor_ > std::uint64_t{1} << 62)
      return fail(ErrorCode::limit, "TIL-1", "the file would be larger than 2^62 bytes");
    return {};
  }

  Result<void> end_unit(const Unit& unit, Piece& piece) {
    const UnitResult result{{unit.source->size(), root_->finish()}, zero_};
    PTD_TRY(check_agreement(unit, result));
    out_.units.push_back(result);
    if (unit.compare_with != no_index) return {};
    if (result.zero || !seen_.insert(result.content.digest).second) return take_back(piece);
    return keep(unit, result);
  }

  Result<void> check_agreement(const Unit& unit, const UnitResult& result) const {
    const bool zero_wanted = unit.must_be_zero;
    bool agrees = !zero_wanted || result.zero;
    if (unit.compare_with != no_index) {
      const auto& other = out_.units[unit.compare_with];
      agrees = other.zero ? result.zero : !result.zero && other.content == result.content;
    }
    if (agrees) return {};
    return fail_on(ErrorCode::conflict, "WRT-4", unit.name,
                   "\"" + escaped(unit.other_label) + "\" and \"" + escaped(unit.label) +
                       "\" give this name to different bytes; rename one or let its method own it");
  }

  Result<void> keep(const Unit& unit, const UnitResult& result) {
    StoredSegment stored{{}, result.content};
    stored.segment.encoding = unit.encoding;
    stored.segment.alignment_log2 = static_cast<std::uint8_t>(unit.alignment_log2);
    stored.segment.chunk_log2 = static_cast<std::uint8_t>(unit.chunk_log2);
    stored.segment.stored_size = cursor_ - start_;
    stored.segment.offset = start_;
    stored.segment.chunks = wire::divide_up(result.content.size, stored.segment.chunk_bytes());
    if (is_coded(unit.encoding) && stored_raw_) {
      // Coding did not help anywhere, so these are the bytes of a raw segment, which has a smaller table.
      stored.segment.encoding = Encoding::raw;
      PTD_TRY(out_.stored_chunks.truncate(chunks_before_));
    }
    out_.segments.push_back(stored);
    out_.end = cursor_;
    return {};
  }

  // Writes of this unit that are under way would land on the next one.
  Result<void> take_back(Piece& piece) {
    piece.place.reset();
    pending.wait();
    PTD_TRY(out_.raw_hashes.truncate(hashes_before_));
    PTD_TRY(out_.stored_chunks.truncate(chunks_before_));
    return output_.truncate(out_.end);
  }

  const Plan& plan_;
  const WriteOptions& options_;
  Output& output_;
  Streamed& out_;
  std::uint64_t total_ = 0, done_ = 0;
  std::uint32_t unit_ = 0;
  std::uint64_t begin_ = 0;
  // Of the unit that is being committed:
  std::optional<segment::RootHasher> root_;
  bool zero_ = true, stored_raw_ = true;
  std::uint64_t start_ = 0, cursor_ = 0, hashes_before_ = 0, chunks_before_ = 0;
  std::set<Digest> seen_;
};

void append_u64(std::vector<std::byte>& out, std::uint64_t value) {
  out.resize(out.size() + sizeof value);
  wire::store(MutableBytes(out), out.size() - sizeof value, value);
}

class StreamWorker final : public file::OrderedWorker {
 public:
  StreamWorker(Stream& stream, const Plan& plan, Output& output)
      : stream_(stream), plan_(plan), output_(output) {}

  Result<bool> take() override { return stream_.take(piece_); }

  Result<void> work() override {
    const Unit& unit = plan_.units[piece_.unit];
    if (!unit.source->sequential()) PTD_TRY(Stream::read(unit, piece_));
    piece_.leaves.resize(wire::divide_up(piece_.size, segment::leaf_bytes) * sizeof(Digest));
    segment::hash_leaves(piece_.raw, piece_.leaves);
    PTD_TRY(check_pad_bits(unit));
    piece_.zero = segment::all_zero(piece_.raw);
    piece_.place.reset();
    piece_.payload = piece_.raw;
    return unit.compare_with == no_index ? encode(unit) : Result<void>{};
  }

  Result<void> commit() override {
    PTD_TRY(stream_.commit(piece_));
    if (piece_.place) stream_.pending.add();
    return {};
  }

  Result<void> finish() override {
    if (!piece_.place) return {};
    const Pending::Guard guard(stream_.pending);
    return output_.write(*piece_.place, piece_.payload);
  }

 private:
  [[nodiscard]] Result<void> check_pad_bits(const Unit& unit) const {
    const auto first = std::ranges::lower_bound(unit.pad_bits, piece_.begin, {}, &PadBits::byte);
    for (auto at = first; at != unit.pad_bits.end() && at->byte < piece_.begin + piece_.size; ++at)
      if (std::to_integer<unsigned>(piece_.raw[at->byte - piece_.begin]) >> at->used != 0)
        return fail_on(ErrorCode::pad_bits, "SUB-3", at->tensor,
                       "the unused bits of its last byte are not zero; clear them");
    return {};
  }

  Result<void> encode(const Unit& unit) {
    piece_.raw_hashes.clear();
    piece_.stored_chunks.clear();
    piece_.encoded.clear();
    piece_.stored_raw = true;
    const std::uint64_t chunk = std::uint64_t{1} << unit.chunk_log2;
    for (std::uint64_t at = 0; at < piece_.size; at += chunk)
      PTD_TRY(encode_chunk(unit, piece_.raw.subspan(at, std::min(chunk, piece_.size - at))));
    if (is_coded(unit.encoding)) piece_.payload = piece_.encoded;
    return {};
  }

  Result<void> encode_chunk(const Unit& unit, Bytes raw) {
    append_u64(piece_.raw_hashes, wire::xxh3(raw));
    if (!is_coded(unit.encoding)) return {};
    PTD_LET(stored, encoder_.encode(unit.encoding, raw));
    append_u64(piece_.stored_chunks, wire::xxh3(stored));
    append_u64(piece_.stored_chunks, stored.size());
    piece_.encoded.insert(piece_.encoded.end(), stored.begin(), stored.end());
    piece_.stored_raw = piece_.stored_raw && stored.size() == raw.size();
    return {};
  }

  Stream& stream_;
  const Plan& plan_;
  Output& output_;
  segment::ChunkEncoder encoder_;
  Piece piece_;
};

}  // namespace

Result<void> stream_units(const Plan& plan, const WriteOptions& options, Output& output, Streamed& streamed) {
  Stream stream(plan, options, output, streamed);
  return file::run_ordered(options.threads,
                           [&] { return std::make_unique<StreamWorker>(stream, plan, output); });
}

}  // namespace ptd::writer
