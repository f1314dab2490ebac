// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Models for the tests of verbs, each in the words that its test is about.
#pragma once

#include <string>
#include <vector>

#include "cli/diff_text.hpp"
#include "tests/write_samples.hpp"

namespace ptd::cli {

using namespace write_test;

/// A model of its own: what `fill` puts into a writer, written and opened.
template <class Fill>
Reader model_of(Fill&& fill, const WriteOptions& options = {}) {
  Writer writer;
  fill(writer);
  return opened(written(writer, options));
}

inline Put of_dtype(DType dtype, Sizes sizes) {
  Put how;
  how.dtype = dtype;
  how.sizes = std::move(sizes);
  return how;
}

inline Put owned_by(OwnerSpec owner) {
  Put how;
  how.owner = owner;
  return how;
}

inline Put state() {
  Put how;
  how.access = Access::mutable_;
  return how;
}

/// Two tensors over one storage of state.
inline void put_shared_state(Writer& writer, const std::string& a, const std::string& b) {
  const auto storage = must(writer.add_storage(storage_of(own_memory(noise(16)), state())));
  for (const auto& name : {a, b}) must(writer.add_tensor(view_of(storage, name, 16)));
}

inline BlobId put_blob(Writer& writer, const std::string& name, const std::string& bytes,
                       const std::string& media_type = "") {
  return must(writer.add_blob({name, own_memory(bytes_of(bytes)), 0, media_type, {}}));
}

}  // namespace ptd::cli
