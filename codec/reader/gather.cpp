// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "reader/gather.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <ptd/limits.hpp>

#include "reader/chunk_reader.hpp"
#include "reader/pieces.hpp"
#include "reader/runs.hpp"
#include "reader/state.hpp"
#include "wire/checked.hpp"

namespace ptd::reader {
namespace {

constexpr std::size_t runs_in_batch = 65536;

// The runs [first, last) of a batch that touch one chunk. A run over several chunks is in each one's.
struct ChunkRuns {
  std::uint64_t chunk = 0;
  std::size_t first = 0, last = 0;
};

struct Tool {
  explicit Tool(const ByteSource& source) : reader(source) {}
  ChunkReader reader;
  std::vector<std::byte> raw;
  ReadReport report;
};

class Gather {
 public:
  Gather(const Reader::State& state, const Segment& segment, TablePtr table, MutableBytes destination,
         const ReadOptions& options)
      : state_(state),
        segment_(segment),
        table_(std::move(table)),
        destination_(destination),
        options_(options),
        content_bits_(state.raw_size(segment) * 8),
        chunk_bits_(segment.chunk_bytes() * 8) {}

  Result<void> run(RunWalk& walk, ReadReport& report) {
    while (walk.next(runs_, runs_in_batch)) {
      assign_chunks();
      copied_ = 0;
      PTD_TRY(for_each_piece(
          chunks_.size(), options_.threads, [&] { return Tool(state_.source()); },
          [&](Tool& tool, std::uint64_t i) { return copy_chunk(tool, chunks_[i]); },
          [&](Tool& tool) {
            take_report(report, tool.report);
            keep_last(tool);
          }));
    }
    return {};
  }

 private:
  // Runs ascend and are of one length, so the first and the last that touch a chunk move forwards with the
  // chunks.
  void assign_chunks() {
    chunks_.clear();
    std::uint64_t end_of_all = 0;
    for (const auto& run : runs_) end_of_all = std::max(end_of_all, run.from + run.bits);
    std::size_t first = 0, last = 0;
    const std::uint64_t end_chunk = wire::divide_up(std::min(end_of_all, content_bits_), chunk_bits_);
    for (std::uint64_t chunk = runs_.front().from / chunk_bits_; chunk < end_chunk; ++chunk) {
      const std::uint64_t begin = chunk * chunk_bits_;
      while (first < runs_.size() && runs_[first].from + runs_[first].bits <= begin) ++first;
      last = std::max(last, first);
      const std::uint64_t end = std::min(begin + chunk_bits_, content_bits_);
      while (last < runs_.size() && runs_[last].from < end) ++last;
      if (first == runs_.size() || runs_[first].from >= content_bits_) return;
      if (first < last)
        chunks_.push_back({chunk, first, last});
      else  // the next run lies further on, at least in the next chunk
        chunk = runs_[first].from / chunk_bits_ - 1;
    }
  }

  Result<void> copy_chunk(Tool& tool, const ChunkRuns& part) {
    PTD_LET(held, fetch(tool, part));
    for (std::size_t i = part.first; i < part.last; ++i) {
      const Run& run = runs_[i];
      const std::uint64_t from = std::max(run.from, held.begin);
      const std::uint64_t to = std::min(run.from + run.bits, held.begin + held.raw.size() * 8);
      if (from < to) copy_run(held.raw, held.begin, run, from, to);
    }
    return {};
  }

  // Bytes of the content, from bit `begin` of it on.
  struct Held {
    std::uint64_t begin = 0;
    Bytes raw;
  };

  Result<Held> fetch(Tool& tool, const ChunkRuns& part) {
    const std::uint64_t begin = table_->raw_begin(part.chunk), end = table_->raw_end(part.chunk);
    if (!options_.check && !is_coded(segment_.encoding)) return fetch_hull(tool, part, begin, end);
    if (part.chunk == kept_chunk_) return Held{begin * 8, kept_};
    tool.raw.resize(end - begin);
    PTD_TRY(tool.reader.read_chunks(segment_, *table_, part.chunk, part.chunk + 1, tool.raw,
                                    {false, options_.check}, tool.report));
    return Held{begin * 8, tool.raw};
  }

  // Bytes that need neither decoding nor checking need no whole chunk.
  Result<Held> fetch_hull(Tool& tool, const ChunkRuns& part, std::uint64_t begin, std::uint64_t end) {
    const Run& last = runs_[part.last - 1];
    begin = std::max(begin, runs_[part.first].from / 8);
    end = std::min(end, wire::divide_up(last.from + last.bits, 8));
    tool.raw.resize(end - begin);
    PTD_TRY(tool.reader.read_range(segment_, *table_, begin, tool.raw, {false, false}, tool.report));
    return Held{begin * 8, tool.raw};
  }

  // The next batch starts where this one ends, so its first chunk is likely to be this one's last.
  void keep_last(Tool& tool) {
    if (++copied_ < chunks_.size() || chunks_.back().chunk == kept_chunk_) return;
    kept_chunk_ = chunks_.back().chunk;
    std::swap(kept_, tool.raw);
  }

  void copy_run(Bytes raw, std::uint64_t begin, const Run& run, std::uint64_t from, std::uint64_t to) {
    copy_bits(destination_, run.to + (from - run.from), raw, from - begin, to - from);
  }

  static void take_report(ReadReport& sum, ReadReport& part) {
    sum.raw_bytes += part.raw_bytes;
    sum.stored_bytes += part.stored_bytes;
    sum.chunks += part.chunks;
    part = {};
  }

  const Reader::State& state_;
  const Segment& segment_;
  TablePtr table_;
  MutableBytes destination_;
  ReadOptions options_;
  std::uint64_t content_bits_, chunk_bits_;
  std::vector<Run> runs_;
  std::vector<ChunkRuns> chunks_;
  std::size_t copied_ = 0;  // of chunks_
  std::uint64_t kept_chunk_ = std::numeric_limits<std::uint64_t>::max();
  std::vector<std::byte> kept_;
};

}  // namespace

void copy_bits(MutableBytes to, std::uint64_t to_bit, Bytes from, std::uint64_t from_bit,
               std::uint64_t count) noexcept {
  if (to_bit % 8 == 0 && from_bit % 8 == 0) {
    std::memcpy(to.data() + to_bit / 8, from.data() + from_bit / 8, count / 8);
    to_bit += count / 8 * 8;
    from_bit += count / 8 * 8;
    count %= 8;
  }
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto bit = (from[(from_bit + i) / 8] >> ((from_bit + i) % 8)) & std::byte{1};
    auto& target = to[(to_bit + i) / 8];
    const auto place = (to_bit + i) % 8;
    target = (target & ~(std::byte{1} << place)) | (bit << place);
  }
}

Result<void> check_region(const Tensor& tensor, std::span<const Slice> region,
                          std::uint64_t destination_bytes) {
  if (region.size() != tensor.sizes.size())
    return fail_on(
        ErrorCode::argument, "", tensor.name,
        "a region of it needs " + std::to_string(tensor.sizes.size()) + " slices, one a dimension");
  wire::Maybe bits = dtype_bits(tensor.dtype);
  for (std::size_t i = 0; i < region.size(); ++i) {
    if (region[i].start > tensor.sizes[i] || region[i].stop > tensor.sizes[i] || region[i].step == 0)
      return fail_on(ErrorCode::argument, "", tensor.name,
                     "slice " + std::to_string(i) + " is not inside its dimension of " +
                         std::to_string(tensor.sizes[i]));
    if (bits != 0) bits = region[i].count() == 0 ? wire::Maybe(0) : wire::multiply(bits, region[i].count());
  }
  if (bits && wire::divide_up(*bits, 8) == destination_bytes) return {};
  return fail_on(
      ErrorCode::argument, "", tensor.name,
      "the destination must have " + std::to_string(wire::divide_up(bits.value_or(0), 8)) + " bytes");
}

Result<ReadReport> gather(const Reader::State& state, const Tensor& tensor, std::span<const Slice> region,
                          MutableBytes destination, const ReadOptions& options) {
  ReadReport report;
  report.wanted_bytes = destination.size();
  if (destination.empty()) return report;
  // What lies behind the content is zero, and so are pad bits.
  std::memset(destination.data(), 0, destination.size());
  const std::uint32_t content = state.model.storages[tensor.storage].content;
  if (content == no_index) return report;
  const Segment& segment = state.layout.segments[state.segment_of[content]];
  PTD_LET(table, state.tables.get(state.source(), segment, state.raw_size(segment)));
  ReadOptions used = options;
  if (is_sub_byte(tensor.dtype)) used.threads = 1;  // neighbours share bytes of the destination
  RunWalk walk(tensor, region);
  PTD_TRY(Gather(state, segment, table, destination, used).run(walk, report));
  return report;
}

}  // namespace ptd::reader
