// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "cuda/read_ahead.hpp"

#include <algorithm>
#include <system_error>
#include <thread>

#include "cuda/direct_source.hpp"
#include "cuda/piece_window.hpp"
#include "file/failure.hpp"

namespace ptd::cuda {
namespace {

class ReadAhead final : public ByteSource {
 public:
  ReadAhead(const DirectFilePtr& file, SourcePtr buffered, ReadList list, DeepReaderPtr reader,
            const ReadAheadSize& size)
      : direct_(direct_source(file)),
        buffered_(std::move(buffered)),
        parts_(std::move(list.parts)),
        is_resident_(residents(list.pieces)),
        window_(std::make_unique<PieceWindow>(file, list.pieces, size.piece_bytes, size.pieces)) {
    start(file, std::move(reader));
  }

  ~ReadAhead() override { window_->close(); }

  [[nodiscard]] std::uint64_t size() const noexcept override { return direct_->size(); }
  [[nodiscard]] std::string label() const override { return direct_->label(); }

  [[nodiscard]] Result<void> read(std::uint64_t offset, MutableBytes destination) const override {
    PTD_TRY(file::check_range(label(), size(), offset, destination.size()));
    while (!destination.empty()) {
      const auto run = run_at(offset, destination.size());
      PTD_TRY(read_run(run, offset, destination.first(run.bytes)));
      destination = destination.subspan(run.bytes);
      offset += run.bytes;
    }
    return {};
  }

 private:
  /// Bytes that come the same way.
  struct Run {
    const Part* part = nullptr;  ///< null: not on the list
    std::uint64_t bytes = 0;
  };

  static std::vector<bool> residents(const std::vector<Piece>& pieces) {
    std::vector<bool> all;
    all.reserve(pieces.size());
    for (const auto& piece : pieces) all.push_back(piece.is_resident);
    return all;
  }

  void start(const DirectFilePtr& file, DeepReaderPtr reader) {
    try {
      thread_ = std::jthread([this, file, reader = std::move(reader)] {
        reader->run(*file, *window_);
        window_->abandon();
      });
    } catch (const std::system_error&) {
      window_->abandon();  // no thread can be had: everybody reads for himself
    }
  }

  [[nodiscard]] Run run_at(std::uint64_t offset, std::uint64_t bytes) const {
    const auto after =
        std::ranges::upper_bound(parts_, offset, {}, [](const Part& part) { return part.range.begin; });
    if (after != parts_.begin()) {
      const auto& part = *std::prev(after);
      if (offset < part.range.end) return {&part, std::min(bytes, part.range.end - offset)};
    }
    return {nullptr, after == parts_.end() ? bytes : std::min(bytes, after->range.begin - offset)};
  }

  [[nodiscard]] Result<void> read_run(const Run& run, std::uint64_t offset, MutableBytes destination) const {
    if (run.part != nullptr && is_resident_[run.part->piece]) return buffered_->read(offset, destination);
    if (run.part != nullptr && window_->take(run.part->piece, offset, destination)) return {};
    return direct_->read(offset, destination);
  }

  const SourcePtr direct_;
  const SourcePtr buffered_;
  const std::vector<Part> parts_;
  const std::vector<bool> is_resident_;  ///< by piece
  const std::unique_ptr<PieceWindow> window_;
  std::jthread thread_;  ///< the last: it ends before the window does
};

}  // namespace

SourcePtr read_ahead(const DirectFilePtr& file, SourcePtr buffered, ReadList list, DeepReaderPtr reader,
                     const ReadAheadSize& size) {
  return std::make_shared<ReadAhead>(file, std::move(buffered), std::move(list), std::move(reader), size);
}

}  // namespace ptd::cuda
