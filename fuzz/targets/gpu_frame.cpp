// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// The GPU's decoder of frames, run on the host beside the library's. Input as that of the chunk target: the
// encoding's number, the raw size minus 1 (3 bytes, little-endian), then a frame.
#include <algorithm>

#include "cuda/gpu/on_host.hpp"
#include "segment/chunk.hpp"
#include "segment/frame.hpp"
#include "segment/planes.hpp"
#include "support/require.hpp"
#include "support/target.hpp"
#include "wire/endian.hpp"

namespace ptd::fuzz {
namespace {

using cuda::gpu::Verdict;

constexpr std::size_t prefix_bytes = 4;

struct Frame {
  Encoding encoding;
  Bytes stored;
  std::size_t raw_size;
};

struct Decoded {
  Verdict verdict;
  std::vector<std::byte> raw;
};

// Planes start as `filler`, so that bytes that were not written show.
Decoded decode(const Frame& frame, std::byte filler) {
  const unsigned width = plane_width(frame.encoding);
  std::vector<std::byte> planes(frame.raw_size, filler);
  Decoded decoded{cuda::gpu::decode_on_host(frame.stored, width, planes), {}};
  if (decoded.verdict != Verdict::ok) return decoded;
  decoded.raw.resize(frame.raw_size);
  segment::merge_planes(planes, decoded.raw, width, sign_rotated(frame.encoding));
  return decoded;
}

// A verdict is a promise about the library's.
void compare(const Frame& frame, const Decoded& mine) {
  std::vector<std::byte> librarys(frame.raw_size);
  const bool taken = succeeded(segment::ChunkDecoder().decode(frame.encoding, frame.stored, librarys));
  if (mine.verdict == Verdict::ok) {
    require(taken, "what the GPU takes, the library takes");
    require(std::ranges::equal(mine.raw, librarys), "both make the same bytes of it");
  }
  if (mine.verdict == Verdict::damaged) require(!taken, "what is damaged to the GPU, the library refuses");
  if (mine.verdict == Verdict::outside_profile && taken)
    require(!segment::is_literals_profile(frame.stored, frame.raw_size, plane_width(frame.encoding)),
            "the GPU takes all sound frames of the profile");
}

void run(Bytes input) {
  if (input.size() <= prefix_bytes) return;
  const auto head = wire::load<std::uint32_t>(input, 0);
  if (!is_encoding(head & 0xFF)) return;
  const auto stored = input.subspan(prefix_bytes);
  // A few bytes can claim 16 MiB; most runs should not spend their time on that.
  const std::size_t raw_size = std::min<std::size_t>(1 + (head >> 8), (1 << 17) + 64 * stored.size());
  const Frame frame{static_cast<Encoding>(head & 0xFF), stored, raw_size};
  if (!is_coded(frame.encoding) || stored.size() >= raw_size || raw_size % plane_width(frame.encoding) != 0)
    return;
  const Decoded mine = decode(frame, std::byte{0xA5});
  compare(frame, mine);
  const Decoded again = decode(frame, std::byte{0x5A});
  require(again.verdict == mine.verdict && again.raw == mine.raw, "decoding fills every byte");
}

}  // namespace

// A decoder with a zstd context, and buffers of a few times the raw size.
Target gpu_frame_target() { return {"gpu_frame", run, {16 << 20, 1024}}; }

}  // namespace ptd::fuzz
