// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "reader/message.hpp"

#include <sys/mman.h>

namespace ptd::reader {
namespace {

constexpr std::uint64_t huge_page = std::uint64_t{2} << 20;

// Large manifests are touched once from end to end, so page faults would cost more than reading them does.
std::uint64_t alignment_for(std::uint64_t size) {
  return size < huge_page ? alignof(std::uint64_t) : huge_page;
}

void prefer_huge_pages(void* memory, std::uint64_t size) {
  const std::uint64_t whole = size / huge_page * huge_page;
  if (whole > 0) static_cast<void>(madvise(memory, whole, MADV_HUGEPAGE));  // a wish, not a need
}

}  // namespace

Result<Message> Message::read(const ByteSource& source, std::uint64_t offset, std::uint64_t size) {
  Message message;
  const std::align_val_t alignment{alignment_for(size)};
  auto* memory = static_cast<std::uint64_t*>(::operator new(size, alignment, std::nothrow));
  message.words_ = {memory, AlignedDelete{alignment}};
  if (!message.words_)
    return fail_at(ErrorCode::no_memory, "", offset,
                   "not enough memory for a manifest of " + std::to_string(size) + " bytes");
  prefer_huge_pages(memory, size);
  message.count_ = size / sizeof(std::uint64_t);
  PTD_TRY(source.read(offset, std::as_writable_bytes(std::span(message.words_.get(), message.count_))));
  return message;
}

}  // namespace ptd::reader
