// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "cuda/allocation.hpp"

#include <system_error>
#include <utility>

#include "file/failure.hpp"

namespace ptd::cuda {
namespace {

std::shared_future<Result<void>> done_here(const std::function<Result<void>()>& work) {
  std::promise<Result<void>> done;
  done.set_value(work());
  return done.get_future().share();
}

}  // namespace

Allocation::Allocation(std::function<Result<void>()> work, Where where) {
  const auto guarded = [work = std::move(work)] { return file::guarded(work); };
  if (where == Where::background) try {
      done_ = std::async(std::launch::async, guarded).share();
      return;
    } catch (const std::system_error&) {
      // There is no thread to be had.
    }
  done_ = done_here(guarded);
}

Allocation::~Allocation() {
  if (done_.valid()) done_.wait();
}

Result<void> Allocation::wait() const { return done_.get(); }

}  // namespace ptd::cuda
