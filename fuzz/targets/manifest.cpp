// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// A plausible manifest, broken in a few places, in a file whose hashes and sizes are right: past the front
// door. Input: decisions.
#include "support/assemble.hpp"
#include "support/edit_model.hpp"
#include "support/require.hpp"
#include "support/target.hpp"
#include "support/whole_file.hpp"
#include "support/within_limits.hpp"
#include "wire/messages.hpp"

namespace ptd::fuzz {
namespace {

using Words = std::vector<std::uint64_t>;

struct Draft {
  samples::Sample sample;
  Layout layout;
  bool is_broken = false;
};

Draft make_draft(Choices& choices) {
  const samples::Below below = [&](std::uint64_t end) { return choices.below(end); };
  Draft draft{samples::ModelMaker(below).make(), {}};
  draft.layout = samples::make_layout(draft.sample.model, below);
  return draft;
}

void break_draft(Draft& draft, Choices& choices) {
  for (auto edits = choices.below(4); edits > 0; --edits) {
    draft.is_broken = true;
    if (choices.below(4) == 0)
      edit_layout(draft.layout, choices);
    else
      edit_model(draft.sample, choices);
  }
}

void break_words(Draft& draft, Manifest& manifest, Choices& choices) {
  if (choices.below(3) != 1) return;
  draft.is_broken = true;
  for (auto edits = 1 + choices.below(3); edits > 0; --edits)
    edit_words(choices.below(4) == 0 ? manifest.layout : manifest.model, choices);
}

/// Nothing if the message encoding itself cannot hold such values.
std::optional<Manifest> encode(const Draft& draft) {
  const auto layout = wire::encode_layout(draft.layout);
  const auto model = wire::encode_model(draft.sample.model);
  if (!draft.is_broken) {
    require_success(layout, "a valid layout is encoded");
    require_success(model, "a valid model is encoded");
  }
  if (!layout || !model) return std::nullopt;
  const auto end = end_of_tables(draft.sample.model, draft.layout);
  return Manifest{*layout, *model, end.value_or(80), draft.sample.model.minor, 0};
}

void require_same(const Reader& reader, const Manifest& manifest) {
  const auto layout = wire::encode_layout(reader.layout());
  const auto model = wire::encode_model(reader.model());
  require_success(layout, "what was read can be written");
  require_success(model, "what was read can be written");
  require(*layout == manifest.layout && *model == manifest.model, "a value has one encoding");
}

void check_file(const Draft& draft, const Manifest& manifest) {
  const auto reader = Reader::open(file_without_payload(manifest));
  if (!draft.is_broken) {
    require_success(reader, "a valid manifest is accepted");
    require(samples::describe(reader->model()) == samples::describe(draft.sample.model),
            "a model is read as it was written");
  }
  if (!reader) return require_about_file(reader.error());
  require_within_limits(reader->model());
  if (manifest.minor == 0) require_same(*reader, manifest);
  require_names(reader->model());
  if (!raw_bytes(*reader)) return;
  const bool verified = succeeded(reader->verify({.threads = 1}));
  const bool readable = read_everything(*reader);
  require(!verified || readable, "a verified file can be read");
}

void run(Bytes input) {
  Choices choices(input);
  auto draft = make_draft(choices);
  break_draft(draft, choices);
  auto manifest = encode(draft);
  if (!manifest) return;
  break_words(draft, *manifest, choices);
  check_file(draft, *manifest);
}

}  // namespace

// Whatever the decisions are, a model has at most a dozen tensors; contents of up to 4 MiB are read.
Target manifest_target() { return {"manifest", run, {96 << 20, 1024}}; }

}  // namespace ptd::fuzz
