// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Decoding and encoding of chunks. Input: the encoding's number, the raw size minus 1 (3 bytes,
// little-endian), then the chunk's stored bytes. The stored bytes serve as raw bytes, too.
#include <algorithm>

#include "segment/chunk.hpp"
#include "segment/frame.hpp"
#include "support/require.hpp"
#include "support/target.hpp"
#include "wire/endian.hpp"

namespace ptd::fuzz {
namespace {

constexpr std::size_t prefix_bytes = 4;

// The frame that the library makes, and that it gives the same bytes back.
void encode_and_decode(Encoding encoding, Bytes raw) {
  segment::ChunkEncoder encoder;
  const auto stored = encoder.encode(encoding, raw);
  require_success(stored, "every chunk can be encoded");
  require(!stored->empty() && stored->size() <= raw.size(), "no chunk grows");
  if (stored->size() < raw.size()) {
    require_success(segment::check_frame(*stored, raw.size()), "the encoder's frames obey the grammar");
    require(segment::is_literals_profile(*stored, raw.size(), plane_width(encoding)),
            "the encoder's frames are of the literals-only profile");
  }
  std::vector<std::byte> back(raw.size(), std::byte{0xA5});
  require_success(segment::ChunkDecoder().decode(encoding, *stored, back), "what was encoded is decoded");
  require(std::ranges::equal(back, raw), "a chunk comes back as it was");
}

bool decode(Encoding encoding, Bytes stored, MutableBytes raw) {
  const bool done = succeeded(segment::ChunkDecoder().decode(encoding, stored, raw));
  const bool is_frame = succeeded(segment::check_frame(stored, raw.size()));
  if (done && stored.size() != raw.size()) require(is_frame, "only frames of the grammar are decoded");
  if (is_frame) segment::is_literals_profile(stored, raw.size(), plane_width(encoding));
  return done;
}

// Decoding is a function of the stored bytes alone.
void decode_twice(Encoding encoding, Bytes stored, std::size_t raw_size) {
  std::vector<std::byte> first(raw_size, std::byte{0xA5});
  std::vector<std::byte> second(raw_size, std::byte{0x5A});
  const bool done = decode(encoding, stored, first);
  require(decode(encoding, stored, second) == done, "decoding is deterministic");
  if (!done) return;
  require(std::ranges::equal(first, second), "decoding fills every byte");
  encode_and_decode(encoding, first);
}

void run(Bytes input) {
  if (input.size() <= prefix_bytes) return;
  const auto head = wire::load<std::uint32_t>(input, 0);
  if (!is_encoding(head & 0xFF)) return;
  const auto encoding = static_cast<Encoding>(head & 0xFF);
  const auto stored = input.subspan(prefix_bytes);
  // A few bytes can claim 16 MiB; most runs should not spend their time on that.
  const std::size_t raw_size = std::min<std::size_t>(1 + (head >> 8), (1 << 17) + 64 * stored.size());
  const std::size_t width = plane_width(encoding);
  if (raw_size % width == 0) decode_twice(encoding, stored, raw_size);
  if (stored.size() >= width) encode_and_decode(encoding, stored.first(stored.size() / width * width));
}

}  // namespace

// Two decoders and one encoder with a zstd context each, and buffers of twice the raw size.
Target chunk_target() { return {"chunk", run, {16 << 20, 1024}}; }

}  // namespace ptd::fuzz
