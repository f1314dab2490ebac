// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Files opened for reading past the page cache, and the memory that such reads go to.
#pragma once

#include <memory>
#include <ptd/bytes.hpp>

#include "file/fd.hpp"
#include "file/transfer.hpp"

namespace ptd::cuda {

/// Reads of it begin and end on multiples of `block` bytes, in the file and in memory; the last may reach
/// past the file's end.
struct DirectFile {
  file::Fd file;
  std::uint64_t size = 0;
  std::uint64_t block = 0;  ///< a power of two, at least 4096
  std::string label;

  [[nodiscard]] std::uint64_t block_begin(std::uint64_t offset) const noexcept {
    return offset & ~(block - 1);
  }
  [[nodiscard]] std::uint64_t block_end(std::uint64_t offset) const noexcept {
    return block_begin(offset + block - 1);
  }
};

using DirectFilePtr = std::shared_ptr<const DirectFile>;

/// The same file, opened once more. Errors: `io` where the file system has no direct reads, or the path no
/// longer names the file that was opened, or that was changed since.
Result<DirectFilePtr> open_direct(const OpenedFile& opened);

/// Reads whole blocks, which may reach past the end of the file: what came, and what stopped it.
file::Transfer read_blocks(const DirectFile& file, std::uint64_t begin, MutableBytes blocks);

struct DirectMemoryDelete {
  std::align_val_t alignment{};
  void operator()(std::byte* memory) const noexcept { ::operator delete(memory, alignment); }
};
using DirectMemory = std::unique_ptr<std::byte, DirectMemoryDelete>;

/// Memory aligned for reads of the file. Throws std::bad_alloc.
DirectMemory allocate_for(const DirectFile& file, std::uint64_t bytes);

}  // namespace ptd::cuda
