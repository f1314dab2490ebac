// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// The entry point that libFuzzer and its like call; compiled once for each target.
#include "support/target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const ptd::fuzz::Target target = ptd::fuzz::PTD_FUZZ_TARGET();
  ptd::fuzz::run_within_limits(target, std::as_bytes(std::span(data, size)));
  return 0;
}
