// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "wire/hash.hpp"

// Inlined, so that the compiler's target flags decide on its vector width, not a distribution's.
#define XXH_INLINE_ALL
#define XXH_STATIC_LINKING_ONLY
#include <xxhash.h>

namespace ptd::wire {

std::uint64_t xxh3(Bytes bytes) noexcept { return XXH3_64bits(bytes.data(), bytes.size()); }

// XXH3's state wants 64-byte alignment, which `new` gives it by its type.
struct Xxh3::State {
  XXH3_state_t state;
};

Xxh3::Xxh3() : state_(std::make_unique<State>()) { reset(); }
Xxh3::~Xxh3() = default;
void Xxh3::add(Bytes bytes) noexcept { XXH3_64bits_update(&state_->state, bytes.data(), bytes.size()); }
std::uint64_t Xxh3::value() const noexcept { return XXH3_64bits_digest(&state_->state); }
void Xxh3::reset() noexcept { XXH3_64bits_reset(&state_->state); }

}  // namespace ptd::wire
