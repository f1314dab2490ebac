// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "cuda/pinned_pool.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "cuda/patience.hpp"

namespace ptd::cuda {
namespace {

constexpr std::align_val_t page{4096};

std::byte* allocate_pageable(std::uint64_t bytes) noexcept {
  return static_cast<std::byte*>(::operator new(bytes, page, std::nothrow));
}

}  // namespace

PinnedBuffer::PinnedBuffer(PinnedBuffer&& other) noexcept
    : pool_(std::exchange(other.pool_, nullptr)), bytes_(other.bytes_) {}

PinnedBuffer& PinnedBuffer::operator=(PinnedBuffer&& other) noexcept {
  std::swap(pool_, other.pool_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

PinnedBuffer::~PinnedBuffer() { give_back(nullptr); }

void PinnedBuffer::give_back(MarkPtr copied) noexcept {
  if (auto* pool = std::exchange(pool_, nullptr)) pool->put(bytes_, std::move(copied));
}

PinnedPool::PinnedPool(DriverPtr driver, std::uint64_t buffer_bytes, std::uint64_t buffers)
    : driver_(std::move(driver)), buffer_bytes_(buffer_bytes), most_(buffers) {
  // So that giving a buffer back never allocates.
  ready_.reserve(most_);
  in_flight_.reserve(most_);
  pageable_.reserve(most_);
}

PinnedPool::~PinnedPool() {
  for (const auto& one : in_flight_) {
    static_cast<void>(one.mark->wait());  // whoever needs to know has asked
    destroy(one.bytes);
  }
  for (const auto& bytes : ready_) destroy(bytes);
}

void PinnedPool::destroy(const MutableBytes& bytes) noexcept {
  if (std::ranges::find(pageable_, bytes.data()) != pageable_.end())
    ::operator delete(bytes.data(), page);
  else
    driver_->unpin(bytes.data());
}

PinnedBuffer PinnedPool::take_ready() {
  PinnedBuffer buffer(this, ready_.back());
  ready_.pop_back();
  return buffer;
}

void PinnedPool::settle_reached() {
  while (!in_flight_.empty() && in_flight_.front().mark->is_reached()) {
    ready_.push_back(in_flight_.front().bytes);
    in_flight_.erase(in_flight_.begin());
  }
}

Result<PinnedBuffer> PinnedPool::make(std::unique_lock<std::mutex>& lock) {
  ++made_;
  lock.unlock();
  auto pinned = driver_->pin(buffer_bytes_);
  if (pinned) return PinnedBuffer(this, {static_cast<std::byte*>(*pinned), buffer_bytes_});
  auto* memory = allocate_pageable(buffer_bytes_);
  lock.lock();
  if (memory == nullptr) {
    --made_;
    changed_.notify_all();  // whoever waits for a buffer may now make one, or be told that it cannot
    return fail(ErrorCode::no_memory, "", "not enough memory for a buffer to copy from");
  }
  pageable_.push_back(memory);
  return PinnedBuffer(this, {memory, buffer_bytes_});
}

// Without the lock, since others give back meanwhile; but one at a time: many who ask the driver at once hold
// each other up. Nobody else takes the front away.
Result<void> PinnedPool::watch_oldest(std::unique_lock<std::mutex>& lock) {
  is_watched_ = true;
  const auto mark = in_flight_.front().mark;
  lock.unlock();
  auto outcome = wait_actively(*mark);
  lock.lock();
  is_watched_ = false;
  ready_.push_back(in_flight_.front().bytes);
  in_flight_.erase(in_flight_.begin());
  changed_.notify_all();
  return outcome;
}

Result<PinnedBuffer> PinnedPool::take() {
  std::unique_lock lock(mutex_);
  while (true) {
    if (!is_watched_) settle_reached();
    if (!ready_.empty()) return take_ready();
    if (made_ < most_) return make(lock);
    if (is_watched_ || in_flight_.empty())
      changed_.wait(lock);
    else
      PTD_TRY(watch_oldest(lock));
  }
}

void PinnedPool::put(MutableBytes bytes, MarkPtr copied) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (copied)
      in_flight_.push_back({bytes, std::move(copied)});
    else
      ready_.push_back(bytes);
  }
  changed_.notify_one();
}

PinnedPool::Counts PinnedPool::counts() const {
  const std::lock_guard lock(mutex_);
  const auto pageable = pageable_.size() * buffer_bytes_;
  return {made_ * buffer_bytes_ - pageable, pageable};
}

}  // namespace ptd::cuda
