// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// One load: claims storages, makes room, brings the bytes, hands everything out.
#pragma once

#include "cuda/inner.hpp"

namespace ptd::cuda {

/// `state` is null for a new one.
Result<std::shared_ptr<const Weights::Inner>> load(const LoadedModelPtr& model, const LoadRequest& request,
                                                   StatePtr state);

}  // namespace ptd::cuda
