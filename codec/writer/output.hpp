// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Where a file is written to: a file that appears whole, or memory.
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <ptd/bytes.hpp>
#include <vector>

#include "file/atomic_file.hpp"

namespace ptd::writer {

/// Bytes that are written in any order, by several threads; what is not written is zero.
class Output {
 public:
  Output() = default;
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  virtual ~Output() = default;
  virtual Result<void> write(std::uint64_t offset, Bytes bytes) = 0;
  virtual Result<void> truncate(std::uint64_t size) = 0;
  /// Ends with exactly `size` bytes, for good.
  virtual Result<void> commit(std::uint64_t size) = 0;
  /// Room for what does not fit in memory; null if everything is to stay in memory.
  virtual Result<std::unique_ptr<file::Spool>> make_spool() = 0;
};

Result<std::unique_ptr<Output>> file_output(const std::filesystem::path& target);
std::unique_ptr<Output> memory_output(std::vector<std::byte>& target);

/// A list of bytes that grows at its end and may be cut there: in memory first, in a spool when it is long.
class ByteLog {
 public:
  explicit ByteLog(Output& output) : output_(output) {}

  [[nodiscard]] std::uint64_t size() const noexcept { return spool_ ? spool_->size() : memory_.size(); }
  Result<void> append(Bytes bytes);
  Result<void> truncate(std::uint64_t size);
  Result<void> read(std::uint64_t offset, MutableBytes destination) const;

 private:
  Result<void> spill();

  Output& output_;
  std::vector<std::byte> memory_;
  std::unique_ptr<file::Spool> spool_;
  bool stays_ = false;
};

}  // namespace ptd::writer
