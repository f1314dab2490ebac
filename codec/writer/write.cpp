// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Plan, stream, assemble, commit. The header goes in last: without it there is no file.
#include <algorithm>
#include <new>
#include <ptd/limits.hpp>

#include "model/check.hpp"
#include "segment/digest.hpp"
#include "wire/checked.hpp"
#include "wire/endian.hpp"
#include "wire/hash.hpp"
#include "wire/header.hpp"
#include "wire/messages.hpp"
#include "writer/assemble.hpp"
#include "writer/output.hpp"
#include "writer/plan.hpp"
#include "writer/state.hpp"
#include "writer/stream.hpp"

namespace ptd {
namespace {

using namespace writer;

constexpr std::size_t buffer_bytes = std::size_t{1} << 20;

// Every rule that does not depend on bytes, before any byte is read: a copy of the model without contents.
Result<void> check_before_reading(const Writer::State& state, const Plan& plan, Output& output) {
  const Streamed nothing(output);
  const auto assembled = assemble(state, plan, nothing);
  return model::check_model(assembled.model, {});
}

// The model message is at most this long: all that varies in length, and the fixed part of each object.
std::uint64_t bound_pair(const PairSpec& pair) {
  constexpr std::uint64_t fixed = 48;  // with what rounding its texts up to words adds, as below
  return fixed + pair.key.size() + pair.value.size();
}

std::uint64_t bound_pairs(const std::vector<PairSpec>& pairs) {
  std::uint64_t size = 0;
  for (const auto& pair : pairs) size += bound_pair(pair);
  return size;
}

std::uint64_t bound_tensors(const Writer::State& state) {
  constexpr std::uint64_t fixed = 96;
  std::uint64_t size = 0;
  for (const auto& tensor : state.tensors)
    size += fixed + tensor.name.size() + 16 * tensor.sizes.size() + tensor.scheme.size() +
            8 * tensor.logical_sizes.size() + bound_pairs(tensor.metadata);
  return size;
}

std::uint64_t bound_library(const LibrarySpec& library) {
  constexpr std::uint64_t fixed = 64, variant_fixed = 40;
  std::uint64_t size = fixed + library.name.size() + bound_pairs(library.metadata);
  for (const auto& variant : library.variants) size += variant_fixed + variant.target.size();
  return size;
}

std::uint64_t bound_message(const Writer::State& state) {
  constexpr std::uint64_t root = 128, storage_and_content = 64, method_fixed = 96, blob_and_content = 128;
  std::uint64_t size = root + storage_and_content * state.storages.size() + bound_tensors(state);
  for (const auto& [key, pair] : state.metadata) size += bound_pair(pair);
  for (const auto& library : state.libraries) size += bound_library(library);
  for (const auto& method : state.methods)
    size += method_fixed + method.name.size() + bound_pairs(method.metadata) +
            4 * (method.tensors.size() + method.libraries.size() + method.blobs.size());
  for (const auto& blob : state.blobs)
    size += blob_and_content + blob.name.size() + blob.media_type.size() + bound_pairs(blob.metadata);
  return size;
}

Result<void> check_message_size(std::uint64_t size, const WriteOptions& options) {
  const auto most = std::min(options.max_message_bytes, limits::max_message_bytes);
  if (size <= most) return {};
  return fail(ErrorCode::limit, "WRT-1",
              "a manifest of " + std::to_string(size) + " bytes is over the limit of " +
                  std::to_string(most) +
                  "; split the model in several files, or allow more if its readers take it");
}

// Appends to the output through a buffer.
class Appender {
 public:
  Appender(Output& output, std::uint64_t offset) : output_(output), offset_(offset) {
    buffer_.reserve(buffer_bytes);
  }

  Result<void> add(Bytes bytes) {
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
    return buffer_.size() < buffer_bytes ? Result<void>{} : flush();
  }
  Result<void> flush() {
    PTD_TRY(output_.write(offset_, buffer_));
    offset_ += buffer_.size();
    buffer_.clear();
    return {};
  }
  [[nodiscard]] std::uint64_t offset() const { return offset_ + buffer_.size(); }

 private:
  Output& output_;
  std::uint64_t offset_;
  std::vector<std::byte> buffer_;
};

// Reads a log front to back in large parts.
class LogReader {
 public:
  explicit LogReader(const ByteLog& log) : log_(log) {}

  Result<std::uint64_t> next() {
    if (at_ == buffer_.size()) PTD_TRY(refill());
    const auto value = wire::load<std::uint64_t>(buffer_, at_);
    at_ += sizeof value;
    return value;
  }

 private:
  Result<void> refill() {
    buffer_.resize(std::min<std::uint64_t>(buffer_bytes, log_.size() - offset_));
    PTD_TRY(log_.read(offset_, buffer_));
    offset_ += buffer_.size();
    at_ = 0;
    return {};
  }

  const ByteLog& log_;
  std::uint64_t offset_ = 0;
  std::vector<std::byte> buffer_;
  std::size_t at_ = 0;
};

// Chunk tables in segment order [TIL-2], and their hashes.
Result<void> write_tables(const Streamed& streamed, Layout& layout, Appender& out) {
  LogReader raw_hashes(streamed.raw_hashes), stored_chunks(streamed.stored_chunks);
  wire::Xxh3 hash;
  for (auto& segment : layout.segments) {
    hash.reset();
    const std::size_t words = model::table_entry_bytes(segment.encoding) / 8;
    for (std::uint64_t i = 0; i < segment.chunks; ++i) {
      std::array<std::uint64_t, 3> entry{};
      for (std::size_t word = 0; word < words; ++word) {
        PTD_LET(value, word == 0 ? raw_hashes.next() : stored_chunks.next());
        entry[word] = value;
      }
      const auto bytes = std::as_bytes(std::span(entry).first(words));
      hash.add(bytes);
      PTD_TRY(out.add(bytes));
    }
    segment.table_hash = hash.value();
  }
  return {};
}

struct Messages {
  std::vector<std::uint64_t> layout, model;
};

Result<Messages> encode_messages(Assembled& assembled, std::uint64_t layout_offset,
                                 const WriteOptions& options) {
  PTD_TRY(model::check_model(assembled.model, {}));
  PTD_TRY(model::place_layout(assembled.layout, assembled.model, {}, layout_offset));
  PTD_LET(layout, wire::encode_layout(assembled.layout));
  PTD_LET(model, wire::encode_model(assembled.model));
  PTD_TRY(check_message_size(layout.size() * 8, options));
  PTD_TRY(check_message_size(model.size() * 8, options));
  return Messages{std::move(layout), std::move(model)};
}

wire::Header make_header(const Messages& messages, std::uint64_t layout_offset) {
  wire::Header header;
  header.layout_offset = layout_offset;
  header.layout_size = messages.layout.size() * 8;
  header.model_size = messages.model.size() * 8;
  header.layout_hash = wire::xxh3(std::as_bytes(std::span(messages.layout)));
  header.model_hash = wire::xxh3(std::as_bytes(std::span(messages.model)));
  return header;
}

WriteReport make_report(const Writer::State& state, const Streamed& streamed, const Messages& messages,
                        std::uint64_t size) {
  WriteReport report;
  report.model_id = segment::sha256(std::as_bytes(std::span(messages.model)));
  report.file_bytes = size;
  for (const auto& storage : state.storages)
    if (storage.spec.origin == Origin::stored) report.input_bytes += storage.spec.size;
  for (const auto& blob : state.blobs) report.input_bytes += blob.size;
  for (const auto& stored : streamed.segments) {
    report.raw_bytes += stored.content.size;
    report.stored_bytes += stored.segment.stored_size;
  }
  return report;
}

// What the sharing saved: every root storage and blob once, less the distinct contents and the zeros.
void count_savings(const Writer::State& state, const Plan& plan, const Streamed& streamed,
                   WriteReport& report) {
  const auto is_zero = [&](std::uint32_t unit) { return unit == no_index || streamed.units[unit].zero; };
  for (std::uint32_t i = 0; i < state.storages.size(); ++i) {
    const auto& spec = state.storages[i].spec;
    const auto unit = plan.unit_of_storage[state.root_of(i)];
    const std::uint64_t held = is_zero(unit) ? 0 : plan.units[unit].source->size();
    if (spec.origin == Origin::stored) report.zero_bytes += spec.size - held;
  }
  for (std::uint32_t i = 0; i < state.blobs.size(); ++i) {
    const auto unit = plan.unit_of_blob[i];
    report.zero_bytes += state.blobs[i].size - (is_zero(unit) ? 0 : plan.units[unit].source->size());
  }
  report.shared_bytes = report.input_bytes - report.zero_bytes - report.raw_bytes;
}

Result<WriteReport> write_to(const Writer::State& state, const WriteOptions& options, Output& output) {
  PTD_TRY(check_message_size(bound_message(state), options));
  PTD_LET(plan, make_plan(state, options));
  PTD_TRY(check_before_reading(state, plan, output));
  Streamed streamed(output);
  PTD_TRY(stream_units(plan, options, output, streamed));
  auto assembled = assemble(state, plan, streamed);
  Appender tail(output, *wire::align_up(streamed.end, 8));
  PTD_TRY(write_tables(streamed, assembled.layout, tail));
  const std::uint64_t layout_offset = tail.offset();
  PTD_LET(messages, encode_messages(assembled, layout_offset, options));
  PTD_TRY(tail.add(std::as_bytes(std::span(messages.layout))));
  PTD_TRY(tail.add(std::as_bytes(std::span(messages.model))));
  PTD_TRY(tail.flush());
  PTD_TRY(output.write(0, wire::encode_header(make_header(messages, layout_offset))));
  PTD_TRY(output.commit(tail.offset()));
  auto report = make_report(state, streamed, messages, tail.offset());
  count_savings(state, plan, streamed, report);
  return report;
}

template <class Body>
Result<WriteReport> without_exceptions(Body body) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::no_memory, "", "not enough memory to write the model; the target is unchanged");
  } catch (const std::exception& exception) {
    return fail(ErrorCode::internal, "", exception.what());
  }
}

}  // namespace

Result<WriteReport> Writer::write(const std::filesystem::path& target, const WriteOptions& options) {
  return without_exceptions([&]() -> Result<WriteReport> {
    PTD_LET(output, file_output(target));
    return write_to(*state_, options, *output);
  });
}

Result<WriteReport> Writer::write(std::vector<std::byte>& target, const WriteOptions& options) {
  return without_exceptions([&] { return write_to(*state_, options, *memory_output(target)); });
}

}  // namespace ptd
