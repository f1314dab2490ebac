// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include <ptd/bytes.hpp>

#include "file/failure.hpp"

namespace ptd {
namespace {

class SliceSource final : public ByteSource {
 public:
  SliceSource(SourcePtr base, std::uint64_t offset, std::uint64_t size)
      : base_(std::move(base)), offset_(offset), size_(size), label_(base_->label()) {}

  [[nodiscard]] std::uint64_t size() const noexcept override { return size_; }
  [[nodiscard]] std::string label() const override { return label_; }

  [[nodiscard]] Bytes in_memory() const noexcept override {
    const Bytes whole = base_->in_memory();
    if (whole.empty()) return {};
    return whole.subspan(static_cast<std::size_t>(offset_), static_cast<std::size_t>(size_));
  }

  [[nodiscard]] Result<void> read(std::uint64_t offset, MutableBytes destination) const override {
    PTD_TRY(file::check_range(label_, size_, offset, destination.size()));
    return base_->read(offset_ + offset, destination);
  }

 private:
  SourcePtr base_;
  std::uint64_t offset_;
  std::uint64_t size_;
  std::string label_;
};

Failure out_of_base(const ByteSource& base, std::uint64_t offset, std::uint64_t size) {
  return fail_on(ErrorCode::argument, "", base.label(),
                 "a slice of " + std::to_string(size) + " bytes at " + std::to_string(offset) +
                     " does not lie inside the source's " + std::to_string(base.size()) +
                     "; choose a range that does");
}

Result<SourcePtr> slice(SourcePtr base, std::uint64_t offset, std::uint64_t size) {
  if (!base) return file::argument_failure("there is no source to slice; pass one", "");
  const auto whole = base->size();
  if (offset > whole || size > whole - offset) return out_of_base(*base, offset, size);
  if (size == whole) return base;
  if (base->sequential())
    return file::argument_failure(
        "a source that is read once, front to back, cannot be sliced; use all of it", base->label());
  return std::make_shared<SliceSource>(std::move(base), offset, size);
}

}  // namespace

Result<SourcePtr> slice_source(SourcePtr base, std::uint64_t offset, std::uint64_t size) {
  return file::guarded([&] { return slice(std::move(base), offset, size); });
}

}  // namespace ptd
