// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "cuda/residency.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "wire/checked.hpp"

namespace ptd::cuda {
namespace {

/// Whether all pages of a range of the mapping are in memory.
class PageMap {
 public:
  explicit PageMap(Bytes mapping) : mapping_(mapping) {}

  bool is_resident(FileRange range) {
    const auto begin = range.begin / page_ * page_;
    pages_.resize((range.end - begin + page_ - 1) / page_);
    // mincore takes a pointer to what it does not change.
    auto* const at = const_cast<std::byte*>(mapping_.data()) + begin;
    if (mincore(at, range.end - begin, pages_.data()) != 0) return false;
    return std::ranges::all_of(pages_, [](unsigned char page) { return (page & 1U) != 0; });
  }

 private:
  const Bytes mapping_;
  const std::uint64_t page_ = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> pages_;
};

}  // namespace

double resident_share(Bytes mapping, const Reader& file, std::span<const Wanted> wanted) {
  constexpr std::size_t samples = 512;
  const auto chosen = std::min(samples, wanted.size());
  PageMap pages(mapping);
  double all = 0;
  double resident = 0;
  for (std::size_t i = 0; i < chosen; ++i) {
    const auto content = file.model().storages[wanted[wanted.size() * i / chosen].storage].content;
    if (content == no_index) continue;
    const auto& segment = file.segment_of(content);
    const auto step = wire::divide_up(segment.stored_size, samples / chosen);
    for (std::uint64_t at = 0; at < segment.stored_size; at += step) {
      const auto offset = segment.offset + at;
      const auto weight = static_cast<double>(std::min(step, segment.stored_size - at));
      all += weight;
      if (pages.is_resident({offset, offset + 1})) resident += weight;
    }
  }
  return all == 0 ? 1 : resident / all;
}

void mark_resident(Bytes mapping, std::vector<Piece>& pieces) {
  PageMap pages(mapping);
  for (auto& piece : pieces) piece.is_resident = pages.is_resident(piece.range);
}

}  // namespace ptd::cuda
