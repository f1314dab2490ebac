// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Files put together from their parts, by the text of SPEC.md alone: a second opinion on the writer, and a
// way past hashes for what is broken on purpose.
#pragma once

#include <ptd/layout.hpp>
#include <ptd/model.hpp>
#include <vector>

namespace ptd::fuzz {

/// A file's messages and where they lie.
struct Manifest {
  std::vector<std::uint64_t> layout;  ///< words
  std::vector<std::uint64_t> model;
  std::uint64_t layout_offset = 80;  ///< bytes
  std::uint16_t minor = 0;
  std::uint64_t required_features = 0;
};

/// Where the layout begins: behind all segments and tables; nothing if that is past 2^62.
std::optional<std::uint64_t> end_of_tables(const Model& model, const Layout& layout);

/// A file of that header and manifest whose payload is all zero, however large: with correct hashes of the
/// messages, but no content that is what its digest says.
SourcePtr file_without_payload(const Manifest& manifest);

/// Encodes the contents into segments, in the layout's order and encodings; sets stored sizes and table
/// hashes. Gives the file's bytes up to the layout, but for the header, which is left zero. `surplus` bytes
/// stand behind the chunks of each coded segment that has room for them: no reader may accept that.
std::vector<std::byte> payload(const Model& model, Layout& layout,
                               const std::vector<std::vector<std::byte>>& contents,
                               std::uint64_t surplus = 0);

/// The whole file. Requires that the messages can be encoded.
std::vector<std::byte> whole_file(const Model& model, const Layout& layout, std::vector<std::byte> payload);

}  // namespace ptd::fuzz
