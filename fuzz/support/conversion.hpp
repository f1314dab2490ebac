// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// A foreign file all the way: imported, written as .ptd, opened, verified; and back.
#pragma once

#include <optional>
#include <ptd/reader.hpp>
#include <vector>

#include "foreign/import.hpp"

namespace ptd::fuzz {

/// The .ptd file that is made of the bytes, with `data` as a file of named data beside them; nothing if they
/// are refused. Requires that what the writer accepts is a valid file.
std::optional<Reader> converted(Bytes input, const foreign::ImportOptions& options, Bytes data = {});

using Export = Result<foreign::ExportReport> (*)(const Reader&, const std::filesystem::path&,
                                                 const foreign::ExportOptions&);

/// The bytes of an export, or nothing if that format cannot say it.
std::optional<std::vector<std::byte>> exported(const Reader& file, Export write);

}  // namespace ptd::fuzz
