// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "cuda/table_store.hpp"

namespace ptd::cuda {
namespace {

constexpr std::uint64_t most_chunks = std::uint64_t{1} << 22;  // 96 MiB of tables, for 256 GiB of weights

}  // namespace

Result<reader::TablePtr> TableStore::get(std::uint32_t content, const ByteSource& source,
                                         const Segment& segment, std::uint64_t raw_size) {
  const std::lock_guard lock(mutex_of(content));
  auto& kept = tables_[content];
  if (kept) return kept;
  PTD_LET(table, reader::load_table(source, segment, raw_size));
  if (chunks_.fetch_add(segment.chunks) + segment.chunks <= most_chunks)
    kept = table;
  else
    chunks_ -= segment.chunks;
  return table;
}

bool TableStore::has(std::uint32_t content) {
  const std::lock_guard lock(mutex_of(content));
  return tables_[content] != nullptr;
}

}  // namespace ptd::cuda
