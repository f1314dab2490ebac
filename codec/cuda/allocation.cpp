// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "cuda/allocation.hpp"

#include <system_error>
#include <utility>

#include "file/failure.hpp"

namespace ptd::cuda {
namespace {

using Work = std::function<Result<void>()>;

std::future<Result<void>> do_here(const Work& work) {
  std::promise<Result<void>> done;
  done.set_value(work());
  return done.get_future();
}

std::future<Result<void>> do_in_background(const Work& work) {
  try {
    return std::async(std::launch::async, work);
  } catch (const std::system_error&) {
    return do_here(work);  // there is no thread to be had
  }
}

}  // namespace

Allocation::Allocation(std::function<Result<void>()> work, Where where) {
  const auto guarded = [work = std::move(work)] { return file::guarded(work); };
  done_ = where == Where::background ? do_in_background(guarded) : do_here(guarded);
}

Allocation::~Allocation() { done_.wait(); }

Result<void> Allocation::wait() const { return done_.get(); }

}  // namespace ptd::cuda
