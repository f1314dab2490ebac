// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Sums that a manifest implies.
#pragma once

#include <cstdint>
#include <ptd/reader.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace ptd::cli {

struct MethodFacts {
  std::uint64_t bytes = 0;  ///< of the storages that its tensors view, each once, external ones left out
  std::uint64_t shared_bytes = 0;  ///< of these, whose content other methods use too
};

struct Facts {
  std::uint64_t alone_bytes = 0;   ///< of every tensor on its own, as often as methods bind it, and of blobs
  std::uint64_t shared_bytes = 0;  ///< of these, stored only once
  std::uint64_t zero_bytes = 0;    ///< of these, in all-zero storages, which are not stored
  std::uint64_t raw_bytes = 0;     ///< of the contents
  std::uint64_t stored_bytes = 0;  ///< of their segments
  std::uint64_t external_bytes = 0;
  std::uint64_t unreferenced_bytes = 0;  ///< of stored contents, outside every tensor's view
  std::vector<MethodFacts> methods;
  std::vector<std::uint64_t> unreferenced;  ///< by storage
};

Facts gather_facts(const Reader& file);

/// "1 tensor", "12 tensors".
std::string counted(std::uint64_t count, std::string_view one, std::string_view many = "");

}  // namespace ptd::cli
