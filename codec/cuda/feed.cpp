// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "cuda/feed.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "cuda/direct_source.hpp"

namespace ptd::cuda {
namespace {

/// The share of sampled pages that are in memory.
double resident_share(Bytes mapping) {
  constexpr std::size_t samples = 512;
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const auto pages = mapping.size() / page;
  if (pages == 0) return 1;
  const auto count = std::min(samples, pages);
  std::size_t resident = 0;
  for (std::size_t i = 0; i < count; ++i) {
    unsigned char in_memory = 0;
    // mincore takes a pointer to what it does not change.
    auto* at = const_cast<std::byte*>(mapping.data()) + pages * i / count * page;
    if (mincore(at, page, &in_memory) == 0) resident += in_memory & 1U;
  }
  return static_cast<double>(resident) / static_cast<double>(count);
}

/// Hides a mapping, so that bytes are read with pread.
class BufferedSource final : public ByteSource {
 public:
  explicit BufferedSource(SourcePtr base) : base_(std::move(base)) {}
  [[nodiscard]] std::uint64_t size() const noexcept override { return base_->size(); }
  [[nodiscard]] std::string label() const override { return base_->label(); }
  [[nodiscard]] Result<void> read(std::uint64_t offset, MutableBytes destination) const override {
    return base_->read(offset, destination);
  }

 private:
  SourcePtr base_;
};

Feed buffered(const Reader& file, std::string note = {}) {
  Feed feed{std::make_shared<BufferedSource>(file.file().source), ReadPath::buffered, {}};
  if (!note.empty()) feed.notes.push_back(std::move(note));
  return feed;
}

Feed mapped(const Reader& file) {
  const auto& opened = file.file();
  if (!opened.source->in_memory().empty()) return {opened.source, ReadPath::mapped, {}};
  return buffered(file, opened.fallback.empty()
                            ? "the file was not opened mapped, so it is read piece by piece"
                            : opened.fallback);
}

Feed direct(const Reader& file) {
  auto opened = open_direct(file.file());
  if (opened) return {direct_source(std::move(*opened)), ReadPath::direct, {}};
  return buffered(file, opened.error().message);
}

Feed automatic(const Reader& file) {
  constexpr double most = 0.9;
  const auto mapping = file.file().source->in_memory();
  // What is no file lies in memory anyway.
  if (file.file().identity == FileIdentity{}) return mapping.empty() ? buffered(file) : mapped(file);
  if (!mapping.empty() && resident_share(mapping) >= most) return mapped(file);
  return direct(file);
}

}  // namespace

Feed choose_feed(const Reader& file, ReadPath wanted) {
  switch (wanted) {
    case ReadPath::mapped:
      return mapped(file);
    case ReadPath::direct:
      return direct(file);
    case ReadPath::buffered:
      return buffered(file);
    default:
      return automatic(file);
  }
}

}  // namespace ptd::cuda
