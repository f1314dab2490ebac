// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// The tensor or blob that a person means by a name.
#pragma once

#include <ptd/error.hpp>
#include <ptd/model.hpp>
#include <string>

namespace ptd::cli {

/// What narrows a name down; at most one of them is set.
struct NameScope {
  std::string method;   ///< the tensor that this method means by it
  std::string library;  ///< the tensor that this library owns
  bool model = false;   ///< the tensor that the model itself owns
  bool blob = false;    ///< the blob
};

/// One of them, the other no_index.
struct FoundObject {
  std::uint32_t tensor = no_index;
  std::uint32_t blob = no_index;
};

/// Errors: `not_found`; `argument` where the name fits several objects, which it lists with the option that
/// chooses each.
Result<FoundObject> find_object(const Model& model, const std::string& name, const NameScope& scope);

}  // namespace ptd::cli
