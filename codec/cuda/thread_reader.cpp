// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "cuda/deep_reader.hpp"
#include "cuda/parallel.hpp"
#include "file/failure.hpp"

namespace ptd::cuda {
namespace {

class ThreadReader final : public DeepReader {
 public:
  explicit ThreadReader(unsigned threads) : threads_(threads) {}

  void run(const DirectFile& file, ReadQueue& queue) noexcept override {
    // Without memory for threads nothing is read ahead.
    static_cast<void>(file::guarded([&]() -> Result<void> {
      run_on_threads(threads_, [&] { work(file, queue); });
      return {};
    }));
  }

 private:
  static void work(const DirectFile& file, ReadQueue& queue) noexcept {
    while (const auto read = queue.next(true))
      queue.finish(read->number, read_blocks(file, read->offset, read->into).done);
  }

  const unsigned threads_;
};

}  // namespace

DeepReaderPtr thread_reader(unsigned threads) { return std::make_unique<ThreadReader>(threads); }

}  // namespace ptd::cuda
