// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "cuda/direct_source.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cstring>
#include <new>

#include "file/failure.hpp"
#include "file/fd.hpp"
#include "file/transfer.hpp"
#include "wire/checked.hpp"

namespace ptd::cuda {
namespace {

constexpr std::uint64_t block = 4096;  // a multiple of every device's

struct AlignedDelete {
  void operator()(std::byte* memory) const noexcept { ::operator delete (memory, std::align_val_t{block}); }
};

class DirectSource final : public ByteSource {
 public:
  DirectSource(file::Fd file, std::uint64_t size, std::string label)
      : file_(std::move(file)), size_(size), label_(std::move(label)) {}

  [[nodiscard]] std::uint64_t size() const noexcept override { return size_; }
  [[nodiscard]] std::string label() const override { return label_; }

  [[nodiscard]] Result<void> read(std::uint64_t offset, MutableBytes destination) const override {
    PTD_TRY(file::check_range(label_, size_, offset, destination.size()));
    return file::guarded([&] { return read_blocks(offset, destination); });
  }

 private:
  Result<void> read_blocks(std::uint64_t offset, MutableBytes destination) const {
    const auto begin = offset / block * block;
    const auto end = wire::divide_up(offset + destination.size(), block) * block;
    const std::unique_ptr<std::byte, AlignedDelete> memory(
        static_cast<std::byte*>(::operator new (end - begin, std::align_val_t{block})));
    const MutableBytes blocks(memory.get(), end - begin);
    const auto moved = file::transfer(::pread, file_.get(), begin, blocks);
    const auto wanted = offset + destination.size() - begin;
    if (moved.done < wanted) return file::read_result(moved, begin, wanted, label_);
    std::memcpy(destination.data(), blocks.data() + (offset - begin), destination.size());
    return {};
  }

  file::Fd file_;
  std::uint64_t size_;
  std::string label_;
};

bool is_same(const struct stat& status, const FileIdentity& identity) {
  return status.st_dev == identity.device && status.st_ino == identity.inode &&
         static_cast<std::uint64_t>(status.st_size) == identity.size;
}

}  // namespace

Result<SourcePtr> open_direct(const OpenedFile& opened) {
  const auto path = opened.source->label();
  file::Fd direct(file::uninterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECT); }));
  struct stat status {};
  if (!direct || ::fstat(direct.get(), &status) != 0)
    return file::system_failure("the file cannot be read past the page cache", path, errno);
  if (!is_same(status, opened.identity))
    return fail_on(ErrorCode::io, "", path, "the path no longer names the file that was opened");
  return std::make_shared<DirectSource>(std::move(direct), opened.identity.size, path);
}

}  // namespace ptd::cuda
