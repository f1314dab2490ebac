// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// The words of a message, in memory of their own.
#pragma once

#include <cstdint>
#include <memory>
#include <ptd/bytes.hpp>
#include <span>

namespace ptd::reader {

/// Words that were read from a file: not zeroed first, as a vector's would be.
class Message {
 public:
  Message() = default;

  /// Reads `size` bytes (a multiple of 8) from `offset`.
  static Result<Message> read(const ByteSource& source, std::uint64_t offset, std::uint64_t size) {
    Message message;
    message.words_ = std::make_unique_for_overwrite<std::uint64_t[]>(size / 8);
    message.count_ = size / 8;
    PTD_TRY(source.read(offset, std::as_writable_bytes(std::span(message.words_.get(), message.count_))));
    return message;
  }

  [[nodiscard]] std::span<const std::uint64_t> words() const noexcept { return {words_.get(), count_}; }
  [[nodiscard]] Bytes bytes() const noexcept { return std::as_bytes(words()); }

 private:
  std::unique_ptr<std::uint64_t[]> words_;
  std::size_t count_ = 0;
};

}  // namespace ptd::reader
