// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include <foreign/flat_tensor_generated.h>

#include <algorithm>
#include <numeric>
#include <ptd/limits.hpp>
#include <set>

#include "foreign/flat_tensor.hpp"
#include "model/check.hpp"
#include "wire/checked.hpp"
#include "wire/endian.hpp"

namespace ptd::foreign {
namespace {

constexpr std::string_view what = "FlatTensor file";
constexpr std::uint32_t newest_version = 0;

Failure damaged(std::string message) { return fail(ErrorCode::foreign_input, "", std::move(message)); }

// "FT01" at 4; at 8 the header: magic, its length, message offset and size, segment base and size.
Result<MessageHeader> read_header(Bytes first, std::uint64_t file_size) {
  constexpr std::uint32_t header_length = 40;
  if (first.size() < flat_tensor_header_bytes)
    return damaged("the FlatTensor file ends inside its header; fetch or export it again");
  if (text_at(first, 4, 4) != "FT01")
    return fail(ErrorCode::unsupported_input, "",
                "its identifier is \"" + escaped(text_at(first, 4, 4)) + "\"; FT01 is understood");
  if (text_at(first, 8, 4) != "FH01" || wire::load<std::uint32_t>(first, 12) < header_length)
    return damaged("the FlatTensor file has no FH01 header of at least 40 bytes at byte 8; it is damaged");
  const auto message = wire::add(wire::load<std::uint64_t>(first, 16), wire::load<std::uint64_t>(first, 24));
  const MessageHeader header{message.value_or(~std::uint64_t{0}), wire::load<std::uint64_t>(first, 32),
                             wire::load<std::uint64_t>(first, 40)};
  if (header.message_bytes > file_size || header.message_bytes < flat_tensor_header_bytes)
    return damaged(
        "the FlatTensor file's header places its message behind the file's end; it is cut short or "
        "damaged");
  const auto end = wire::add(header.segment_base, header.segment_bytes);
  if (!end || *end > file_size)
    return damaged("the FlatTensor file is cut short: its header needs " +
                   (end ? std::to_string(*end) : "2^64") + " bytes or more, it has " +
                   std::to_string(file_size));
  return header;
}

bool is_permutation(const std::vector<std::uint8_t>& order) {
  std::vector<bool> seen(order.size());
  for (const auto dimension : order) {
    if (dimension >= order.size() || seen[dimension]) return false;
    seen[dimension] = true;
  }
  return true;
}

Result<FlatTensorLayoutInfo> read_layout(const fb::FlatTensorLayout& layout, const std::string& key) {
  const auto refuse = [&](const std::string& message) {
    return fail_on(ErrorCode::foreign_input, "", key, message);
  };
  FlatTensorLayoutInfo info;
  info.scalar_type = layout.scalar_type();
  const auto rank = layout.sizes() == nullptr ? 0 : layout.sizes()->size();
  if (rank > limits::max_rank)
    return refuse("it has " + std::to_string(rank) + " dimensions; 64 can be stored");
  for (flatbuffers::uoffset_t i = 0; i < rank; ++i) {
    const auto size = layout.sizes()->Get(i);
    if (size < 0)
      return refuse("size " + std::to_string(size) + " of dimension " + std::to_string(i) + " is negative");
    info.sizes.push_back(static_cast<std::uint64_t>(size));
  }
  const auto order_size = layout.dim_order() == nullptr ? 0 : layout.dim_order()->size();
  if (order_size != rank)
    return refuse("its dim order has " + std::to_string(order_size) + " entries for " + std::to_string(rank) +
                  " dimensions");
  for (flatbuffers::uoffset_t i = 0; i < rank; ++i) info.dim_order.push_back(layout.dim_order()->Get(i));
  if (!is_permutation(info.dim_order)) return refuse("its dim order is not a permutation of its dimensions");
  return info;
}

class Parser {
 public:
  Parser(const fb::FlatTensorRoot& root, const MessageHeader& header, std::uint64_t file_size)
      : root_(root), header_(header), file_size_(file_size), budget_(header.message_bytes) {}

  Result<FlatTensorFile> run() {
    if (root_.version() > newest_version)
      return fail(ErrorCode::unsupported_input, "",
                  "this FlatTensor file is of version " + std::to_string(root_.version()) +
                      "; version 0 is understood: use a newer ptd");
    PTD_TRY(read_segments());
    PTD_TRY(read_entries());
    return std::move(file_);
  }

 private:
  Result<void> read_segments() {
    if (root_.segments() == nullptr) return {};
    for (const auto* segment : *root_.segments()) {
      PTD_LET(range,
              place_segment(header_, segment->offset(), segment->size(), file_size_, file_.segments.size()));
      file_.segments.push_back(range);
    }
    return check_no_overlap(file_.segments);
  }

  Result<void> read_entries() {
    if (root_.names() == nullptr) return {};
    for (const auto* name : *root_.names()) PTD_TRY(read_entry(*name));
    return {};
  }

  Result<void> read_entry(const fb::FlatTensorName& name) {
    FlatTensorEntry entry;
    PTD_LET(key, budget_.copy(text_of(name.key()), "key"));
    PTD_TRY(model::check_name(key, "key"));
    if (!keys_.insert(key).second)
      return fail_on(ErrorCode::foreign_input, "", key, "the FlatTensor file has this key twice");
    if (name.segment() >= file_.segments.size())
      return fail_on(ErrorCode::foreign_input, "", key,
                     "it refers to segment " + std::to_string(name.segment()) + " of " +
                         std::to_string(file_.segments.size()));
    entry.segment = name.segment();
    if (name.layout() != nullptr) {
      PTD_LET(layout, read_layout(*name.layout(), key));
      entry.layout = std::move(layout);
    }
    entry.key = std::move(key);
    file_.entries.push_back(std::move(entry));
    return {};
  }

  const fb::FlatTensorRoot& root_;
  const MessageHeader& header_;
  std::uint64_t file_size_;
  TextBudget budget_;
  std::set<std::string> keys_;
  FlatTensorFile file_;
};

}  // namespace

Result<std::uint64_t> flat_tensor_message_bytes(Bytes first, std::uint64_t file_size) {
  PTD_LET(header, read_header(first, file_size));
  PTD_TRY(check_message_size(header.message_bytes, what));
  return header.message_bytes;
}

Result<FlatTensorFile> parse_flat_tensor(Bytes message, std::uint64_t file_size) {
  PTD_LET(header, read_header(message, file_size));
  if (message.size() < header.message_bytes)
    return fail(ErrorCode::argument, "", "parse_flat_tensor needs the whole message");
  const auto whole = message.first(static_cast<std::size_t>(header.message_bytes));
  PTD_LET(verified, FlatMessage::verify<fb::FlatTensorRoot>(whole, what));
  return Parser(verified.root<fb::FlatTensorRoot>(), header, file_size).run();
}

std::optional<std::vector<std::uint64_t>> strides_in_order(const std::vector<std::uint64_t>& sizes,
                                                           const std::vector<std::uint8_t>& dim_order) {
  std::vector<std::uint64_t> strides(sizes.size());
  wire::Maybe next = 1;
  for (std::size_t i = dim_order.size(); i > 0; --i) {
    if (!next) return std::nullopt;
    const auto dimension = dim_order[i - 1];
    strides[dimension] = *next;
    next = wire::multiply(next, std::max<std::uint64_t>(sizes[dimension], 1));
  }
  return strides;
}

std::vector<std::uint8_t> order_of_strides(std::span<const std::uint64_t> strides) {
  std::vector<std::uint8_t> order(strides.size());
  std::iota(order.begin(), order.end(), std::uint8_t{0});
  std::ranges::stable_sort(order, std::greater(), [&](std::uint8_t dimension) { return strides[dimension]; });
  return order;
}

}  // namespace ptd::foreign
