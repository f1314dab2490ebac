// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "file/transfer.hpp"

#include "file/failure.hpp"

namespace ptd::file {
namespace {

Failure at_offset(Failure failure, std::uint64_t offset) noexcept {
  failure.value().offset = offset;
  return failure;
}

Failure became_shorter(std::string_view subject) noexcept {
  return guarded([&] {
    return fail_on(
        ErrorCode::io, "", subject,
        "the file became shorter while it was read; let no one change it in place, and open it again");
  });
}

}  // namespace

Result<void> read_result(Transfer transfer, std::uint64_t offset, std::size_t wanted,
                         std::string_view subject) {
  if (transfer.done == wanted) return {};
  const auto stopped = offset + transfer.done;
  if (transfer.error == 0) return at_offset(became_shorter(subject), stopped);
  return at_offset(system_failure("the file cannot be read", subject, transfer.error), stopped);
}

Result<void> write_result(Transfer transfer, std::uint64_t offset, std::size_t wanted,
                          std::string_view subject) {
  if (transfer.done == wanted) return {};
  // A write that moves nothing would be tried for ever; the likeliest cause is a full device.
  const int error = transfer.error == 0 ? ENOSPC : transfer.error;
  return at_offset(system_failure("the file cannot be written", subject, error), offset + transfer.done);
}

Result<void> set_size(const Fd& file, std::uint64_t size, std::string_view subject) {
  constexpr std::string_view what = "the size of the file cannot be set";
  if (size > largest_file) return system_failure(what, subject, EFBIG);
  if (uninterrupted([&] { return ::ftruncate(file.get(), static_cast<off_t>(size)); }) == 0) return {};
  return system_failure(what, subject, errno);
}

}  // namespace ptd::file
