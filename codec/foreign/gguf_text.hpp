// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// GGUF metadata for people and scripts: PTD pairs that say what the values are, without their exact types.
#pragma once

#include <optional>
#include <ptd/writer.hpp>

#include "foreign/gguf.hpp"

namespace ptd::foreign {

inline constexpr std::string_view gguf_key_prefix = "gguf.";

/// Values of more bytes are not repeated as text: vocabularies would make every opening of the file slower.
inline constexpr std::uint64_t max_readable_bytes = std::uint64_t{1} << 16;

/// The pair "gguf.KEY" of a parsed file's pair: a string as text (bytes if it is not UTF-8), all else as JSON
///. Nothing where the value is long, or where text or JSON cannot say it (NaN).
std::optional<PairSpec> readable_pair(const GgufPair& pair, Bytes file);

}  // namespace ptd::foreign
