// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// What an open file is: everything behind this door obeys the open-level rules.
#pragma once

#include <ptd/reader.hpp>
#include <vector>

#include "reader/message.hpp"
#include "reader/table.hpp"
#include "wire/header.hpp"

namespace ptd {

struct Reader::State {
  OpenedFile file;
  wire::Header header;
  reader::Message layout_words;
  reader::Message model_words;  ///< the model's names and lists look into these
  Model model;
  Layout layout;
  std::vector<std::uint32_t> segment_of;  ///< by content
  mutable reader::TableCache tables;

  [[nodiscard]] const ByteSource& source() const { return *file.source; }
  [[nodiscard]] std::uint64_t raw_size(const Segment& segment) const {
    return model.contents[segment.content].size;
  }
};

}  // namespace ptd
