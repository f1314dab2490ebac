// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "support/in_memory_file.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "support/require.hpp"

namespace ptd::fuzz {

InMemoryFile::InMemoryFile(Bytes bytes) : descriptor_(memfd_create("fuzz", MFD_CLOEXEC)) {
  while (!bytes.empty()) {
    const auto written = write(descriptor_, bytes.data(), bytes.size());
    if (written <= 0) broken("the machine has room for an input");
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

InMemoryFile::~InMemoryFile() { close(descriptor_); }

std::filesystem::path InMemoryFile::path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

}  // namespace ptd::fuzz
