// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "foreign/flat_message.hpp"

#include <algorithm>
#include <cstring>
#include <ptd/limits.hpp>

#include "wire/checked.hpp"

namespace ptd::foreign {

FlatMessage::FlatMessage(Bytes message) : words_(message.size() / sizeof(std::uint64_t) + 1) {
  std::memcpy(words_.data(), message.data(), message.size());
}

Result<void> check_message_size(std::uint64_t bytes, std::string_view what) {
  constexpr std::uint64_t least = 8;  // root offset and identifier
  if (bytes >= least && bytes < FLATBUFFERS_MAX_BUFFER_SIZE) return {};
  return fail(ErrorCode::foreign_input, "",
              "the message of this " + std::string(what) + " has " + std::to_string(bytes) +
                  " bytes; it must have at least 8 and less than 2 GiB");
}

std::string_view text_at(Bytes bytes, std::size_t offset, std::size_t size) {
  const auto part = bytes.subspan(offset, size);
  return {reinterpret_cast<const char*>(part.data()), part.size()};
}

bool TextBudget::spend(std::uint64_t bytes) noexcept {
  if (bytes > left_) return false;
  left_ -= bytes;
  return true;
}

Result<std::string> TextBudget::copy(std::string_view text, std::string_view what) {
  if (text.empty() || text.size() > limits::max_name_bytes)
    return fail(ErrorCode::foreign_input, "",
                "a " + std::string(what) + " has " + std::to_string(text.size()) + " bytes; 1 to " +
                    std::to_string(limits::max_name_bytes) + " can be stored");
  if (!spend(text.size()))
    return fail(ErrorCode::foreign_input, "",
                "its names take more room than there is, so they overlap; it is damaged or made to do harm");
  return std::string(text);
}

Result<FileRange> place_segment(const MessageHeader& header, std::uint64_t offset, std::uint64_t size,
                                std::uint64_t file_size, std::size_t index) {
  const auto begin = wire::add(header.segment_base, offset);
  const auto end = wire::add(begin, size);
  const auto region_end = wire::add(header.segment_base, header.segment_bytes);
  if (end && region_end && *end <= *region_end && *end <= file_size) return FileRange{*begin, size};
  return fail(ErrorCode::foreign_input, "",
              "segment " + std::to_string(index) + " (offset " + std::to_string(offset) + ", " +
                  std::to_string(size) + " bytes) ends behind the file's segment data; the file is damaged");
}

Result<void> check_no_overlap(std::vector<FileRange> ranges) {
  std::erase_if(ranges, [](const FileRange& range) { return range.size == 0; });
  std::ranges::sort(ranges);
  for (std::size_t i = 1; i < ranges.size(); ++i)
    if (ranges[i].offset - ranges[i - 1].offset < ranges[i - 1].size)
      return fail_at(ErrorCode::foreign_input, "", ranges[i].offset,
                     "two segments overlap; the file is damaged");
  return {};
}

}  // namespace ptd::foreign
