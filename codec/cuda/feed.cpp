// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "cuda/feed.hpp"

#include "cuda/read_ahead.hpp"
#include "cuda/residency.hpp"

namespace ptd::cuda {
namespace {

/// Hides a mapping, so that bytes are read with pread.
class BufferedSource final : public ByteSource {
 public:
  explicit BufferedSource(SourcePtr base) : base_(std::move(base)) {}
  [[nodiscard]] std::uint64_t size() const noexcept override { return base_->size(); }
  [[nodiscard]] std::string label() const override { return base_->label(); }
  [[nodiscard]] Result<void> read(std::uint64_t offset, MutableBytes destination) const override {
    return base_->read(offset, destination);
  }

 private:
  SourcePtr base_;
};

SourcePtr buffered_source(const Reader& file) { return std::make_shared<BufferedSource>(file.file().source); }

Feed buffered(const Reader& file, std::string note = {}) {
  Feed feed{buffered_source(file), ReadPath::buffered, {}};
  if (!note.empty()) feed.notes.push_back(std::move(note));
  return feed;
}

Feed mapped(const Reader& file) {
  const auto& opened = file.file();
  if (!opened.source->in_memory().empty()) return {opened.source, ReadPath::mapped, {}};
  return buffered(file, opened.fallback.empty()
                            ? "the file was not opened mapped, so it is read piece by piece"
                            : opened.fallback);
}

/// With io_uring one thread keeps so many reads in flight. Threads wait for one each, so there are fewer.
DeepReaderPtr make_reader(const RingMaker& make_ring, std::vector<std::string>& notes) {
  constexpr unsigned threads = 16;
  auto ring = make_ring(ReadAheadSize{}.pieces);
  if (ring) return std::move(*ring);
  notes.push_back(ring.error().message + ", so threads read ahead instead");
  return thread_reader(threads);
}

Feed direct(const Reader& file, TableStore& tables, std::span<const Wanted> wanted,
            const RingMaker& make_ring, Bytes in_cache = {}) {
  auto opened = open_direct(file.file());
  if (!opened) return buffered(file, opened.error().message);
  Feed feed{nullptr, ReadPath::direct, {}};
  auto list = list_reads(reads_of(file, tables, wanted), ReadAheadSize{}.piece_bytes);
  if (!in_cache.empty()) mark_resident(in_cache, list.pieces);
  feed.source =
      read_ahead(*opened, buffered_source(file), std::move(list), make_reader(make_ring, feed.notes));
  return feed;
}

/// The whole file in memory, to ask what of it is in the page cache; empty if it cannot be mapped. A file
/// that was not opened mapped is never read through it: it may be cut short.
SourcePtr view_of(const OpenedFile& opened) {
  if (!opened.source->in_memory().empty()) return opened.source;
  auto again = open_file(opened.source->label(), FileAccess::mapped);
  return again && again->identity == opened.identity ? again->source : opened.source;
}

// The samples cost next to nothing. To ask for every page takes a fifth of a load from memory, so that is
// done only where it can save reads of the disk, and not for the few that a mapping brings just as well.
Feed automatic(const Reader& file, TableStore& tables, std::span<const Wanted> wanted,
               const RingMaker& make_ring) {
  constexpr double most = 0.9;
  const bool is_mapped = !file.file().source->in_memory().empty();
  const auto from_memory = [&] { return is_mapped ? mapped(file) : buffered(file); };
  // What is no file lies in memory anyway.
  if (file.file().identity == FileIdentity{}) return from_memory();
  const auto view = view_of(file.file());
  const auto pages = view->in_memory();
  const auto share = pages.empty() ? 0 : resident_share(pages, file, wanted);
  if (share >= most) return from_memory();
  return direct(file, tables, wanted, make_ring, share > 0 ? pages : Bytes());
}

}  // namespace

Feed choose_feed(const Reader& file, TableStore& tables, std::span<const Wanted> wanted, ReadPath path,
                 const RingMaker& make_ring) {
  switch (path) {
    case ReadPath::mapped:
      return mapped(file);
    case ReadPath::direct:
      return direct(file, tables, wanted, make_ring);
    case ReadPath::buffered:
      return buffered(file);
    default:
      return automatic(file, tables, wanted, make_ring);
  }
}

}  // namespace ptd::cuda
