// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// The message encoding and what it decodes to. Input: a byte of flags, then the message. Flag 1: it is a
// model, not a layout; flag 2: it is of a later minor version, so unknown fields are allowed.
#include <capnp/message.h>
#include <capnp/serialize.h>

#include "model/check.hpp"
#include "support/require.hpp"
#include "support/target.hpp"
#include "support/within_limits.hpp"
#include "support/words.hpp"
#include "wire/messages.hpp"

namespace ptd::fuzz {
namespace {

using wire::Unknown;
using wire::Words;

// Cap'n Proto's own opinion: our encoding is its canonical form, without empty lists.
bool is_canonical(Words words) {
  const kj::ArrayPtr<const capnp::word> segment(reinterpret_cast<const capnp::word*>(words.data()),
                                                words.size());
  capnp::SegmentArrayMessageReader reader(kj::arrayPtr(&segment, 1));
  return reader.isCanonical();
}

void require_same(Words words, const Result<std::vector<std::uint64_t>>& encoded) {
  require_success(encoded, "what was read can be written");
  require(std::ranges::equal(*encoded, words), "a value has one encoding");
}

void check_layout(Words words, Unknown unknown) {
  const auto layout = wire::decode_layout(words);
  require_success(layout, "an accepted layout is decoded");
  if (unknown == Unknown::refused) require_same(words, wire::encode_layout(*layout));
}

void check_model(Words words, Unknown unknown) {
  const auto model = wire::decode_model(words);
  require_success(model, "an accepted model is decoded");
  if (unknown == Unknown::refused) require_same(words, wire::encode_model(*model));
  if (succeeded(model::check_model(*model, {model->major, model->minor, model->required_features})))
    require_within_limits(*model);
}

void run(Bytes input) {
  if (input.empty()) return;
  const auto flags = std::to_integer<unsigned>(input.front());
  const bool is_model = (flags & 1) != 0;
  const auto unknown = (flags & 2) != 0 ? Unknown::ignored : Unknown::refused;
  const auto words = words_of(input.subspan(1));
  const auto& shape = is_model ? wire::model_shape : wire::layout_shape;
  if (!succeeded(wire::check_message(words, shape, unknown, 80))) return;
  require(is_canonical(words), "what is accepted is Cap'n Proto's canonical form");
  if (is_model)
    check_model(words, unknown);
  else
    check_layout(words, unknown);
}

}  // namespace

Target message_target() { return {"message", run, {64 << 10, 128}}; }

}  // namespace ptd::fuzz
