// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "cuda/deep_reader.hpp"

namespace ptd::cuda {

Result<DeepReaderPtr> ring_reader(unsigned /*depth*/) {
  return fail(ErrorCode::io, "", "this build of ptd has no io_uring: liburing was missing when it was made");
}

}  // namespace ptd::cuda
