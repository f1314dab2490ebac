// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// The pieces of a file that have been read, or are being read, and are still wanted: a window that moves over
// the list of reads.
#pragma once

#include <condition_variable>
#include <mutex>
#include <vector>

#include "cuda/deep_reader.hpp"
#include "cuda/read_list.hpp"

namespace ptd::cuda {

/// A reader fills it in the list's order, any number of threads take from it in about that order. No thread
/// waits for anything but a read that is in flight or is going to be whatever the others do: so no order of
/// taking can block, it only makes reading ahead useless.
class PieceWindow final : public ReadQueue {
 public:
  /// At most `slots` pieces are in memory at once. No piece is larger than piece_bytes, a multiple of the
  /// file's block. Throws std::bad_alloc.
  PieceWindow(DirectFilePtr file, const std::vector<Piece>& pieces, std::uint64_t piece_bytes,
              std::size_t slots);

  [[nodiscard]] std::optional<BlockRead> next(bool may_wait) noexcept override;
  void finish(std::uint64_t number, std::uint64_t bytes) noexcept override;

  /// Copies wanted bytes of a piece, once they are there. False if they are not going to be, or not yet, or
  /// no more: then whoever wants them reads them himself. Either way they count as taken, and a piece goes
  /// when all of it is.
  bool take(std::uint32_t piece, std::uint64_t offset, MutableBytes destination) noexcept;

  /// No more reads are begun.
  void close() noexcept;
  /// The reader has returned: nothing is in flight, and nothing more will come.
  void abandon() noexcept;

 private:
  enum class Step : std::uint8_t { unread, in_flight, here, gone };

  struct State {
    Piece piece;
    Step step = Step::unread;
    unsigned users = 0;  ///< who are copying
    std::size_t slot = 0;
  };

  void skip_what_needs_no_read() noexcept;
  [[nodiscard]] bool is_coming(std::size_t number) const noexcept;
  [[nodiscard]] std::byte* memory_of(const State& state) const noexcept {
    return memory_.get() + state.slot * piece_bytes_;
  }
  void let_go(State& state) noexcept;
  void let_go_if_taken(State& state) noexcept;

  const DirectFilePtr file_;
  const std::uint64_t piece_bytes_;
  std::mutex mutex_;
  std::condition_variable came_;   ///< for those who take
  std::condition_variable freed_;  ///< for the reader
  std::vector<State> states_;      ///< by piece
  std::vector<std::size_t> free_;  ///< slots
  std::size_t next_ = 0;           ///< piece to read
  bool is_closed_ = false;
  DirectMemory memory_;
};

}  // namespace ptd::cuda
