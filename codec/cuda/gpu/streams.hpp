// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Decoding of Huffman streams, one thread a stream. Such a thread waits most of its time, each lookup for the
// one before it. So what counts is how few lookups there are, and that nothing else is waited for: a lookup
// gives up to three symbols, the stream's bytes are brought near by threads that would idle, and bytes are
// written four at a time.
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

/// Brings a stream's bytes to its ring, from the end on: what lies at an address comes to the same place
/// modulo the size of the ring. All members of a group take part, so that none waits for memory alone.
template <class Team>
class Feeder {
 public:
  static constexpr std::uint32_t portion_bytes = 128;

  /// Fills all of the ring but a portion.
  PTD_HD Feeder(const Team& team, const Cursor& frame, const std::uint8_t* end, std::uint32_t* ring)
      : team_(team), frame_(frame), ring_(ring) {
    low_ = (reinterpret_cast<std::uintptr_t>(end) + portion_bytes - 1) / portion_bytes * portion_bytes;
    for (std::uint32_t i = 0; i + 1 < ring_bytes / portion_bytes; ++i) {
      fetch(low_);
      land();
    }
  }

  /// Asks for the next portion, if there is room for it beside what is not read yet, below `unread`.
  PTD_HD void fetch(std::uintptr_t unread) {
    is_fetched_ = unread - low_ <= ring_bytes - portion_bytes;
    for (std::uint32_t i = 0; is_fetched_ && i < lines; ++i) lines_[i] = load_line(place(i), frame_);
  }
  /// Puts it into the ring.
  PTD_HD void land() {
    for (std::uint32_t i = 0; is_fetched_ && i < lines; ++i)
      *reinterpret_cast<Line*>(ring_ + place(i) / 4 % ring_words) = lines_[i];
    if (is_fetched_) low_ -= portion_bytes;
  }

 private:
  static constexpr std::uint32_t lines = portion_bytes / sizeof(Line) / Team::group_size;

  [[nodiscard]] PTD_HD std::uintptr_t place(std::uint32_t line) const {
    return low_ - portion_bytes + (line * Team::group_size + team_.group_rank()) * sizeof(Line);
  }

  const Team& team_;
  Cursor frame_;
  std::uint32_t* ring_;
  std::uintptr_t low_;  ///< the lowest address in the ring
  bool is_fetched_ = false;
  Line lines_[lines];
};

/// A stream's bits, from its end on. Words also hold the frame's bytes before the stream; `left` says how
/// many bits are the stream's own.
class StreamBits {
 public:
  /// The last byte, which marks the end, is not 0; the ring has it.
  PTD_HD void open(const Cursor& stream, const std::uint32_t* ring) {
    const auto last = reinterpret_cast<std::uintptr_t>(stream.end) - 1;
    const std::uint32_t mark = highest_bit(stream.end[-1]);
    left = 8 * (stream.left() - 1) + mark;
    ring_ = ring;
    address_ = last & ~std::uintptr_t{3};
    valid_ = static_cast<std::uint32_t>(last & 3) * 8 + mark;
    window_ = valid_ == 0 ? 0 : static_cast<std::uint64_t>(word()) << (64 - valid_);
    address_ -= 4;
    next_ = word();
  }

  /// Makes at least 32 bits valid.
  PTD_HD void refill() {
    if (valid_ > 32) return;
    window_ |= static_cast<std::uint64_t>(next_) << (32 - valid_);
    valid_ += 32;
    address_ -= 4;
    next_ = word();
  }
  [[nodiscard]] PTD_HD std::uint32_t next_11() const { return static_cast<std::uint32_t>(window_ >> 53); }
  PTD_HD void drop(std::uint32_t bits) {
    window_ <<= bits;
    valid_ -= bits;
    left -= bits;
  }
  /// The address below which nothing was read.
  [[nodiscard]] PTD_HD std::uintptr_t unread() const { return address_; }

  std::uint32_t left = 0;

 private:
  [[nodiscard]] PTD_HD std::uint32_t word() const { return ring_[address_ / 4 % ring_words]; }

  const std::uint32_t* ring_ = nullptr;
  std::uintptr_t address_ = 0;  ///< of the next word
  std::uint32_t next_ = 0;      ///< that word: asked for long before it is needed
  std::uint64_t window_ = 0;    ///< the next bits, from the highest on
  std::uint32_t valid_ = 0;     ///< how many
};

/// Where decoded bytes go: four at a time, once they are at a multiple of 4.
class ByteSink {
 public:
  PTD_HD explicit ByteSink(std::uint8_t* to) : at_(to) {}

  [[nodiscard]] PTD_HD bool is_at_word() const { return is_aligned(at_, 4); }
  /// One byte, while none is pending.
  PTD_HD void put_byte(std::uint32_t byte) { *at_++ = static_cast<std::uint8_t>(byte); }
  /// Up to three bytes, the first in the lowest place; zeros above them.
  PTD_HD void put(std::uint32_t bytes, std::uint32_t count) {
    pending_ |= static_cast<std::uint64_t>(bytes) << (8 * count_);
    count_ += count;
    if (count_ < 4) return;
    *reinterpret_cast<std::uint32_t*>(at_) = static_cast<std::uint32_t>(pending_);
    at_ += 4;
    pending_ >>= 32;
    count_ -= 4;
  }
  /// Writes what is pending.
  PTD_HD void flush() {
    for (; count_ != 0; --count_, pending_ >>= 8) put_byte(static_cast<std::uint32_t>(pending_ & 0xFF));
  }

 private:
  std::uint8_t* at_;
  std::uint64_t pending_ = 0;
  std::uint32_t count_ = 0;
};

/// One stream while it is decoded, by the leader of its group. Its last bit must be its last symbol's: if it
/// runs out of bits, or some are left, its end is loose.
class StreamDecoder {
 public:
  /// Lookups of a round, in pairs: the most that the ring surely has bits for, with some to spare.
  static constexpr std::uint32_t pairs = 24;

  PTD_HD StreamDecoder(const Room& room, std::uint32_t code_bits, const Cursor& stream, std::uint32_t group,
                       std::uint8_t* to, std::uint32_t count)
      : room_(room), code_bits_(code_bits), sink_(to), count_(count) {
    bits_.open(stream, room.rings[group]);
    while (!sink_.is_at_word() && count_ != 0 && !is_loose_) step_single();
  }

  PTD_HD void round() {
    if (count_ >= 6 * pairs && bits_.left >= 2 * max_code_bits * pairs) {
      for (std::uint32_t i = 0; i < pairs; ++i) step_pair();
      return;
    }
    for (std::uint32_t i = 0; i < pairs; ++i) {
      if (count_ < 6 || bits_.left < 2 * max_code_bits) return finish();
      step_pair();
    }
  }
  [[nodiscard]] PTD_HD bool is_done() const { return is_done_; }
  [[nodiscard]] PTD_HD bool is_loose() const { return is_loose_; }
  [[nodiscard]] PTD_HD std::uintptr_t unread() const { return bits_.unread(); }

 private:
  // Two lookups whose bits are surely there, and whose symbols surely fit.
  PTD_HD void step_pair() {
    bits_.refill();
    step();
    step();
  }
  PTD_HD void step() {
    const std::uint32_t entry = room_.triples[bits_.next_11()];
    bits_.drop(entry >> 24 & 15);
    sink_.put(entry & 0xFFFFFF, entry >> 28);
    count_ -= entry >> 28;
  }
  // Before the stream's first bit there are others, so that bits are masked where fewer than 11 are left.
  PTD_HD void step_single() {
    bits_.refill();
    std::uint32_t next = bits_.next_11();
    if (bits_.left < max_code_bits) next &= ~0U << (max_code_bits - bits_.left);
    const std::uint32_t symbol = room_.triples[next] & 0xFF;
    const std::uint32_t length = code_bits_ + 1 - room_.weights[symbol];
    is_loose_ = length > bits_.left;
    if (is_loose_) return;
    bits_.drop(length);
    sink_.put_byte(symbol);
    --count_;
  }
  PTD_HD void finish() {
    sink_.flush();
    while (count_ != 0 && !is_loose_) step_single();
    is_loose_ = is_loose_ || bits_.left != 0;
    is_done_ = true;
  }

  const Room& room_;
  std::uint32_t code_bits_;
  StreamBits bits_;
  ByteSink sink_;
  std::uint32_t count_;  ///< bytes that are still to come
  bool is_done_ = false;
  bool is_loose_ = false;
};

/// Decodes a stream a group, round by round: while the leader decodes, the next bytes are on their way.
/// Members of groups without a stream (an empty cursor) take part in nothing but the waiting.
template <class Team>
PTD_HD bool decode_streams(const Team& team, Room& room, std::uint32_t code_bits, const Cursor& frame,
                           const Cursor& stream, std::uint8_t* to, std::uint32_t count) {
  Feeder<Team> feeder(team, frame, stream.end, room.rings[team.group()]);
  team.sync();
  const bool leads = team.group_rank() == 0 && stream.left() != 0;
  StreamDecoder decoder(room, code_bits, stream, team.group(), to, leads ? count : 0);
  while (team.any(leads && !decoder.is_done())) {
    feeder.fetch(team.leaders(decoder.unread()));
    if (leads && !decoder.is_done()) decoder.round();
    feeder.land();
    team.sync();
  }
  return !decoder.is_loose();
}

/// The parts of four streams: their sizes stand before them, but for the last one's. Or one stream.
struct Streams {
  Cursor parts[4];

  /// A stream ends in a byte that is not 0, as its highest bit that is set marks the end.
  [[nodiscard]] PTD_HD Verdict take(Cursor coded, std::uint32_t count) {
    std::uint64_t sizes[3] = {0, 0, 0};
    if (count == 4)
      for (auto& size : sizes)
        if (!coded.take_number(2, size)) return Verdict::damaged;
    for (std::uint32_t i = 0; i + 1 < count; ++i)
      if (!coded.take(static_cast<std::uint32_t>(sizes[i]), parts[i])) return Verdict::damaged;
    if (!coded.take(coded.left(), parts[count - 1])) return Verdict::damaged;
    Verdict verdict = Verdict::ok;
    for (std::uint32_t i = 0; i < count; ++i) {
      if (parts[i].left() == 0) return Verdict::damaged;
      if (parts[i].end[-1] == 0) verdict = Verdict::doubtful;
    }
    return verdict;
  }
};

/// Decodes Huffman-coded literals to `to`. Every member gets the verdict.
template <class Team>
PTD_HD Verdict decode_literals(const Team& team, const Literals& literals, const Cursor& frame, Room& room,
                               std::uint8_t* to) {
  constexpr std::uint32_t least_for_four = 6;
  if (literals.streams == 4 && literals.size < least_for_four) return Verdict::damaged;
  Cursor coded = literals.coded;
  std::uint32_t code_bits = 0;
  const Verdict built = build_tables(team, coded, room, code_bits);
  if (built != Verdict::ok) return built;
  Streams streams{};
  const Verdict found = streams.take(coded, literals.streams);
  if (found != Verdict::ok) return found;
  const std::uint32_t part = (literals.size + literals.streams - 1) / literals.streams;
  bool good = true;
  for (std::uint32_t first = 0; first < literals.streams; first += Team::groups) {
    const std::uint32_t index = first + team.group(), begin = index * part;
    const Cursor stream =
        index < literals.streams ? streams.parts[index] : Cursor{frame.at + 4, frame.at + 4};
    const std::uint32_t count = index < literals.streams ? smaller(part, literals.size - begin) : 0;
    good = decode_streams(team, room, code_bits, frame, stream, to + begin, count) && good;
  }
  return static_cast<Verdict>(team.most(static_cast<std::uint32_t>(good ? Verdict::ok : Verdict::doubtful)));
}

}  // namespace ptd::cuda::gpu
