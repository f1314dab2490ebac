// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "file/atomic_file.hpp"
#include "file/failure.hpp"
#include "file/temp_file.hpp"
#include "file/transfer.hpp"

namespace ptd::file {
namespace {

constexpr std::size_t buffer_size = std::size_t{1} << 20;

}  // namespace

struct Spool::State {
  std::string label;
  Fd file;
  std::uint64_t written = 0;      // bytes in the file; those in the buffer follow them
  std::vector<std::byte> buffer;  // never grows past buffer_size, which is reserved

  // Writes at the end. On failure nothing counts as written, so that the call can be repeated.
  Result<void> write(Bytes bytes) {
    PTD_TRY(write_fully(::pwrite, file.get(), written, bytes, label));
    written += bytes.size();
    return {};
  }

  Result<void> flush() {
    PTD_TRY(write(buffer));
    buffer.clear();
    return {};
  }
};

namespace {

template <class State>
Result<void> check_open(const std::unique_ptr<State>& state) {
  if (state) return {};
  return argument_failure("the spool was moved from; create another", "");
}

}  // namespace

Spool::Spool(std::unique_ptr<State> state) : state_(std::move(state)) {}
Spool::Spool(Spool&&) noexcept = default;
Spool& Spool::operator=(Spool&&) noexcept = default;
Spool::~Spool() = default;

Result<Spool> Spool::create(const std::filesystem::path& directory) {
  return guarded([&]() -> Result<Spool> {
    PTD_TRY(check_path(directory.native()));
    PTD_LET(opened, open_directory(directory.native()));
    auto state = std::make_unique<State>();
    state->label = directory.native();
    PTD_LET(file, create_unnamed(opened, state->label));
    state->file = std::move(file);
    state->buffer.reserve(buffer_size);
    return Spool(std::move(state));
  });
}

std::uint64_t Spool::size() const noexcept { return state_ ? state_->written + state_->buffer.size() : 0; }

Result<void> Spool::append(Bytes bytes) {
  PTD_TRY(check_open(state_));
  auto& buffer = state_->buffer;
  if (bytes.size() > buffer_size - buffer.size()) PTD_TRY(state_->flush());
  if (bytes.size() >= buffer_size) return state_->write(bytes);
  buffer.insert(buffer.end(), bytes.begin(), bytes.end());
  return {};
}

Result<void> Spool::truncate(std::uint64_t size) {
  PTD_TRY(check_open(state_));
  if (size > this->size())
    return argument_failure("a spool can be cut but not grown; append instead", state_->label);
  if (size < state_->written) {
    PTD_TRY(set_size(state_->file, size, state_->label));
    state_->written = size;
  }
  state_->buffer.resize(static_cast<std::size_t>(size - state_->written));
  return {};
}

Result<void> Spool::read(std::uint64_t offset, MutableBytes destination) const {
  PTD_TRY(check_open(state_));
  PTD_TRY(check_range(state_->label, size(), offset, destination.size()));
  const auto in_file = state_->written - std::min(offset, state_->written);
  const auto from_file =
      destination.first(static_cast<std::size_t>(std::min<std::uint64_t>(in_file, destination.size())));
  PTD_TRY(read_fully(::pread, state_->file.get(), offset, from_file, state_->label));
  const auto rest = destination.subspan(from_file.size());
  if (rest.empty()) return {};
  const auto begin = static_cast<std::size_t>(offset + from_file.size() - state_->written);
  std::ranges::copy(Bytes(state_->buffer).subspan(begin, rest.size()), rest.begin());
  return {};
}

}  // namespace ptd::file
