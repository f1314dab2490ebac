// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Independent pieces of work, on all cores.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <ptd/error.hpp>
#include <utility>

#include "file/ordered.hpp"

namespace ptd::reader {

/// Calls `work(tool, i)` for each i below `count`, each thread with a `tool` made by `make_tool()`, and
/// `merge(tool)` once after each piece, in order, one at a time. The error is that of the lowest i.
template <class MakeTool, class Work, class Merge>
Result<void> for_each_piece(std::uint64_t count, unsigned threads, const MakeTool& make_tool,
                            const Work& work, const Merge& merge) {
  using Tool = decltype(make_tool());
  std::uint64_t next = 0;
  class Worker final : public file::OrderedWorker {
   public:
    Worker(std::uint64_t count, std::uint64_t& next, Tool tool, const Work& work, const Merge& merge)
        : count_(count), next_(next), tool_(std::move(tool)), work_(work), merge_(merge) {}
    Result<bool> take() override {
      if (next_ == count_) return false;
      mine_ = next_++;
      return true;
    }
    Result<void> work() override { return work_(tool_, mine_); }
    Result<void> commit() override {
      merge_(tool_);
      return {};
    }
    Result<void> finish() override { return {}; }

   private:
    std::uint64_t count_;
    std::uint64_t& next_;
    std::uint64_t mine_ = 0;
    Tool tool_;
    const Work& work_;
    const Merge& merge_;
  };
  const auto useful = static_cast<unsigned>(std::clamp<std::uint64_t>(count, 1, file::thread_count(threads)));
  return file::run_ordered(useful,
                           [&] { return std::make_unique<Worker>(count, next, make_tool(), work, merge); });
}

}  // namespace ptd::reader
