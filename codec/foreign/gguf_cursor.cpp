// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "foreign/gguf_cursor.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace ptd::foreign {
namespace {

Failure behind_the_end(std::uint64_t position, std::string_view what) {
  return fail_at(ErrorCode::foreign_input, "", position,
                 fmt::format("the GGUF file is cut short inside {}; fetch or copy the file again", what));
}

Failure over_limit(std::uint64_t position) {
  return fail_at(ErrorCode::unsupported_input, "", position,
                 fmt::format("the header of the GGUF file has more than {} bytes, which no model's has",
                             max_gguf_header_bytes));
}

}  // namespace

GgufCursor::GgufCursor(Bytes first, std::uint64_t file_size) noexcept
    : first_(first.first(std::min<std::uint64_t>(first.size(), file_size))), file_size_(file_size) {}

Result<Bytes> GgufCursor::take(std::uint64_t size, std::string_view what) {
  if (size > file_size_ - position_) return behind_the_end(position_, what);
  if (size > max_gguf_header_bytes - position_) return over_limit(position_);
  if (size > first_.size() - position_) {
    is_starved_ = true;
    return fail_at(ErrorCode::argument, "", position_, "more of the file is needed");
  }
  const auto bytes = first_.subspan(position_, size);
  position_ += size;
  return bytes;
}

Result<std::string_view> GgufCursor::string(std::string_view what) {
  PTD_LET(length, number<std::uint64_t>(what));
  const auto left = file_size_ - position_;
  if (length > left)
    return fail_at(ErrorCode::foreign_input, "", position_ - sizeof length,
                   fmt::format("{} is said to have {} bytes, and the file has {} more", what, length, left));
  PTD_LET(bytes, take(length, what));
  return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

Result<std::uint64_t> GgufCursor::count(std::uint64_t least_bytes, std::string_view what) {
  PTD_LET(count, number<std::uint64_t>(what));
  const auto left = file_size_ - position_;
  if (count <= left / least_bytes) return count;
  return fail_at(ErrorCode::foreign_input, "", position_ - sizeof count,
                 fmt::format("the GGUF file is said to have {} {} here, and the {} bytes that follow cannot "
                             "hold as many",
                             count, what, left));
}

}  // namespace ptd::foreign
