// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// All of the library.
#pragma once

#include <ptd/bytes.hpp>    // IWYU pragma: export
#include <ptd/dtype.hpp>    // IWYU pragma: export
#include <ptd/error.hpp>    // IWYU pragma: export
#include <ptd/layout.hpp>   // IWYU pragma: export
#include <ptd/limits.hpp>   // IWYU pragma: export
#include <ptd/model.hpp>    // IWYU pragma: export
#include <ptd/reader.hpp>   // IWYU pragma: export
#include <ptd/version.hpp>  // IWYU pragma: export
#include <ptd/writer.hpp>   // IWYU pragma: export
