// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// What ExecuTorch's two FlatBuffers formats share: a message whose tables are checked before they are
// touched, and byte ranges behind it.
#pragma once

#include <flatbuffers/flatbuffers.h>

#include <ptd/bytes.hpp>
#include <ptd/error.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace ptd::foreign {

/// Bytes [offset, offset + size) of a file.
struct FileRange {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;

  friend auto operator<=>(const FileRange&, const FileRange&) = default;
};

/// Where a file's FlatBuffers message ends and where its segments lie.
struct MessageHeader {
  std::uint64_t message_bytes = 0;  ///< from the start of the file
  std::uint64_t segment_base = 0;
  std::uint64_t segment_bytes = 0;
};

/// Refuses a message that FlatBuffers cannot have (`foreign_input`): at least 8 bytes, less than 2 GiB. To be
/// asked before room is made for it.
Result<void> check_message_size(std::uint64_t bytes, std::string_view what);

/// Bytes [offset, offset + size) of what is there, as text; the range must lie inside.
std::string_view text_at(Bytes bytes, std::size_t offset, std::size_t size);

/// A message on an aligned address, whose tables, vectors and strings lie inside it and end where they must.
class FlatMessage {
 public:
  /// Errors: `foreign_input`, naming `what`. Complexity: linear in the message, however its tables refer to
  /// one another.
  template <class Root>
  static Result<FlatMessage> verify(Bytes message, std::string_view what);

  template <class Root>
  [[nodiscard]] const Root& root() const {
    return *flatbuffers::GetRoot<Root>(words_.data());
  }

  /// Where bytes of the message lie in it.
  [[nodiscard]] std::uint64_t offset_of(const void* inside) const {
    return static_cast<std::uint64_t>(static_cast<const std::byte*>(inside) -
                                      reinterpret_cast<const std::byte*>(words_.data()));
  }

 private:
  explicit FlatMessage(Bytes message);
  std::vector<std::uint64_t> words_;
};

template <class Root>
Result<FlatMessage> FlatMessage::verify(Bytes message, std::string_view what) {
  PTD_TRY(check_message_size(message.size(), what));
  FlatMessage copy(message);
  // Each table has at least the four bytes that lead to its fields, and no writer refers to one twice.
  constexpr flatbuffers::uoffset_t deepest = 64;
  const auto most_tables = static_cast<flatbuffers::uoffset_t>(message.size() / 4);
  flatbuffers::Verifier verifier(reinterpret_cast<const std::uint8_t*>(copy.words_.data()), message.size(),
                                 deepest, most_tables);
  if (verifier.VerifyBuffer<Root>(nullptr)) return copy;
  return fail(ErrorCode::foreign_input, "",
              "the tables of this " + std::string(what) +
                  " point outside it or overlap; it is damaged: fetch or export it again");
}

/// The text of a FlatBuffers string; empty if there is none.
inline std::string_view text_of(const flatbuffers::String* string) noexcept {
  return string == nullptr ? std::string_view() : string->string_view();
}

/// How much text a message may still give away. Hostile messages let many strings share the same bytes, so
/// that copying them would cost far more than the message has.
class TextBudget {
 public:
  explicit TextBudget(std::uint64_t bytes) noexcept : left_(bytes) {}

  /// Copies a name. Errors: `foreign_input` for one that is empty, over 1,024 bytes, or over the budget.
  Result<std::string> copy(std::string_view text, std::string_view what);

  /// Takes `bytes` off; false if there are not so many left.
  [[nodiscard]] bool spend(std::uint64_t bytes) noexcept;

 private:
  std::uint64_t left_;
};

/// The file's range of one segment, checked against the header and the file. Errors: `foreign_input`.
Result<FileRange> place_segment(const MessageHeader& header, std::uint64_t offset, std::uint64_t size,
                                std::uint64_t file_size, std::size_t index);

/// Refuses ranges that overlap: no writer makes such, and a small file could stand for a huge one.
Result<void> check_no_overlap(std::vector<FileRange> ranges);

}  // namespace ptd::foreign
