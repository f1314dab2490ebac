// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// The words of a message, in memory of their own.
#pragma once

#include <cstdint>
#include <memory>
#include <new>
#include <ptd/bytes.hpp>
#include <span>

namespace ptd::reader {

struct AlignedDelete {
  std::align_val_t alignment{alignof(std::uint64_t)};
  void operator()(std::uint64_t* words) const noexcept { ::operator delete(words, alignment); }
};

/// Words read from a file.
class Message {
 public:
  Message() = default;

  /// Reads `size` bytes (a multiple of 8, not 0) from `offset`. Errors: the source's, `no_memory`.
  static Result<Message> read(const ByteSource& source, std::uint64_t offset, std::uint64_t size);

  [[nodiscard]] std::span<const std::uint64_t> words() const noexcept { return {words_.get(), count_}; }
  [[nodiscard]] Bytes bytes() const noexcept { return std::as_bytes(words()); }

 private:
  std::unique_ptr<std::uint64_t, AlignedDelete> words_;
  std::size_t count_ = 0;
};

}  // namespace ptd::reader
