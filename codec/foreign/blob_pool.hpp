// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Blobs that several files may bring along.
#pragma once

#include <map>
#include <ptd/writer.hpp>
#include <string>

namespace ptd::foreign {

/// Adds blobs to a Writer, each name once. A name that comes again must have the same bytes; they are
/// compared.
class BlobPool {
 public:
  explicit BlobPool(Writer& writer) : writer_(writer) {}

  /// Errors: those of Writer::add_blob; `conflict`, naming both origins, for other bytes under a known name.
  Result<BlobId> add(BlobSpec blob, const std::string& origin);

 private:
  struct Known {
    BlobId id;
    SourcePtr content;
    std::string origin;
  };
  Writer& writer_;
  std::map<std::string, Known> known_;
};

/// True if both have the same bytes; null has none. Reads both at most once, a piece at a time.
Result<bool> same_bytes(const SourcePtr& a, const SourcePtr& b);

}  // namespace ptd::foreign
