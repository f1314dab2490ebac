// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Working memory that is kept between calls.
#pragma once

#include <memory>
#include <new>
#include <ptd/bytes.hpp>

namespace ptd::segment {

/// A buffer that grows and never shrinks. Its bytes are not cleared: std::vector would write 16 MiB
/// of zeros before the first large chunk, and throw where this gives nothing.
class Scratch {
 public:
  /// `size` bytes whose earlier contents are lost, or an empty span if there is no memory.
  [[nodiscard]] MutableBytes room(std::size_t size) noexcept {
    if (size > size_) {
      bytes_.reset(new (std::nothrow) std::byte[size]);
      size_ = bytes_ ? size : 0;
    }
    return {bytes_.get(), bytes_ ? size : 0};
  }

 private:
  std::unique_ptr<std::byte[]> bytes_;
  std::size_t size_ = 0;
};

}  // namespace ptd::segment
