// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "reader/message.hpp"

#include <sys/mman.h>

#include "wire/checked.hpp"

namespace ptd::reader {
namespace {

constexpr std::uint64_t huge_page = std::uint64_t{2} << 20;

// Large manifests are touched once from end to end, so page faults would cost more than reading them does.
void* allocate(std::uint64_t size) {
  if (size < huge_page) return std::malloc(size);
  const auto rounded = wire::align_up(size, huge_page);
  void* memory = std::aligned_alloc(huge_page, *rounded);
  if (memory != nullptr) static_cast<void>(madvise(memory, *rounded, MADV_HUGEPAGE));  // a wish, not a need
  return memory;
}

}  // namespace

Result<Message> Message::read(const ByteSource& source, std::uint64_t offset, std::uint64_t size) {
  Message message;
  message.words_.reset(static_cast<std::uint64_t*>(allocate(size)));
  if (!message.words_)
    return fail_at(ErrorCode::no_memory, "", offset,
                   "not enough memory for a manifest of " + std::to_string(size) + " bytes");
  message.count_ = size / sizeof(std::uint64_t);
  PTD_TRY(source.read(offset, std::as_writable_bytes(std::span(message.words_.get(), message.count_))));
  return message;
}

}  // namespace ptd::reader
