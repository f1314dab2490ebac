// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "cuda/direct_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <new>

#include "file/failure.hpp"
#include "file/identity.hpp"

namespace ptd::cuda {
namespace {

constexpr std::uint64_t usual_block = 4096;                      // what nearly every device takes
constexpr std::uint64_t largest_block = std::uint64_t{1} << 20;  // nobody's; a larger one is no answer

/// What the kernel says that direct reads of this file need; 0 if the file has none.
std::uint64_t block_of([[maybe_unused]] const file::Fd& file) {
#ifdef STATX_DIOALIGN
  struct statx status {};
  const bool is_told = ::statx(file.get(), "", AT_EMPTY_PATH, STATX_DIOALIGN, &status) == 0 &&
                       (status.stx_mask & STATX_DIOALIGN) != 0;
  if (is_told && status.stx_dio_offset_align == 0) return 0;
  if (is_told) {
    const std::uint64_t told = std::max(status.stx_dio_offset_align, status.stx_dio_mem_align);
    return std::max(usual_block, std::bit_ceil(std::min(told, largest_block)));
  }
#endif
  return usual_block;
}

Failure no_direct_reads(const std::string& path, int error) {
  return file::system_failure("the file cannot be read past the page cache", path, error);
}

Result<DirectFilePtr> open(const OpenedFile& opened) {
  const auto path = opened.source->label();
  file::Fd direct(file::uninterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECT); }));
  struct stat status {};
  if (!direct || ::fstat(direct.get(), &status) != 0) return no_direct_reads(path, errno);
  if (file::identity_of(status) != opened.identity)
    return fail_on(ErrorCode::io, "", path,
                   "the path no longer names the file that was opened, or that was changed since");
  const auto block = block_of(direct);
  if (block == 0) return no_direct_reads(path, EINVAL);
  return std::make_shared<const DirectFile>(DirectFile{std::move(direct), opened.identity.size, block, path});
}

}  // namespace

Result<DirectFilePtr> open_direct(const OpenedFile& opened) {
  return file::guarded([&] { return open(opened); });
}

file::Transfer read_blocks(const DirectFile& file, std::uint64_t begin, MutableBytes blocks) {
  auto moved = file::transfer(::pread, file.file.get(), begin, blocks);
  // Only the file's end leaves part of a block, and some file systems refuse to be asked for what lies
  // behind.
  if (moved.error == EINVAL && moved.done % file.block != 0) moved.error = 0;
  return moved;
}

DirectMemory allocate_for(const DirectFile& file, std::uint64_t bytes) {
  const std::align_val_t alignment{file.block};
  return {static_cast<std::byte*>(::operator new(bytes, alignment)), DirectMemoryDelete{alignment}};
}

}  // namespace ptd::cuda
