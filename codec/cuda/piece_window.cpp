// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "cuda/piece_window.hpp"

#include <algorithm>
#include <cstring>

namespace ptd::cuda {

PieceWindow::PieceWindow(DirectFilePtr file, const std::vector<Piece>& pieces, std::uint64_t piece_bytes,
                         std::size_t slots)
    : file_(std::move(file)), piece_bytes_(piece_bytes) {
  states_.reserve(pieces.size());
  for (const auto& piece : pieces) states_.push_back({.piece = piece});
  slots = std::min(slots, pieces.size());
  free_.reserve(slots);
  for (std::size_t slot = slots; slot-- > 0;) free_.push_back(slot);
  memory_ = allocate_for(*file_, std::max<std::size_t>(1, slots) * piece_bytes);
}

std::optional<BlockRead> PieceWindow::next(bool may_wait) noexcept {
  std::unique_lock lock(mutex_);
  while (true) {
    skip_what_needs_no_read();
    if (is_closed_ || next_ == states_.size()) return std::nullopt;
    if (!free_.empty()) break;
    if (!may_wait) return std::nullopt;
    freed_.wait(lock);
  }
  auto& state = states_[next_];
  state.slot = free_.back();
  free_.pop_back();
  state.step = Step::in_flight;
  const auto begin = file_->block_begin(state.piece.range.begin);
  const auto end = file_->block_end(state.piece.range.end);
  return BlockRead{begin, {memory_of(state), end - begin}, next_++};
}

void PieceWindow::skip_what_needs_no_read() noexcept {
  while (next_ < states_.size() && (states_[next_].piece.is_resident || states_[next_].piece.wanted == 0))
    states_[next_++].step = Step::gone;
}

void PieceWindow::finish(std::uint64_t number, std::uint64_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  auto& state = states_[number];
  const auto& range = state.piece.range;
  state.step = Step::here;
  if (bytes < range.end - file_->block_begin(range.begin)) let_go(state);
  came_.notify_all();
}

bool PieceWindow::take(std::uint32_t piece, std::uint64_t offset, MutableBytes destination) noexcept {
  std::unique_lock lock(mutex_);
  auto& state = states_[piece];
  came_.wait(lock, [&] { return !is_coming(piece); });
  const bool is_here = state.step == Step::here;
  if (is_here) {
    ++state.users;
    lock.unlock();
    const auto begin = file_->block_begin(state.piece.range.begin);
    std::memcpy(destination.data(), memory_of(state) + (offset - begin), destination.size());
    lock.lock();
    --state.users;
  }
  state.piece.wanted -= std::min<std::uint64_t>(state.piece.wanted, destination.size());
  let_go_if_taken(state);
  return is_here;
}

// Slots that are free now are enough for it and for all before it.
bool PieceWindow::is_coming(std::size_t number) const noexcept {
  const auto step = states_[number].step;
  if (step != Step::unread) return step == Step::in_flight;
  return !is_closed_ && number >= next_ && number - next_ < free_.size();
}

void PieceWindow::let_go(State& state) noexcept {
  state.step = Step::gone;
  free_.push_back(state.slot);
  freed_.notify_one();
}

void PieceWindow::let_go_if_taken(State& state) noexcept {
  if (state.step == Step::here && state.piece.wanted == 0 && state.users == 0) let_go(state);
}

void PieceWindow::close() noexcept {
  const std::lock_guard lock(mutex_);
  is_closed_ = true;
  freed_.notify_all();
  came_.notify_all();
}

void PieceWindow::abandon() noexcept {
  close();
  const std::lock_guard lock(mutex_);
  for (auto& state : states_)
    if (state.step == Step::in_flight) state.step = Step::gone;
  came_.notify_all();
}

}  // namespace ptd::cuda
