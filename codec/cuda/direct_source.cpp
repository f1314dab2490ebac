// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "cuda/direct_source.hpp"

#include <cstring>

#include "file/failure.hpp"

namespace ptd::cuda {
namespace {

class DirectSource final : public ByteSource {
 public:
  explicit DirectSource(DirectFilePtr file) : file_(std::move(file)) {}

  [[nodiscard]] std::uint64_t size() const noexcept override { return file_->size; }
  [[nodiscard]] std::string label() const override { return file_->label; }

  [[nodiscard]] Result<void> read(std::uint64_t offset, MutableBytes destination) const override {
    PTD_TRY(file::check_range(file_->label, file_->size, offset, destination.size()));
    if (destination.empty()) return {};
    return file::guarded([&] { return read_around(offset, destination); });
  }

 private:
  Result<void> read_around(std::uint64_t offset, MutableBytes destination) const {
    const auto begin = file_->block_begin(offset);
    const auto wanted = offset + destination.size() - begin;
    const auto bytes = file_->block_end(wanted);
    const auto memory = allocate_for(*file_, bytes);
    const auto moved = read_blocks(*file_, begin, MutableBytes(memory.get(), bytes));
    if (moved.done < wanted) return file::read_result(moved, begin, wanted, file_->label);
    std::memcpy(destination.data(), memory.get() + (offset - begin), destination.size());
    return {};
  }

  DirectFilePtr file_;
};

}  // namespace

SourcePtr direct_source(DirectFilePtr file) { return std::make_shared<DirectSource>(std::move(file)); }

}  // namespace ptd::cuda
