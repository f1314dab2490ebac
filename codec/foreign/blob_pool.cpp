// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "foreign/blob_pool.hpp"

#include <algorithm>

namespace ptd::foreign {

Result<bool> same_bytes(const SourcePtr& a, const SourcePtr& b) {
  const std::uint64_t size = a ? a->size() : 0;
  if (size != (b ? b->size() : 0)) return false;
  constexpr std::uint64_t piece = std::uint64_t{1} << 20;
  std::vector<std::byte> in_a, in_b;
  for (std::uint64_t at = 0; at < size; at += piece) {
    in_a.resize(static_cast<std::size_t>(std::min(piece, size - at)));
    in_b.resize(in_a.size());
    PTD_TRY(a->read(at, in_a));
    PTD_TRY(b->read(at, in_b));
    if (in_a != in_b) return false;
  }
  return true;
}

Result<BlobId> BlobPool::add(BlobSpec blob, const std::string& origin) {
  if (const auto found = known_.find(blob.name); found != known_.end()) {
    const auto& known = found->second;
    PTD_LET(is_same, same_bytes(known.content, blob.content));
    if (is_same) return known.id;
    return fail_on(ErrorCode::conflict, "", blob.name,
                   "\"" + escaped(known.origin) + "\" and \"" + escaped(origin) +
                       "\" give this name to different bytes");
  }
  const auto name = blob.name;
  const auto content = blob.content;
  PTD_LET(id, writer_.add_blob(std::move(blob)));
  known_.emplace(name, Known{id, content, origin});
  return id;
}

}  // namespace ptd::foreign
