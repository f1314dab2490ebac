// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// What a fuzz target is: a function over hostile bytes that stops the process where a promise is broken.
#pragma once

#include <cstdint>
#include <ptd/bytes.hpp>
#include <span>
#include <string_view>

namespace ptd::fuzz {

/// How much memory a target may have allocated at once: `fixed` plus `per_byte` for each byte of its input.
/// What a parser allocates must follow from what is there, never from what a length in the file claims.
struct MemoryLimit {
  std::uint64_t fixed = 0;     ///< bytes
  std::uint64_t per_byte = 0;  ///< bytes a byte of input
};

struct Target {
  std::string_view name;
  void (*run)(Bytes input);
  MemoryLimit memory;
};

/// Runs a target on one input under its limits of memory and CPU time. Returns if every promise was kept.
void run_within_limits(const Target& target, Bytes input);

// One a file in targets/. README.md says what each reads from its input and what it asserts.
Target header_target();
Target message_target();
Target manifest_target();
Target file_target();
Target chunk_target();
Target safetensors_target();
Target executorch_target();
Target cuda_target();
Target gguf_target();
Target detect_target();
Target roundtrip_target();
Target differential_target();
Target gpu_frame_target();

/// All of them.
std::span<const Target> all_targets();

}  // namespace ptd::fuzz
