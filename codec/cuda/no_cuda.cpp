// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "cuda/device.hpp"

namespace ptd::cuda {

Result<DriverPtr> cuda_driver() {
  return fail(ErrorCode::device, "",
              "this build of ptd has no support for GPUs: cuda.h was missing when it was made");
}

}  // namespace ptd::cuda
