// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// GPUs that are none: memory of the host, copies that happen late and on a thread of their own, calls that
// fail when they are told to.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <new>
#include <set>
#include <thread>

#include "cuda/device.hpp"
#include "cuda/gpu/on_host.hpp"
#include "segment/digest.hpp"
#include "segment/planes.hpp"

namespace ptd::cuda::fake {

/// Lets the call of a certain number fail, counted over all devices of a driver.
class Faults {
 public:
  void fail_at(const std::string& call, int number) {
    const std::lock_guard lock(mutex_);
    at_[call] = number;
  }

  Result<void> check(const std::string& call, ErrorCode code) {
    const std::lock_guard lock(mutex_);
    const int number = counts_[call]++;
    const auto found = at_.find(call);
    if (found == at_.end() || (found->second != number && found->second != always)) return {};
    return fail(code, "", "the fake " + call + " failed");
  }

  int calls(const std::string& call) {
    const std::lock_guard lock(mutex_);
    return counts_[call];
  }

  static constexpr int always = -1;

 private:
  std::mutex mutex_;
  std::map<std::string, int> counts_;
  std::map<std::string, int> at_;
};

/// A queue of work that is done in order, by a thread that takes its time.
class Queue {
 public:
  explicit Queue(std::chrono::microseconds delay) : delay_(delay), thread_([this] { run(); }) {}
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;
  ~Queue() {
    {
      const std::lock_guard lock(mutex_);
      is_closed_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  std::uint64_t add(std::function<void()> work) {
    const std::lock_guard lock(mutex_);
    work_.push_back(std::move(work));
    changed_.notify_all();
    return ++added_;
  }
  std::uint64_t added() {
    const std::lock_guard lock(mutex_);
    return added_;
  }
  bool is_done(std::uint64_t number) {
    const std::lock_guard lock(mutex_);
    return done_ >= number;
  }
  void wait(std::uint64_t number) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return done_ >= number; });
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return is_closed_ || !work_.empty(); });
      if (work_.empty()) return;
      auto work = std::move(work_.front());
      work_.pop_front();
      lock.unlock();
      std::this_thread::sleep_for(delay_);
      work();
      lock.lock();
      ++done_;
      changed_.notify_all();
    }
  }

  const std::chrono::microseconds delay_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> work_;
  std::uint64_t added_ = 0;
  std::uint64_t done_ = 0;
  bool is_closed_ = false;
  std::thread thread_;
};

class FakeMark final : public Mark {
 public:
  FakeMark(std::shared_ptr<Queue> queue, std::uint64_t number) : queue_(std::move(queue)), number_(number) {}
  [[nodiscard]] bool is_reached() const override { return queue_->is_done(number_); }
  [[nodiscard]] Result<void> wait() const override {
    queue_->wait(number_);
    return {};
  }
  [[nodiscard]] Result<void> make_wait(Stream) const override { return {}; }

 private:
  std::shared_ptr<Queue> queue_;
  std::uint64_t number_;
};

/// What a lane's kernels do, on the host.
class Kernels {
 public:
  /// Says of some chunks that they are outside the profile, by their number among all.
  std::function<bool(std::uint64_t)> refuses;
  std::atomic<std::uint64_t> chunks = 0;  ///< that were given

  gpu::ChunkStatus run(const gpu::ChunkJob& job) {
    if (const auto number = chunks++; refuses && refuses(number)) return gpu::ChunkStatus::outside_profile;
    const auto raw = room(job.raw, job.raw_bytes), stored = room(job.stored, job.stored_bytes);
    if (job.stored_bytes != job.raw_bytes) {
      std::vector<std::byte> planes(job.raw_bytes);
      const auto verdict = gpu::decode_on_host(stored, job.width, planes);
      if (verdict != gpu::Verdict::ok) return static_cast<gpu::ChunkStatus>(verdict);
      segment::merge_planes(planes, raw, job.width, job.rotated != 0);
    } else if (job.stored != job.raw) {
      std::memcpy(raw.data(), stored.data(), raw.size());
    }
    const bool is_good = job.checked == 0 || segment::xxh3(raw) == job.hash;
    return is_good ? gpu::ChunkStatus::ok : gpu::ChunkStatus::wrong_hash;
  }

  static MutableBytes room(std::uint64_t address, std::uint64_t bytes) {
    return {reinterpret_cast<std::byte*>(address), bytes};  // NOLINT(performance-no-int-to-ptr)
  }
};

class FakeLane final : public Lane {
 public:
  FakeLane(Faults& faults, Kernels& kernels, std::chrono::microseconds delay)
      : faults_(faults), kernels_(kernels), queue_(std::make_shared<Queue>(delay)) {}

  [[nodiscard]] Result<void> copy(void* device, const void* host, std::uint64_t bytes) override {
    PTD_TRY(faults_.check("copy", ErrorCode::device));
    queue_->add([=] { std::memcpy(device, host, bytes); });
    return {};
  }

  [[nodiscard]] Result<void> fetch(void* host, const void* device, std::uint64_t bytes) override {
    PTD_TRY(faults_.check("fetch", ErrorCode::device));
    queue_->add([=] { std::memcpy(host, device, bytes); });
    return {};
  }

  [[nodiscard]] Result<void> wait_for(const MarkPtr& mark) override {
    PTD_TRY(faults_.check("wait_for", ErrorCode::device));
    queue_->add([mark] { static_cast<void>(mark->wait()); });
    return {};
  }

  [[nodiscard]] Result<void> decode(std::span<const gpu::ChunkJob> jobs,
                                    const gpu::Workspace& workspace) override {
    if (jobs.empty()) return {};
    PTD_TRY(faults_.check("decode", ErrorCode::device));
    PTD_TRY(gpu::check_batch(jobs, workspace));
    gpu::place_jobs(jobs, workspace);
    queue_->add([this, count = jobs.size(), workspace] {
      const auto room = workspace.host.subspan(gpu::WorkspaceParts(count, 0).statuses);
      const auto fetched = fetch_list<gpu::ChunkJob>(workspace, count);
      for (std::size_t i = 0; i < count; ++i) {
        const auto status = kernels_.run(fetched[i]);
        std::memcpy(room.data() + i * sizeof status, &status, sizeof status);
      }
    });
    return {};
  }

  [[nodiscard]] Result<void> hash_leaves(std::span<const gpu::LeafRun> runs,
                                         const gpu::Workspace& workspace) override {
    if (runs.empty()) return {};
    PTD_TRY(faults_.check("hash", ErrorCode::device));
    PTD_TRY(gpu::check_runs(runs, workspace));
    gpu::place_runs(runs, workspace);
    queue_->add([count = runs.size(), workspace] {
      for (const auto& run : fetch_list<gpu::LeafRun>(workspace, count)) {
        const auto leaves = (run.size + segment::leaf_bytes - 1) / segment::leaf_bytes;
        segment::hash_leaves(Kernels::room(run.bytes, run.size),
                             Kernels::room(run.digests, leaves * sizeof(Digest)));
      }
    });
    return {};
  }

  [[nodiscard]] Result<MarkPtr> mark() override {
    PTD_TRY(faults_.check("mark", ErrorCode::device));
    return std::make_shared<FakeMark>(queue_, queue_->added());
  }

 private:
  /// As the lane comes to it: what is in the host's part of the workspace then, through the device's.
  template <class Item>
  static std::vector<Item> fetch_list(const gpu::Workspace& workspace, std::size_t count) {
    const auto on_device = Kernels::room(workspace.device, count * sizeof(Item));
    std::memcpy(on_device.data(), workspace.host.data(), on_device.size());
    std::vector<Item> items(count);
    std::memcpy(items.data(), on_device.data(), on_device.size());
    return items;
  }

  Faults& faults_;
  Kernels& kernels_;
  std::shared_ptr<Queue> queue_;
};

class FakeDevice final : public Device {
 public:
  FakeDevice(int ordinal, std::uint64_t capacity, Faults& faults, std::chrono::microseconds delay)
      : ordinal_(ordinal),
        capacity_(capacity),
        faults_(faults),
        delay_(delay),
        queue_(std::make_shared<Queue>(delay)) {}
  ~FakeDevice() override {
    for (const auto& [base, bytes] : blocks_) ::operator delete(const_cast<std::byte*>(base), alignment);
  }

  [[nodiscard]] int ordinal() const noexcept override { return ordinal_; }

  [[nodiscard]] Result<void*> allocate(std::uint64_t bytes) override {
    if (before_allocating) before_allocating();
    PTD_TRY(faults_.check("allocate", ErrorCode::no_memory));
    const std::lock_guard lock(mutex_);
    if (bytes > capacity_ - used_) return fail(ErrorCode::no_memory, "", "the fake GPU is full");
    auto* memory = static_cast<std::byte*>(::operator new(bytes, alignment));
    std::memset(memory, 0xCD, bytes);
    blocks_[memory] = bytes;
    used_ += bytes;
    return memory;
  }

  void release(void* memory) noexcept override {
    const std::lock_guard lock(mutex_);
    const auto found = blocks_.find(static_cast<std::byte*>(memory));
    used_ -= found->second;
    blocks_.erase(found);
    ::operator delete(memory, alignment);
  }

  [[nodiscard]] Result<void> copy(void* device, const void* host, std::uint64_t bytes) override {
    PTD_TRY(faults_.check("copy", ErrorCode::device));
    queue_->add([=] { std::memcpy(device, host, bytes); });
    return {};
  }

  [[nodiscard]] Result<void> set_zero(void* device, std::uint64_t bytes) override {
    PTD_TRY(faults_.check("set_zero", ErrorCode::device));
    queue_->add([=] { std::memset(device, 0, bytes); });
    return {};
  }

  [[nodiscard]] Result<MarkPtr> mark() override {
    return std::make_shared<FakeMark>(queue_, queue_->added());
  }

  [[nodiscard]] Result<LanePtr> make_lane() override {
    PTD_TRY(faults_.check("make_lane", ErrorCode::device));
    return std::make_unique<FakeLane>(faults_, kernels, delay_);
  }

  [[nodiscard]] bool owns(const void* memory, std::uint64_t bytes) const override {
    const std::lock_guard lock(mutex_);
    auto after = blocks_.upper_bound(static_cast<const std::byte*>(memory));
    if (after == blocks_.begin()) return false;
    const auto& [base, size] = *std::prev(after);
    const auto offset = static_cast<std::uint64_t>(static_cast<const std::byte*>(memory) - base);
    return offset <= size && bytes <= size - offset;
  }

  Kernels kernels;
  std::function<void()> before_allocating;

  /// Bytes allocated now, by anybody.
  std::uint64_t used() {
    const std::lock_guard lock(mutex_);
    return used_;
  }

 private:
  static constexpr std::align_val_t alignment{256};
  const int ordinal_;
  const std::uint64_t capacity_;
  Faults& faults_;
  const std::chrono::microseconds delay_;
  mutable std::mutex mutex_;
  std::map<const std::byte*, std::uint64_t> blocks_;
  std::uint64_t used_ = 0;
  std::shared_ptr<Queue> queue_;
};

class FakeDriver final : public Driver {
 public:
  explicit FakeDriver(int devices = 2, std::uint64_t capacity = std::uint64_t{1} << 30,
                      std::chrono::microseconds delay = std::chrono::microseconds(50)) {
    for (int i = 0; i < devices; ++i)
      devices_.push_back(std::make_shared<FakeDevice>(i, capacity, faults, delay));
  }
  ~FakeDriver() override {
    for (const auto* memory : pinned_) ::operator delete(const_cast<void*>(memory), page);
  }

  [[nodiscard]] Result<DevicePtr> device(int ordinal) override {
    if (ordinal < 0 || ordinal >= static_cast<int>(devices_.size()))
      return fail(ErrorCode::argument, "", "there is no fake GPU of this number");
    const std::lock_guard lock(mutex_);
    touched.insert(ordinal);
    return devices_[static_cast<std::size_t>(ordinal)];
  }

  [[nodiscard]] Result<void*> pin(std::uint64_t bytes) override {
    PTD_TRY(faults.check("pin", ErrorCode::no_memory));
    const std::lock_guard lock(mutex_);
    auto* memory = ::operator new(bytes, page);
    pinned_.insert(memory);
    return memory;
  }

  void unpin(void* memory) noexcept override {
    const std::lock_guard lock(mutex_);
    pinned_.erase(memory);
    ::operator delete(memory, page);
  }

  FakeDevice& gpu(int ordinal = 0) { return *devices_[static_cast<std::size_t>(ordinal)]; }
  std::size_t pinned() {
    const std::lock_guard lock(mutex_);
    return pinned_.size();
  }

  Faults faults;
  std::set<int> touched;  ///< devices that were asked for

 private:
  static constexpr std::align_val_t page{4096};
  std::vector<std::shared_ptr<FakeDevice>> devices_;
  std::mutex mutex_;
  std::set<const void*> pinned_;
};

}  // namespace ptd::cuda::fake
