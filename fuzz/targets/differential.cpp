// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// One file read in several ways must be one file: mapped, by position and from memory; by one thread and by
// many; checked as it is read and not. Input: the file.
#include <algorithm>

#include "support/in_memory_file.hpp"
#include "support/require.hpp"
#include "support/target.hpp"
#include "support/whole_file.hpp"
#include "tests/model_samples.hpp"
#include "wire/messages.hpp"

namespace ptd::fuzz {
namespace {

using Buffer = std::vector<std::byte>;

template <class T>
void require_same_outcome(const Result<T>& a, const Result<T>& b, std::string_view promise) {
  if (a.has_value() != b.has_value()) broken(promise, a ? b.error().to_string() : a.error().to_string());
  if (!a)
    require(a.error().to_string() == b.error().to_string() && a.error().offset == b.error().offset, promise);
}

void require_same_report(const Result<VerifyReport>& a, const Result<VerifyReport>& b) {
  constexpr auto promise = "verification does not depend on threads or access";
  require_same_outcome(a, b, promise);
  if (a)
    require(a->file_bytes == b->file_bytes && a->raw_bytes == b->raw_bytes &&
                a->stored_bytes == b->stored_bytes && a->segments == b->segments && a->chunks == b->chunks &&
                a->tensors == b->tensors && a->unknown_bytes == b->unknown_bytes,
            promise);
}

struct Read {
  Result<ReadReport> result;
  Buffer bytes;
};

Read read_tensor(const Reader& reader, std::uint32_t tensor, const ReadOptions& options) {
  Buffer bytes(logical_bytes(reader.model().tensors[tensor]), std::byte{0xA5});
  auto result = reader.read_tensor(tensor, bytes, options);
  return {std::move(result), std::move(bytes)};
}

void require_same_tensor(const Reader& a, const Reader& b, std::uint32_t tensor) {
  const auto one = read_tensor(a, tensor, {.check = true, .threads = 1});
  const auto many = read_tensor(b, tensor, {.check = true, .threads = 3});
  require_same_outcome(one.result, many.result, "reading does not depend on threads or access");
  if (!succeeded(one.result)) return;
  require(one.bytes == many.bytes, "reading does not depend on threads or access");
  const auto unchecked = read_tensor(a, tensor, {.check = false, .threads = 1});
  require_success(unchecked.result, "what is good is good unchecked");
  require(one.bytes == unchecked.bytes, "checking changes no byte");
}

void require_same_tensors(const Reader& a, const Reader& b) {
  const auto& model = a.model();
  for (std::uint32_t i = 0; i < model.tensors.size(); ++i)
    if (logical_bytes(model.tensors[i]) <= max_raw_bytes) require_same_tensor(a, b, i);
}

void require_same_files(const Reader& a, const Reader& b) {
  require(samples::describe(a.model()) == samples::describe(b.model()) &&
              samples::describe(a.layout()) == samples::describe(b.layout()) && a.model_id() == b.model_id(),
          "opening does not depend on access");
  if (!raw_bytes(a)) return;
  require_same_report(a.verify({.threads = 1}), b.verify({.threads = 3}));
  require_same_tensors(a, b);
}

void run(Bytes input) {
  const InMemoryFile file(input);
  const auto memory = Reader::open(borrow_memory(input));
  const auto mapped = Reader::open(file.path(), {.access = FileAccess::mapped});
  const auto positional = Reader::open(file.path(), {.access = FileAccess::positional});
  require_same_outcome(memory, positional, "opening does not depend on access");
  require_same_outcome(mapped, positional, "opening does not depend on access");
  if (!succeeded(memory)) return;
  require_same_files(*memory, *positional);
  require_same_files(*positional, *mapped);
}

}  // namespace

Target differential_target() { return {"differential", run, {96 << 20, 256}}; }

}  // namespace ptd::fuzz
