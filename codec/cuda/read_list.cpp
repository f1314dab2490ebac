// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "cuda/read_list.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "model/check.hpp"

namespace ptd::cuda {
namespace {

// So much that nobody wants is read sooner than another request is made.
constexpr std::uint64_t widest_gap = std::uint64_t{32} << 10;

class Lister {
 public:
  explicit Lister(std::uint64_t piece_bytes) : piece_bytes_(piece_bytes) {}

  void add(const Read& read) {
    auto range = read.range;
    while (range.begin < range.end) {
      const auto end = std::min(range.end, cell_of(range.begin + piece_bytes_) * piece_bytes_);
      add_part({range.begin, end}, last_[read.is_table ? 1 : 0]);
      range.begin = end;
    }
  }

  ReadList take() {
    std::ranges::sort(list_.parts, {}, [](const Part& part) { return part.range.begin; });
    return std::move(list_);
  }

 private:
  [[nodiscard]] std::uint64_t cell_of(std::uint64_t offset) const { return offset / piece_bytes_; }

  /// To the last piece of its kind, if it fits there.
  void add_part(FileRange range, std::optional<std::uint32_t>& last) {
    auto& pieces = list_.pieces;
    if (!last || !joins(pieces[*last].range, range)) {
      last = static_cast<std::uint32_t>(pieces.size());
      pieces.push_back({.range = range});
    }
    pieces[*last].range.end = range.end;
    pieces[*last].wanted += range.end - range.begin;
    list_.parts.push_back({range, *last});
  }

  [[nodiscard]] bool joins(const FileRange& last, const FileRange& next) const {
    return cell_of(last.begin) == cell_of(next.begin) && next.begin >= last.end &&
           next.begin - last.end <= widest_gap;
  }

  const std::uint64_t piece_bytes_;
  ReadList list_;
  std::array<std::optional<std::uint32_t>, 2> last_;  ///< piece, by kind
};

}  // namespace

ReadList list_reads(const std::vector<Read>& reads, std::uint64_t piece_bytes) {
  Lister lister(piece_bytes);
  for (const auto& read : reads) lister.add(read);
  return lister.take();
}

std::vector<Read> reads_of(const Reader& file, TableStore& tables, std::span<const Wanted> wanted) {
  std::vector<bool> is_listed(file.model().contents.size());
  std::vector<Read> reads;
  for (const auto& one : wanted) {
    const auto content = file.model().storages[one.storage].content;
    if (content == no_index || is_listed[content]) continue;
    is_listed[content] = true;
    const auto& segment = file.segment_of(content);
    const auto table_bytes = segment.chunks * model::table_entry_bytes(segment.encoding);
    if (!tables.has(content))
      reads.push_back({{segment.table_offset, segment.table_offset + table_bytes}, true});
    reads.push_back({{segment.offset, segment.offset + segment.stored_size}, false});
  }
  return reads;
}

}  // namespace ptd::cuda
