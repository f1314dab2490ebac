// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Huffman tables and streams (RFC 8878, 4.2). A team builds a block's table together; each stream is one
// member's.
#pragma once

#include "cuda/gpu/weights.hpp"

namespace ptd::cuda::gpu {

inline constexpr std::uint32_t table_entries = 1 << max_code_bits;

/// Bytes of each stream that lie ready.
inline constexpr std::uint32_t ring_bytes = 512;
inline constexpr std::uint32_t ring_words = ring_bytes / 4;

/// Lookups of each stream between two times that all threads meet.
inline constexpr std::uint32_t round_lookups = 40;

/// What the next 11 bits say: up to three symbols. Where each field lies in an entry of the table is for the
/// decoder: shifts take their distance from the lowest five bits of a register, whatever is above.
struct Entry {
  std::uint32_t value;

  [[nodiscard]] PTD_HD std::uint32_t bits() const { return value & 31; }       ///< 1 .. 11
  [[nodiscard]] PTD_HD std::uint32_t count() const { return value >> 5 & 3; }  ///< of symbols, 1 .. 3
  [[nodiscard]] PTD_HD std::uint32_t symbol(std::uint32_t i) const { return value >> (8 + 8 * i) & 0xFF; }
};

/// What is near while streams are decoded.
struct Nearby {
  alignas(16) std::uint32_t rings[4][ring_words];  ///< each stream's bytes, by their addresses
  Entry logs[4][round_lookups];                    ///< what its lookups of a round gave
};

/// What a team needs to decode a block: shared memory on a GPU.
struct Room {
  Entry entries[table_entries];  ///< for each next 11 bits
  union {
    std::uint16_t singles[table_entries];  ///< the first symbol alone, and its bits: what entries are made of
    Nearby nearby;                         ///< afterwards
  };
  std::uint8_t weights[max_symbols];
  std::uint8_t sorted[max_symbols];  ///< symbols that have codes, by weight, then by value
  std::uint8_t tree[max_tree_bytes];
  std::uint32_t counts[max_code_bits + 1];  ///< symbols of each weight
  FseTable fse;
  std::uint32_t verdict;
  std::uint32_t symbols;
};

/// The shape of a code: its length, and where the codes of each weight begin.
struct CodeShape {
  std::uint32_t bits;
  std::uint32_t last_weight;
};

/// Counts the symbols of each weight but the last one's; one weight a member.
template <class Team>
PTD_HD void count_weights(const Team& team, Room& room) {
  for (std::uint32_t weight = team.rank(); weight <= max_code_bits; weight += team.size()) {
    std::uint32_t count = 0;
    for (std::uint32_t symbol = 0; symbol < room.symbols; ++symbol) count += room.weights[symbol] == weight;
    room.counts[weight] = count;
  }
  team.sync();
}

/// The last weight is what is missing to a power of two.
PTD_HD Verdict complete_code(const Room& room, CodeShape& shape) {
  std::uint32_t sum = 0;
  for (std::uint32_t weight = 1; weight <= max_code_bits; ++weight)
    sum += room.counts[weight] << (weight - 1);
  if (sum == 0) return Verdict::damaged;
  shape.bits = highest_bit(sum) + 1;
  const std::uint32_t missing = (1U << shape.bits) - sum;
  if ((missing & (missing - 1)) != 0) return Verdict::damaged;
  shape.last_weight = highest_bit(missing) + 1;
  const std::uint32_t longest = room.counts[1] + (shape.last_weight == 1 ? 1 : 0);
  if (longest < 2 || longest % 2 != 0) return Verdict::damaged;
  return shape.bits > max_code_bits ? Verdict::doubtful : Verdict::ok;
}

/// Sorts the symbols: each member places those of one weight.
template <class Team>
PTD_HD void sort_symbols(const Team& team, Room& room) {
  for (std::uint32_t weight = 1 + team.rank(); weight <= max_code_bits; weight += team.size()) {
    std::uint32_t place = 0;
    for (std::uint32_t less = 1; less < weight; ++less) place += room.counts[less];
    for (std::uint32_t symbol = 0; symbol < room.symbols; ++symbol)
      if (room.weights[symbol] == weight) room.sorted[place++] = static_cast<std::uint8_t>(symbol);
  }
  team.sync();
}

/// The first symbol for each 11 bits. Codes are dealt out from 0 up in the order of `sorted`.
template <class Team>
PTD_HD void fill_singles(const Team& team, Room& room, std::uint32_t code_bits) {
  const std::uint32_t spare = max_code_bits - code_bits;
  std::uint32_t weight = 1, place = 0, begin = 0;
  std::uint32_t end = room.counts[1];  // of the codes of this weight
  for (std::uint32_t entry = team.rank(); entry < table_entries; entry += team.size()) {
    const std::uint32_t code = entry >> spare;
    while (code >= end) {
      place += room.counts[weight];
      begin = end;
      ++weight;
      end += room.counts[weight] << (weight - 1);
    }
    const std::uint32_t symbol = room.sorted[place + ((code - begin) >> (weight - 1))];
    room.singles[entry] = static_cast<std::uint16_t>(symbol | (code_bits + 1 - weight) << 8);
  }
  team.sync();
}

/// As many symbols as 11 bits hold, but three at most.
PTD_HD Entry entry_of(const std::uint16_t* singles, std::uint32_t next) {
  std::uint32_t symbols = 0, bits = 0, count = 0;
  for (; count < 3; ++count) {
    const std::uint32_t single = singles[next << bits & (table_entries - 1)];
    if (bits + (single >> 8) > max_code_bits) break;
    symbols |= (single & 0xFF) << (8 * count);
    bits += single >> 8;
  }
  return {symbols << 8 | count << 5 | bits};
}

template <class Team>
PTD_HD void fill_entries(const Team& team, Room& room) {
  for (std::uint32_t next = team.rank(); next < table_entries; next += team.size())
    room.entries[next] = entry_of(room.singles, next);
  team.sync();
}

/// Takes the description of a code off the coded literals and builds its tables.
template <class Team>
PTD_HD Verdict build_tables(const Team& team, Cursor& coded, Room& room, std::uint32_t& code_bits) {
  std::uint32_t kind = 0;
  Cursor tree{};
  if (!take_tree(coded, kind, tree)) return Verdict::damaged;
  team.sync();  // the room may still be read for the block before
  for (std::uint32_t i = team.rank(); i < tree.left(); i += team.size()) room.tree[i] = tree.at[i];
  team.sync();
  if (team.rank() == 0) {
    const Cursor copy{room.tree, room.tree + tree.left()};
    room.verdict = static_cast<std::uint32_t>(read_weights(kind, copy, room.fse, room.weights, room.symbols));
  }
  team.sync();
  if (room.verdict != 0) return static_cast<Verdict>(room.verdict);
  count_weights(team, room);
  CodeShape shape{};
  const Verdict verdict = complete_code(room, shape);
  team.sync();
  if (verdict != Verdict::ok) return verdict;
  if (team.rank() == 0) {
    room.weights[room.symbols++] = static_cast<std::uint8_t>(shape.last_weight);
    ++room.counts[shape.last_weight];
  }
  team.sync();
  sort_symbols(team, room);
  fill_singles(team, room, shape.bits);
  fill_entries(team, room);
  code_bits = shape.bits;
  return Verdict::ok;
}

}  // namespace ptd::cuda::gpu
