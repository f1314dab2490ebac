// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Bytes -> header -> messages -> model, each once (SPEC.md, "Order of checks", open level).
#include <array>
#include <new>

#include "model/check.hpp"
#include "reader/state.hpp"
#include "segment/digest.hpp"
#include "wire/hash.hpp"
#include "wire/messages.hpp"

namespace ptd {
namespace {

using wire::Header;

Result<Header> read_header(const ByteSource& source, std::uint64_t max_message_bytes) {
  std::array<std::byte, wire::header_bytes> buffer{};
  const auto first = MutableBytes(buffer).first(std::min<std::uint64_t>(buffer.size(), source.size()));
  PTD_TRY(source.read(0, first));
  return wire::parse_header(first, source.size(), max_message_bytes);
}

Result<void> check_hash(const reader::Message& message, std::uint64_t expected, ErrorCode code,
                        std::string_view rule, std::uint64_t offset) {
  if (wire::xxh3(message.bytes()) == expected) return {};
  return fail_at(code, rule, offset,
                 "a part of the manifest does not match its hash; the file is damaged, so fetch it again");
}

Result<void> read_messages(Reader::State& state) {
  const Header& header = state.header;
  PTD_LET(layout, reader::Message::read(state.source(), header.layout_offset, header.layout_size));
  PTD_LET(model, reader::Message::read(state.source(), header.model_offset(), header.model_size));
  PTD_TRY(check_hash(layout, header.layout_hash, ErrorCode::layout_hash, "HDR-12", header.layout_offset));
  PTD_TRY(check_hash(model, header.model_hash, ErrorCode::model_hash, "HDR-13", header.model_offset()));
  state.layout_words = std::move(layout);
  state.model_words = std::move(model);
  return {};
}

Result<void> decode_messages(Reader::State& state) {
  const Header& header = state.header;
  const auto unknown = header.minor > wire::supported_minor ? wire::Unknown::ignored : wire::Unknown::refused;
  PTD_TRY(wire::check_message(state.layout_words.words(), wire::layout_shape, unknown, header.layout_offset));
  PTD_TRY(wire::check_message(state.model_words.words(), wire::model_shape, unknown, header.model_offset()));
  PTD_LET(layout, wire::decode_layout(state.layout_words.words()));
  PTD_LET(model, wire::decode_model(state.model_words.words()));
  state.layout = std::move(layout);
  state.model = std::move(model);
  return {};
}

Result<void> check_rules(Reader::State& state) {
  const Header& header = state.header;
  const model::Version version{header.major, header.minor,
                               header.required_features & wire::model_feature_mask};
  PTD_TRY(model::check_model(state.model, version));
  return model::place_layout(state.layout, state.model, version, header.layout_offset);
}

void index_segments(Reader::State& state) {
  state.segment_of.resize(state.layout.segments.size());
  for (std::uint32_t i = 0; i < state.layout.segments.size(); ++i)
    state.segment_of[state.layout.segments[i].content] = i;
}

Result<std::shared_ptr<const Reader::State>> open_state(OpenedFile file, const OpenOptions& options) try {
  auto state = std::make_shared<Reader::State>();
  state->file = std::move(file);
  if (state->source().sequential())
    return fail(ErrorCode::argument, "", "a PTD file cannot be read from a sequential source; save it first");
  PTD_LET(header, read_header(state->source(), options.max_message_bytes));
  state->header = header;
  PTD_TRY(read_messages(*state));
  PTD_TRY(decode_messages(*state));
  PTD_TRY(check_rules(*state));
  index_segments(*state);
  return state;
} catch (const std::bad_alloc&) {
  return fail(ErrorCode::no_memory, "", "not enough memory to open the file");
}

}  // namespace

Result<Reader> Reader::open(const std::filesystem::path& path, const OpenOptions& options) {
  PTD_LET(file, open_file(path, options.access));
  PTD_LET(state, open_state(std::move(file), options));
  return Reader(std::move(state));
}

Result<Reader> Reader::open(SourcePtr source, const OpenOptions& options) {
  OpenedFile file;
  file.source = std::move(source);
  PTD_LET(state, open_state(std::move(file), options));
  return Reader(std::move(state));
}

Reader::Reader(std::shared_ptr<const State> state) : state_(std::move(state)) {}

const Model& Reader::model() const noexcept { return state_->model; }
const Layout& Reader::layout() const noexcept { return state_->layout; }
Digest Reader::model_id() const { return segment::sha256(state_->model_words.bytes()); }
std::uint64_t Reader::file_size() const noexcept { return state_->source().size(); }
std::uint64_t Reader::optional_features() const noexcept { return state_->header.optional_features; }
const OpenedFile& Reader::file() const noexcept { return state_->file; }
const Segment& Reader::segment_of(std::uint32_t content) const noexcept {
  return state_->layout.segments[state_->segment_of[content]];
}

}  // namespace ptd
