// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include <liburing.h>

#include "cuda/deep_reader.hpp"
#include "file/failure.hpp"

namespace ptd::cuda {
namespace {

class RingReader final : public DeepReader {
 public:
  explicit RingReader(unsigned depth) : depth_(depth), error_(-io_uring_queue_init(depth, &ring_, 0)) {}
  RingReader(const RingReader&) = delete;
  RingReader& operator=(const RingReader&) = delete;
  ~RingReader() override {
    if (error_ == 0) io_uring_queue_exit(&ring_);
  }

  /// 0, or why there is no ring.
  [[nodiscard]] int error() const noexcept { return error_; }

  void run(const DirectFile& file, ReadQueue& queue) noexcept override {
    while (true) {
      prepare(file, queue);
      if (prepared_ + in_flight_ == 0) return;
      submit();
      // What the kernel does not take while nothing of ours is under way, it is not going to take.
      if (in_flight_ == 0) return;
      reap(queue);
    }
  }

 private:
  /// Fills the ring; waits for something to read only if there is nothing to wait for otherwise.
  void prepare(const DirectFile& file, ReadQueue& queue) noexcept {
    while (prepared_ + in_flight_ < depth_) {
      const auto read = queue.next(prepared_ + in_flight_ == 0);
      if (!read) return;
      auto* entry = io_uring_get_sqe(&ring_);  // there is one: the ring has room for `depth_`
      io_uring_prep_read(entry, file.file.get(), read->into.data(), static_cast<unsigned>(read->into.size()),
                         read->offset);
      io_uring_sqe_set_data64(entry, read->number);
      ++prepared_;
    }
  }

  void submit() noexcept {
    if (prepared_ == 0) return;
    int taken = 0;
    do taken = io_uring_submit(&ring_);
    while (taken == -EINTR);
    if (taken <= 0) return;  // short of memory, for example: again when something has come
    prepared_ -= static_cast<unsigned>(taken);
    in_flight_ += static_cast<unsigned>(taken);
  }

  /// Waits for one read and takes all that are done. The kernel may write to their memory until then, so
  /// there is no leaving before.
  void reap(ReadQueue& queue) noexcept {
    io_uring_cqe* entry = nullptr;
    while (io_uring_wait_cqe(&ring_, &entry) != 0) {
    }
    do {
      // A failed or interrupted read brought nothing; whoever needs the bytes will ask for them, and be told.
      queue.finish(io_uring_cqe_get_data64(entry),
                   entry->res > 0 ? static_cast<std::uint64_t>(entry->res) : 0);
      io_uring_cqe_seen(&ring_, entry);
      --in_flight_;
    } while (io_uring_peek_cqe(&ring_, &entry) == 0);
  }

  const unsigned depth_;
  io_uring ring_{};
  const int error_;
  unsigned prepared_ = 0;   ///< reads that the kernel has not taken yet
  unsigned in_flight_ = 0;  ///< reads that it has
};

}  // namespace

Result<DeepReaderPtr> ring_reader(unsigned depth) {
  return file::guarded([&]() -> Result<DeepReaderPtr> {
    auto reader = std::make_unique<RingReader>(depth);
    if (reader->error() == 0) return reader;
    return fail(ErrorCode::io, "",
                "io_uring is not to be had here (" + file::error_text(reader->error()) + ")");
  });
}

}  // namespace ptd::cuda
