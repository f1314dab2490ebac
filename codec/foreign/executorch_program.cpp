// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "foreign/executorch_program.hpp"

#include <foreign/executorch_program_generated.h>

#include <algorithm>
#include <optional>

#include "model/check.hpp"
#include "wire/checked.hpp"
#include "wire/endian.hpp"

namespace ptd::foreign {
namespace {

constexpr std::string_view what = "ExecuTorch program";
constexpr std::string_view identifier = "ET12";
// Methods of one program name the same tensors, and a writer may store each name once.
constexpr std::uint64_t sharing = 16;

Failure damaged(std::string message) { return fail(ErrorCode::foreign_input, "", std::move(message)); }

// At 8, optional: magic, its length, message size, segment base and, from a length of 32 on, segment size.
Result<MessageHeader> read_header(Bytes first, std::uint64_t file_size) {
  constexpr std::size_t least = 8, with_base = 32, with_size = 40;
  if (first.size() < least) return damaged("the program ends inside its header; fetch or export it again");
  if (text_at(first, 4, 4) != identifier)
    return fail(ErrorCode::unsupported_input, "",
                "its identifier is \"" + escaped(text_at(first, 4, 4)) + "\"; " + std::string(identifier) +
                    " is understood");
  if (first.size() < with_base || text_at(first, 8, 4) != "eh00") return MessageHeader{file_size, 0, 0};
  const auto length = wire::load<std::uint32_t>(first, 12);
  MessageHeader header{wire::load<std::uint64_t>(first, 16), wire::load<std::uint64_t>(first, 24), 0};
  if (length < with_base - 8 || header.message_bytes < with_base || header.message_bytes > file_size ||
      header.segment_base > file_size)
    return damaged(
        "the program's header places its message or segments behind the file's end; it is cut short or "
        "damaged");
  // Programs from before the size was recorded: whatever is there.
  header.segment_bytes = file_size - header.segment_base;
  if (length >= with_size - 8 && first.size() >= with_size) {
    const auto size = wire::load<std::uint64_t>(first, 32);
    if (size > header.segment_bytes)
      return damaged("the program is cut short: its header needs " + std::to_string(size) +
                     " bytes of segments, it has " + std::to_string(header.segment_bytes));
    if (size != 0) header.segment_bytes = size;
  }
  return header;
}

template <class T>
std::size_t size_of(const flatbuffers::Vector<T>* vector) {
  return vector == nullptr ? 0 : vector->size();
}

// A method that was exported to hand out values: it computes nothing.
bool may_be_constant(const fb::ProgramMethod& method) {
  if (size_of(method.inputs()) != 0 || size_of(method.delegates()) != 0 || size_of(method.outputs()) == 0)
    return false;
  if (method.chains() == nullptr) return true;
  return std::ranges::all_of(*method.chains(),
                             [](const auto* chain) { return size_of(chain->instructions()) == 0; });
}

const fb::ProgramValue* value_at(const fb::ProgramMethod& method, std::int32_t index) {
  if (index < 0 || static_cast<std::size_t>(index) >= size_of(method.values())) return nullptr;
  return method.values()->Get(static_cast<flatbuffers::uoffset_t>(index));
}

// Texts look into the message. Nothing for other kinds of values.
std::optional<ProgramConstant> constant_of(const fb::ProgramValue* value) {
  if (value == nullptr) return std::nullopt;
  if (const auto* number = value->value_as_ProgramInt()) return number->value();
  if (const auto* truth = value->value_as_ProgramBool()) return truth->value();
  if (const auto* real = value->value_as_ProgramDouble()) return real->value();
  if (const auto* string = value->value_as_ProgramString()) return std::string(text_of(string->value()));
  return std::nullopt;
}

class Parser {
 public:
  Parser(const FlatMessage& message, const MessageHeader& header, std::uint64_t file_size)
      : message_(message),
        root_(message.root<fb::ProgramRoot>()),
        header_(header),
        file_size_(file_size),
        budget_(header.message_bytes * sharing) {}

  Result<ProgramInfo> run() {
    if (root_.version() != 0)
      return fail(ErrorCode::unsupported_input, "",
                  "this program is of version " + std::to_string(root_.version()) +
                      "; version 0 is understood: use a newer ptd");
    PTD_TRY(read_segments());
    PTD_TRY(read_named_data());
    if (root_.methods() != nullptr)
      for (const auto* method : *root_.methods()) PTD_TRY(read_method(*method));
    return std::move(program_);
  }

 private:
  Result<void> read_segments() {
    if (root_.segments() == nullptr) return {};
    for (const auto* segment : *root_.segments()) {
      PTD_LET(range,
              place_segment(header_, segment->offset(), segment->size(), file_size_, segments_.size()));
      segments_.push_back(range);
    }
    return check_no_overlap(segments_);
  }

  Result<FileRange> segment(std::uint64_t index, std::string_view user) const {
    if (index < segments_.size()) return segments_[index];
    return fail_on(
        ErrorCode::foreign_input, "", user,
        "it refers to segment " + std::to_string(index) + " of " + std::to_string(segments_.size()));
  }

  Result<std::string> name(const flatbuffers::String* text, std::string_view kind) {
    PTD_LET(copy, budget_.copy(text_of(text), kind));
    PTD_TRY(model::check_name(copy, kind));
    return copy;
  }

  Result<void> read_named_data() {
    if (root_.names() == nullptr) return {};
    for (const auto* entry : *root_.names()) {
      PTD_LET(key, name(entry->key(), "key"));
      PTD_LET(range, segment(entry->segment(), key));
      program_.named_data.emplace_back(std::move(key), range);
    }
    return {};
  }

  Result<void> read_method(const fb::ProgramMethod& method) {
    PTD_LET(called, name(method.name(), "method name"));
    const bool is_known =
        program_.constants.contains(called) ||
        std::ranges::any_of(program_.methods, [&](const auto& other) { return other.name == called; });
    if (is_known)
      return fail_on(ErrorCode::foreign_input, "", called, "the program has two methods of this name");
    if (may_be_constant(method)) PTD_TRY(read_constants(called, method));
    if (program_.constants.contains(called)) return {};
    program_.methods.push_back({std::move(called), {}, {}, 0});
    PTD_TRY(read_delegates(method));
    return read_values(method);
  }

  // A method with an output of another kind is left a method.
  Result<void> read_constants(const std::string& called, const fb::ProgramMethod& method) {
    std::vector<ProgramConstant> values;
    for (const auto index : *method.outputs()) {
      auto value = constant_of(value_at(method, index));
      if (!value) return {};
      const auto* const text = std::get_if<std::string>(&*value);
      if (!budget_.spend(sizeof(ProgramConstant) + (text == nullptr ? 0 : text->size())))
        return damaged("its values overlap; it is damaged or made to do harm");
      values.push_back(*std::move(value));
    }
    program_.constants.emplace(called, std::move(values));
    return {};
  }

  Result<void> read_delegates(const fb::ProgramMethod& method) {
    if (method.delegates() == nullptr) return {};
    for (const auto* delegate : *method.delegates()) {
      PTD_LET(backend, name(delegate->backend(), "backend id"));
      PTD_LET(payload, payload_of(*delegate));
      program_.methods.back().delegates.push_back({std::move(backend), payload});
    }
    return {};
  }

  Result<FileRange> payload_of(const fb::ProgramDelegate& delegate) {
    const auto& method = program_.methods.back().name;
    if (delegate.payload() == nullptr) return FileRange{};
    const auto index = delegate.payload()->index();
    if (delegate.payload()->location() == 1) return segment(index, method);
    if (delegate.payload()->location() != 0)
      return fail_on(ErrorCode::foreign_input, "", method,
                     "a delegate's payload lies in a place of unknown kind");
    if (index >= size_of(root_.inline_data()))
      return fail_on(ErrorCode::foreign_input, "", method,
                     "a delegate refers to inline data " + std::to_string(index) + " of " +
                         std::to_string(size_of(root_.inline_data())));
    const auto* const bytes = root_.inline_data()->Get(index)->data();
    if (bytes == nullptr) return FileRange{};
    return FileRange{message_.offset_of(bytes->data()), bytes->size()};
  }

  Result<void> read_values(const fb::ProgramMethod& method) {
    if (method.values() == nullptr) return {};
    std::map<std::string, bool> external;
    for (const auto* value : *method.values())
      if (const auto* tensor = value->value_as_ProgramTensor()) PTD_TRY(read_tensor(*tensor, external));
    for (auto& [tensor, is_mutable] : external)
      program_.methods.back().external.push_back({tensor, is_mutable});
    return {};
  }

  Result<void> read_tensor(const fb::ProgramTensor& tensor, std::map<std::string, bool>& external) {
    constexpr std::int8_t outside = 1;
    const bool is_outside = tensor.extra() != nullptr && tensor.extra()->location() == outside;
    if (!is_outside) {
      program_.methods.back().inner_constants += tensor.data_index() != 0 ? 1U : 0U;
      return {};
    }
    PTD_LET(called, name(tensor.extra()->name(), "tensor name"));
    external[std::move(called)] |= tensor.allocation() != nullptr;
    return {};
  }

  const FlatMessage& message_;
  const fb::ProgramRoot& root_;
  const MessageHeader& header_;
  std::uint64_t file_size_;
  TextBudget budget_;
  std::vector<FileRange> segments_;
  ProgramInfo program_;
};

}  // namespace

Result<std::uint64_t> program_message_bytes(Bytes first, std::uint64_t file_size) {
  PTD_LET(header, read_header(first, file_size));
  PTD_TRY(check_message_size(header.message_bytes, what));
  return header.message_bytes;
}

Result<ProgramInfo> parse_program(Bytes message, std::uint64_t file_size) {
  PTD_LET(header, read_header(message, file_size));
  if (message.size() < header.message_bytes)
    return fail(ErrorCode::argument, "", "parse_program needs the whole message");
  const auto whole = message.first(static_cast<std::size_t>(header.message_bytes));
  PTD_LET(verified, FlatMessage::verify<fb::ProgramRoot>(whole, what));
  return Parser(verified, header, file_size).run();
}

}  // namespace ptd::foreign
