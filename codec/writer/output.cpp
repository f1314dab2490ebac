// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "writer/output.hpp"

#include <algorithm>
#include <cstring>

namespace ptd::writer {
namespace {

constexpr std::size_t log_bytes_in_memory = std::size_t{8} << 20;

class FileOutput final : public Output {
 public:
  FileOutput(file::AtomicFile file, std::filesystem::path directory)
      : file_(std::move(file)), directory_(std::move(directory)) {}
  Result<void> write(std::uint64_t offset, Bytes bytes) override { return file_.write(offset, bytes); }
  Result<void> truncate(std::uint64_t size) override { return file_.truncate(size); }
  Result<void> commit(std::uint64_t size) override { return file_.commit(size); }
  Result<std::unique_ptr<file::Spool>> make_spool() override {
    PTD_LET(spool, file::Spool::create(directory_));
    return std::make_unique<file::Spool>(std::move(spool));
  }

 private:
  file::AtomicFile file_;
  std::filesystem::path directory_;
};

class MemoryOutput final : public Output {
 public:
  explicit MemoryOutput(std::vector<std::byte>& target) : target_(target) {}
  Result<void> write(std::uint64_t offset, Bytes bytes) override {
    const std::lock_guard lock(mutex_);
    if (offset + bytes.size() > bytes_.size()) bytes_.resize(offset + bytes.size());
    std::ranges::copy(bytes, bytes_.begin() + static_cast<std::ptrdiff_t>(offset));
    return {};
  }
  Result<void> truncate(std::uint64_t size) override {
    const std::lock_guard lock(mutex_);
    if (size < bytes_.size()) bytes_.resize(size);
    return {};
  }
  Result<void> commit(std::uint64_t size) override {
    bytes_.resize(size);
    target_ = std::move(bytes_);
    return {};
  }
  Result<std::unique_ptr<file::Spool>> make_spool() override { return nullptr; }

 private:
  std::vector<std::byte>& target_;
  std::vector<std::byte> bytes_;
  std::mutex mutex_;
};

}  // namespace

Result<std::unique_ptr<Output>> file_output(const std::filesystem::path& target) {
  PTD_LET(file, file::AtomicFile::create(target));
  auto directory = target.parent_path();
  if (directory.empty()) directory = ".";
  return std::make_unique<FileOutput>(std::move(file), std::move(directory));
}

std::unique_ptr<Output> memory_output(std::vector<std::byte>& target) {
  return std::make_unique<MemoryOutput>(target);
}

Result<void> ByteLog::append(Bytes bytes) {
  if (!spool_ && !stays_ && memory_.size() + bytes.size() > log_bytes_in_memory) PTD_TRY(spill());
  if (spool_) return spool_->append(bytes);
  memory_.insert(memory_.end(), bytes.begin(), bytes.end());
  return {};
}

Result<void> ByteLog::spill() {
  PTD_LET(spool, output_.make_spool());
  stays_ = spool == nullptr;
  if (stays_) return {};
  PTD_TRY(spool->append(memory_));
  spool_ = std::move(spool);
  memory_ = {};
  return {};
}

Result<void> ByteLog::truncate(std::uint64_t size) {
  if (spool_) return spool_->truncate(size);
  memory_.resize(size);
  return {};
}

Result<void> ByteLog::read(std::uint64_t offset, MutableBytes destination) const {
  if (spool_) return spool_->read(offset, destination);
  std::memcpy(destination.data(), memory_.data() + offset, destination.size());
  return {};
}

}  // namespace ptd::writer
