// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "cuda_plain.hpp"

#include "cuda/deep_reader.hpp"
#include "cuda/read_list.hpp"

namespace ptd::bench {
namespace {

constexpr std::uint64_t block = std::uint64_t{1} << 20;

// Memory is used again as soon as it is full. Used by one thread only: that of the ring.
class Sink final : public cuda::ReadQueue {
 public:
  Sink(const cuda::DirectFile& file, std::vector<cuda::Piece> pieces, unsigned depth)
      : file_(file), pieces_(std::move(pieces)), memory_(cuda::allocate_for(file, depth * block)) {
    for (unsigned i = 0; i < depth; ++i) free_.push_back(i);
  }

  [[nodiscard]] std::optional<cuda::BlockRead> next(bool /*may_wait*/) noexcept override {
    if (next_ == pieces_.size() || free_.empty()) return std::nullopt;
    const auto slot = free_.back();
    free_.pop_back();
    const auto& range = pieces_[next_++].range;
    const auto begin = file_.block_begin(range.begin);
    return cuda::BlockRead{begin, {memory_.get() + slot * block, file_.block_end(range.end) - begin}, slot};
  }

  void finish(std::uint64_t slot, std::uint64_t bytes) noexcept override {
    free_.push_back(slot);
    bytes_ += bytes;
  }

  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  const cuda::DirectFile& file_;
  const std::vector<cuda::Piece> pieces_;
  const cuda::DirectMemory memory_;
  std::vector<std::uint64_t> free_;
  std::size_t next_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace

void read_with_ring(const std::filesystem::path& path, const std::vector<Range>& ranges, unsigned depth) {
  const auto file = need(cuda::open_direct(need(open_file(path))));
  std::vector<cuda::Read> wanted;
  std::uint64_t bytes = 0;
  for (const auto& range : ranges) {
    wanted.push_back({{range.begin, range.end}});
    bytes += range.end - range.begin;
  }
  const auto ring = need(cuda::ring_reader(depth));
  Sink sink(*file, cuda::list_reads(wanted, block).pieces, depth);
  ring->run(*file, sink);
  need_that(sink.bytes() >= bytes, "the plain reader did not get every byte");
}

}  // namespace ptd::bench
