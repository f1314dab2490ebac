// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Decoding of a Huffman stream, by one thread. Such a thread waits most of its time, each lookup for the one
// before it, so what counts is how few lookups there are, and that nothing else is waited for: a lookup gives
// up to three symbols, words are asked for 16 to 32 bytes ahead, and bytes are written four at a time.
#pragma once

#include "cuda/gpu/huffman.hpp"

namespace ptd::cuda::gpu {

/// 16 bytes at an address that is a multiple of 16.
struct alignas(16) Line {
  std::uint32_t words[4];
};

/// The bytes of a line that lie in the range; zeros for the others.
PTD_HD Line load_line(std::uintptr_t address, const Cursor& range) {
  const auto begin = reinterpret_cast<std::uintptr_t>(range.at);
  const auto end = reinterpret_cast<std::uintptr_t>(range.end);
  Line line{};
  if (address >= begin && address + sizeof line <= end) {
    const std::uint8_t* const at = range.at + (address - begin);
#ifdef __CUDA_ARCH__
    const uint4 all = __ldg(reinterpret_cast<const uint4*>(at));
    return {{all.x, all.y, all.z, all.w}};
#else
    for (unsigned i = 0; i < 4; ++i) line.words[i] = load_32(at + 4 * i);
    return line;
#endif
  }
  for (std::uintptr_t i = 0; i < sizeof line; ++i)
    if (address + i >= begin && address + i < end)
      line.words[i / 4] |= static_cast<std::uint32_t>(range.at[address + i - begin]) << (8 * (i % 4));
  return line;
}

/// A stream's bits, from its end on. It sees the frame's bytes before the stream, too, as words do not begin
/// where streams do; `left` says how many bits are the stream's own.
class StreamBits {
 public:
  /// False if there is no mark of the end.
  [[nodiscard]] PTD_HD bool open(const Cursor& stream, const Cursor& frame) {
    if (stream.left() == 0 || stream.end[-1] == 0) return false;
    const auto last = reinterpret_cast<std::uintptr_t>(stream.end) - 1;
    const std::uint32_t mark = highest_bit(stream.end[-1]);
    left = 8 * (stream.left() - 1) + mark;
    frame_ = frame;
    address_ = last & ~std::uintptr_t{15};
    line_ = load_line(address_, frame_);
    ahead();
    words_ = static_cast<std::uint32_t>(last & 15) / 4 + 1;
    valid_ = static_cast<std::uint32_t>(last & 3) * 8 + mark;
    const std::uint64_t word = take_word();
    window_ = valid_ == 0 ? 0 : word << (64 - valid_);
    return true;
  }

  /// Makes at least 33 bits valid.
  PTD_HD void refill() {
    while (valid_ <= 32) {
      window_ |= static_cast<std::uint64_t>(take_word()) << (32 - valid_);
      valid_ += 32;
    }
  }
  [[nodiscard]] PTD_HD std::uint32_t next_11() const { return static_cast<std::uint32_t>(window_ >> 53); }
  PTD_HD void drop(std::uint32_t bits) {
    window_ <<= bits;
    valid_ -= bits;
    left -= bits;
  }

  std::uint32_t left = 0;

 private:
  PTD_HD void ahead() {
    address_ -= sizeof(Line);
    next_ = load_line(address_, frame_);
  }
  PTD_HD std::uint32_t take_word() {
    if (words_ == 0) {
      line_ = next_;
      words_ = 4;
      ahead();
    }
    --words_;
    // Not line_.words[words_]: registers have no index.
    const std::uint32_t low = (words_ & 1) != 0 ? line_.words[1] : line_.words[0];
    const std::uint32_t high = (words_ & 1) != 0 ? line_.words[3] : line_.words[2];
    return (words_ & 2) != 0 ? high : low;
  }

  Cursor frame_;
  std::uintptr_t address_;
  Line line_, next_;
  std::uint32_t words_ = 0;   ///< of line_ that were not taken
  std::uint64_t window_ = 0;  ///< the next bits, from the highest on
  std::uint32_t valid_ = 0;   ///< how many
};

/// Where decoded bytes go: words to addresses of any alignment, of which only its own bytes are written.
class ByteSink {
 public:
  PTD_HD explicit ByteSink(std::uint8_t* to)
      : at_(to - (reinterpret_cast<std::uintptr_t>(to) & 3)),
        first_(static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(to) & 3)),
        count_(first_) {}

  /// Up to three bytes, the first in the lowest place; zeros above them.
  PTD_HD void put(std::uint32_t bytes, std::uint32_t count) {
    pending_ |= static_cast<std::uint64_t>(bytes) << (8 * count_);
    count_ += count;
    if (count_ >= 4) write_word();
  }
  PTD_HD void finish() {
    for (std::uint32_t i = first_; i < count_; ++i) at_[i] = static_cast<std::uint8_t>(pending_ >> (8 * i));
  }

 private:
  PTD_HD void write_word() {
    const auto word = static_cast<std::uint32_t>(pending_);
#ifdef __CUDA_ARCH__
    if (first_ == 0) *reinterpret_cast<std::uint32_t*>(at_) = word;
#else
    if (first_ == 0)
      for (unsigned i = 0; i < 4; ++i) at_[i] = static_cast<std::uint8_t>(word >> (8 * i));
#endif
    for (std::uint32_t i = first_; first_ != 0 && i < 4; ++i)
      at_[i] = static_cast<std::uint8_t>(word >> (8 * i));
    first_ = 0;
    at_ += 4;
    pending_ >>= 32;
    count_ -= 4;
  }

  std::uint8_t* at_;
  std::uint64_t pending_ = 0;
  std::uint32_t first_;  ///< bytes at `at_` that are not ours
  std::uint32_t count_;  ///< bytes pending, with those
};

/// A lookup whose bits are surely there, and whose symbols surely fit. How many symbols it gave.
PTD_HD std::uint32_t step(StreamBits& bits, ByteSink& sink, const std::uint32_t* triples) {
  const std::uint32_t entry = triples[bits.next_11()];
  bits.drop(entry >> 24 & 15);
  sink.put(entry & 0xFFFFFF, entry >> 28);
  return entry >> 28;
}

/// The last symbols, one by one. Behind the end of the stream is what lies before it in the frame, so that
/// bits are masked where fewer than 11 are left.
PTD_HD bool decode_rest(StreamBits& bits, ByteSink& sink, std::uint32_t count, const std::uint16_t* singles) {
  for (; count != 0; --count) {
    bits.refill();
    std::uint32_t next = bits.next_11();
    if (bits.left < max_code_bits) next &= ~0U << (max_code_bits - bits.left);
    const std::uint32_t single = singles[next];
    if (single >> 8 > bits.left) return false;
    bits.drop(single >> 8);
    sink.put(single & 0xFF, 1);
  }
  return true;
}

/// Decodes a stream to exactly `count` bytes; its last bit must be the last symbol's.
PTD_HD Verdict decode_stream(const Cursor& stream, const Cursor& frame, const Room& room, std::uint8_t* to,
                             std::uint32_t count) {
  StreamBits bits;
  if (!bits.open(stream, frame)) return Verdict::damaged;
  ByteSink sink(to);
  constexpr std::uint32_t steps = 3;
  while (count >= 3 * steps && bits.left >= steps * max_code_bits) {
    bits.refill();
    for (std::uint32_t i = 0; i < steps; ++i) count -= step(bits, sink, room.triples);
  }
  while (count >= 3 && bits.left >= max_code_bits) {
    bits.refill();
    count -= step(bits, sink, room.triples);
  }
  const bool all = decode_rest(bits, sink, count, room.singles);
  sink.finish();
  return all && bits.left == 0 ? Verdict::ok : Verdict::damaged;
}

/// The parts of four streams: their sizes stand before them, but for the last one's.
struct Streams {
  Cursor parts[4];

  [[nodiscard]] PTD_HD bool take(Cursor coded, std::uint32_t count) {
    std::uint64_t sizes[3] = {0, 0, 0};
    if (count == 1) return coded.take(coded.left(), parts[0]);
    for (auto& size : sizes)
      if (!coded.take_number(2, size)) return false;
    for (unsigned i = 0; i < 3; ++i)
      if (!coded.take(static_cast<std::uint32_t>(sizes[i]), parts[i])) return false;
    return coded.take(coded.left(), parts[3]);
  }
};

/// Decodes Huffman-coded literals to `to`. Every member gets the verdict.
template <class Team>
PTD_HD Verdict decode_literals(const Team& team, const Literals& literals, const Cursor& frame, Room& room,
                               std::uint8_t* to) {
  constexpr std::uint32_t least_for_four = 6;
  if (literals.streams == 4 && literals.size < least_for_four) return Verdict::damaged;
  Cursor coded = literals.coded;
  const Verdict built = build_tables(team, coded, room);
  if (built != Verdict::ok) return built;
  Streams streams{};
  if (!streams.take(coded, literals.streams)) return Verdict::damaged;
  const std::uint32_t part = (literals.size + literals.streams - 1) / literals.streams;
  Verdict verdict = Verdict::ok;
  for (std::uint32_t i = team.rank(); i < literals.streams; i += team.size()) {
    const std::uint32_t begin = i * part;
    const std::uint32_t size = smaller(part, literals.size - begin);
    const Verdict one = decode_stream(streams.parts[i], frame, room, to + begin, size);
    if (one > verdict) verdict = one;
  }
  return static_cast<Verdict>(team.most(static_cast<std::uint32_t>(verdict)));
}

}  // namespace ptd::cuda::gpu
