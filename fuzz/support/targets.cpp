// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include <array>

#include "support/target.hpp"

namespace ptd::fuzz {

std::span<const Target> all_targets() {
  static const std::array targets = {
      header_target(),      message_target(),      manifest_target(), file_target(), chunk_target(),
      safetensors_target(), executorch_target(),   cuda_target(),     gguf_target(), detect_target(),
      roundtrip_target(),   differential_target(), gpu_frame_target()};
  return targets;
}

}  // namespace ptd::fuzz
