// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <ptd/bytes.hpp>

#include "file/failure.hpp"

namespace ptd {
namespace {

class MemorySource final : public ByteSource {
 public:
  MemorySource(std::vector<std::byte> owned, std::string label)
      : owned_(std::move(owned)), bytes_(owned_), label_(std::move(label)) {}
  MemorySource(Bytes borrowed, std::string label) : bytes_(borrowed), label_(std::move(label)) {}

  [[nodiscard]] std::uint64_t size() const noexcept override { return bytes_.size(); }
  [[nodiscard]] Bytes in_memory() const noexcept override { return bytes_; }
  [[nodiscard]] std::string label() const override { return label_; }

  [[nodiscard]] Result<void> read(std::uint64_t offset, MutableBytes destination) const override {
    PTD_TRY(file::check_range(label_, size(), offset, destination.size()));
    std::ranges::copy(bytes_.subspan(static_cast<std::size_t>(offset), destination.size()),
                      destination.begin());
    return {};
  }

 private:
  std::vector<std::byte> owned_;
  Bytes bytes_;
  std::string label_;
};

class ZeroSource final : public ByteSource {
 public:
  explicit ZeroSource(std::uint64_t size) : size_(size) {}

  [[nodiscard]] std::uint64_t size() const noexcept override { return size_; }
  [[nodiscard]] std::string label() const override { return "zeros"; }

  [[nodiscard]] Result<void> read(std::uint64_t offset, MutableBytes destination) const override {
    PTD_TRY(file::check_range("zeros", size_, offset, destination.size()));
    std::ranges::fill(destination, std::byte{0});
    return {};
  }

 private:
  std::uint64_t size_;
};

}  // namespace

SourcePtr borrow_memory(Bytes bytes, std::string label) {
  return std::make_shared<MemorySource>(bytes, std::move(label));
}

SourcePtr own_memory(std::vector<std::byte> bytes, std::string label) {
  return std::make_shared<MemorySource>(std::move(bytes), std::move(label));
}

SourcePtr zero_source(std::uint64_t size) { return std::make_shared<ZeroSource>(size); }

}  // namespace ptd
