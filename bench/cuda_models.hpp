// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// The models that the GPU benchmarks load, made up from random weights.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace ptd::bench {

/// large     64 tensors of 256 MiB (compressed: 16 of them); methods forward, half, quarter and eighth
/// small     100,000 tensors of 8 to 64 KiB; methods forward and other, which bind the same
/// moe       18,000 tensors, most of them of experts, 8 GiB; methods forward and other, which bind the same
/// two       prefill and decode, which share 2 GiB and two kinds of caches and have 32 MiB of their own each
const std::vector<std::string>& shapes();

std::filesystem::path model_path(const std::string& shape, bool compressed);

/// Makes the models that are not there yet, on all cores, and prints how long each took. Throws if one cannot
/// be made.
void make_models();

}  // namespace ptd::bench
