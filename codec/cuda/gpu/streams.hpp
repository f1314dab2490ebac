// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Decoding of Huffman streams, one thread a stream. Such a thread waits most of its time, each lookup for the
// one before it. So what counts is how few lookups there are, and that the thread does nothing else: a lookup
// gives up to three symbols, and the threads that would idle bring the stream's bytes near and carry the
// symbols away.
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
    for (std::uintptr_t i = 0; i < 4; ++i) line.words[i] = load_32(at + 4 * i);
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
      : team_(team),
        frame_(frame),
        ring_(ring),
        low_((reinterpret_cast<std::uintptr_t>(end) + portion_bytes - 1) / portion_bytes * portion_bytes) {
    for (std::uint32_t i = 0; i + 1 < ring_bytes / portion_bytes; ++i) {
      fetch(static_cast<std::uint32_t>(low_));
      land();
    }
  }

  /// Asks for the next portion, if there is room for it beside what is not read yet, below `unread` (of which
  /// the lower 32 bits do).
  PTD_HD void fetch(std::uint32_t unread) {
    is_fetched_ = unread - static_cast<std::uint32_t>(low_) <= ring_bytes - portion_bytes;
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

/// A stream's bits in its ring, from the end on. Below its own there are others, of the frame before it.
class StreamBits {
 public:
  /// The stream's last byte, which marks the end, is not 0.
  PTD_HD StreamBits(const Cursor& stream, const std::uint32_t* ring)
      : left(8 * (stream.left() - 1) + highest_bit(stream.end[-1])),
        ring_(ring),
        begin_(static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(stream.at))) {}

  /// Brings the next 64 bits, from the highest on.
  PTD_HD void load() {
    const std::uint32_t end = 8 * begin_ + left, word = end / 32;
    high_ = funnel(at(word - 1), at(word), end % 32);
    low_ = funnel(at(word - 2), at(word - 1), end % 32);
  }
  [[nodiscard]] PTD_HD std::uint32_t next_11() const { return high_ >> 21; }
  /// Drops the bits of an entry of those that were brought.
  PTD_HD void drop(Entry entry) {
#ifdef __CUDA_ARCH__
    high_ = __funnelshift_l(low_, high_, entry.value);
    low_ = __funnelshift_l(0, low_, entry.value);
#else
    high_ = high_ << entry.bits() | low_ >> (32 - entry.bits());
    low_ <<= entry.bits();
#endif
    left -= entry.bits();
  }
  /// The lower 32 bits of the address below which nothing was read.
  [[nodiscard]] PTD_HD std::uint32_t unread() const { return begin_ + (left + 7) / 8; }

  std::uint32_t left;  ///< bits of the stream

 private:
  [[nodiscard]] PTD_HD std::uint32_t at(std::uint32_t word) const { return ring_[word % ring_words]; }

  const std::uint32_t* ring_;
  std::uint32_t begin_;  ///< address of the first bit's byte
  std::uint32_t high_ = 0, low_ = 0;
};

/// Lookups with one load of bits: 5 x 11 bits are less than 64.
inline constexpr std::uint32_t load_lookups = 5;
inline constexpr std::uint32_t load_bits = load_lookups * max_code_bits;
inline constexpr std::uint32_t load_symbols = load_lookups * 3;

/// Lookups whose bits are surely there, and whose symbols surely fit: at most a round's. How many there were.
PTD_HD std::uint32_t look_up(StreamBits& bits, const Entry* entries, Entry* log, std::uint32_t count) {
  std::uint32_t done = 0;
  const auto several = [&] {
    bits.load();
    for (std::uint32_t i = 0; i < load_lookups; ++i) {
      const Entry entry = entries[bits.next_11()];
      bits.drop(entry);
      log[done++] = entry;
    }
  };
  constexpr std::uint32_t loads = round_lookups / load_lookups;
  if (count >= loads * load_symbols && bits.left >= loads * load_bits) {
    while (done < round_lookups) several();
    return done;
  }
  while (done < round_lookups && count >= load_symbols && bits.left >= load_bits) {
    several();
    for (std::uint32_t i = done - load_lookups; i < done; ++i) count -= log[i].count();
  }
  return done;
}

/// The group writes the symbols of its stream's lookups; each member those of a few. How many there were.
template <class Team>
PTD_HD std::uint32_t carry_away(const Team& team, const Entry* log, std::uint32_t lookups, std::uint8_t* to) {
  constexpr std::uint32_t share = round_lookups / Team::group_size;
  const std::uint32_t first = team.group_rank() * share;
  std::uint32_t mine = 0, total = 0;
  for (std::uint32_t i = first; i < first + share; ++i) mine += i < lookups ? log[i].count() : 0;
  to += team.sum_before(mine, total);
  for (std::uint32_t i = first; i < first + share; ++i) {
    const std::uint32_t count = i < lookups ? log[i].count() : 0;
    for (std::uint32_t k = 0; k < 3; ++k)
      if (k < count) to[k] = static_cast<std::uint8_t>(log[i].symbol(k));
    to += count;
  }
  return total;
}

/// The last symbols, one by one. Where fewer than 11 bits are left, those of the frame before them are
/// masked. True if the last bit was the last symbol's.
PTD_HD bool finish_stream(StreamBits& bits, const Room& room, std::uint32_t code_bits, std::uint8_t* to,
                          std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) {
    bits.load();
    std::uint32_t next = bits.next_11();
    if (bits.left < max_code_bits) next &= ~0U << (max_code_bits - bits.left);
    const std::uint32_t symbol = room.entries[next].symbol(0);
    const std::uint32_t length = code_bits + 1 - room.weights[symbol];
    if (length > bits.left) return false;
    bits.left -= length;
    to[i] = static_cast<std::uint8_t>(symbol);
  }
  return bits.left == 0;
}

// What is written through templates looks unwritten to the check.
// NOLINTBEGIN(readability-non-const-parameter)

/// Decodes a stream a group, round by round: while the leader decodes, the next bytes are on their way.
/// Groups without a stream (an empty cursor) take part in nothing but the waiting. The leader gets whether
/// its stream is sound.
template <class Team>
PTD_HD bool decode_streams(const Team& team, Room& room, std::uint32_t code_bits, const Cursor& frame,
                           const Cursor& stream, std::uint8_t* to, std::uint32_t count) {
  Nearby& nearby = room.nearby;
  Feeder<Team> feeder(team, frame, stream.end, nearby.rings[team.group()]);
  team.sync();
  StreamBits bits(stream, nearby.rings[team.group()]);
  Entry* const log = nearby.logs[team.group()];
  bool is_open = stream.left() != 0, is_sound = true;
  while (team.any(is_open)) {
    const bool leads = is_open && team.group_rank() == 0;
    feeder.fetch(team.leaders(bits.unread()));
    std::uint32_t lookups = leads ? look_up(bits, room.entries, log, count) : 0;
    team.sync();
    lookups = team.leaders(lookups);
    const std::uint32_t written = carry_away(team, log, lookups, to);
    to += written;
    count -= written;
    is_open = is_open && lookups == round_lookups;
    if (leads && !is_open) is_sound = finish_stream(bits, room, code_bits, to, count);
    feeder.land();
    team.sync();
  }
  return is_sound;
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

// NOLINTEND(readability-non-const-parameter)

}  // namespace ptd::cuda::gpu
