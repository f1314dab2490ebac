// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "cuda/pinned_pool.hpp"

#include <algorithm>
#include <chrono>
#include <new>
#include <thread>
#include <utility>

namespace ptd::cuda {
namespace {

constexpr std::align_val_t page{4096};

/// Looks again and again for about as long as a few buffers take to be copied: to sleep and be woken takes as
/// long as to copy one.
bool is_reached_soon(const Mark& mark) {
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::milliseconds(2);
  while (!mark.is_reached()) {
    if (std::chrono::steady_clock::now() > give_up) return false;
    std::this_thread::yield();
  }
  return true;
}

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
  free_.reserve(most_);
  pageable_.reserve(most_);
}

PinnedPool::~PinnedPool() {
  for (const auto& one : free_) {
    if (one.copied) static_cast<void>(one.copied->wait());  // whoever needs to know has asked
    destroy(one.bytes);
  }
}

void PinnedPool::destroy(const MutableBytes& bytes) noexcept {
  if (std::ranges::find(pageable_, bytes.data()) != pageable_.end())
    ::operator delete(bytes.data(), page);
  else
    driver_->unpin(bytes.data());
}

std::optional<PinnedBuffer> PinnedPool::take_free() {
  const auto is_free = [](const Free& one) { return !one.copied || one.copied->is_reached(); };
  const auto found = std::find_if(free_.rbegin(), free_.rend(), is_free);
  if (found == free_.rend()) return std::nullopt;
  PinnedBuffer buffer(this, found->bytes);
  free_.erase(std::next(found).base());
  return buffer;
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
    freed_.notify_all();  // whoever waits for a buffer may now make one, or be told that it cannot
    return fail(ErrorCode::no_memory, "", "not enough memory for a buffer to copy from");
  }
  pageable_.push_back(memory);
  return PinnedBuffer(this, {memory, buffer_bytes_});
}

// The front was given back first, so its copies end first. Without the lock: others may give back meanwhile.
Result<PinnedBuffer> PinnedPool::wait_for_oldest(std::unique_lock<std::mutex>& lock) {
  const Free oldest = free_.front();
  free_.erase(free_.begin());
  lock.unlock();
  PinnedBuffer buffer(this, oldest.bytes);
  if (!is_reached_soon(*oldest.copied)) PTD_TRY(oldest.copied->wait());
  return buffer;
}

Result<PinnedBuffer> PinnedPool::take() {
  std::unique_lock lock(mutex_);
  while (true) {
    if (auto buffer = take_free()) return std::move(*buffer);
    if (made_ < most_) return make(lock);
    if (!free_.empty()) return wait_for_oldest(lock);
    freed_.wait(lock);
  }
}

void PinnedPool::put(MutableBytes bytes, MarkPtr copied) noexcept {
  {
    const std::lock_guard lock(mutex_);
    free_.push_back({bytes, std::move(copied)});
  }
  freed_.notify_one();
}

PinnedPool::Counts PinnedPool::counts() const {
  const std::lock_guard lock(mutex_);
  const auto pageable = pageable_.size() * buffer_bytes_;
  return {made_ * buffer_bytes_ - pageable, pageable};
}

}  // namespace ptd::cuda
