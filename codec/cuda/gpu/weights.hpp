// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// The description of a Huffman code: the weight of each symbol, stored as half bytes or coded with FSE
// (RFC 8878, 4.2.1 and 4.1).
#pragma once

#include "cuda/gpu/frame.hpp"

namespace ptd::cuda::gpu {

/// The longest code of the RFC. libzstd also reads codes of 12 bits, which no writer makes.
inline constexpr std::uint32_t max_code_bits = 11;
inline constexpr std::uint32_t max_symbols = 256;

/// The most bytes that describe weights, without the byte that says how.
inline constexpr std::uint32_t max_tree_bytes = 128;

/// The FSE table that weights are coded with: at most 6 bits of accuracy.
struct FseTable {
  static constexpr std::uint32_t max_accuracy = 6;
  static constexpr std::uint32_t max_states = 1 << max_accuracy;

  std::uint32_t accuracy;
  std::int32_t probabilities[max_code_bits + 1];
  std::uint8_t symbols[max_states];
  std::uint8_t bits[max_states];
  std::uint8_t bases[max_states];
};

/// Bits from the first byte on, lowest first. Behind the end are zeros; whether they were read is asked once,
/// at the end.
struct ForwardBits {
  Cursor bytes;
  std::uint32_t position = 0;

  [[nodiscard]] PTD_HD std::uint32_t byte(std::uint32_t index) const {
    return index < bytes.left() ? bytes.at[index] : 0;
  }
  /// At most 9.
  [[nodiscard]] PTD_HD std::uint32_t peek(std::uint32_t count) const {
    const std::uint32_t at = position / 8;
    return (byte(at) | byte(at + 1) << 8) >> position % 8 & ((1U << count) - 1);
  }
  PTD_HD std::uint32_t read(std::uint32_t count) {
    const std::uint32_t number = peek(count);
    position += count;
    return number;
  }
};

/// Bits from the last one on, the highest first. The highest bit that is set in the last byte marks the end
/// and is none of them.
struct BackwardBits {
  const std::uint8_t* bytes;
  std::uint32_t left = 0;

  [[nodiscard]] PTD_HD bool open(const Cursor& stream) {
    if (stream.left() == 0 || stream.end[-1] == 0) return false;
    bytes = stream.at;
    left = 8 * (stream.left() - 1) + highest_bit(stream.end[-1]);
    return true;
  }
  /// At most 8, and no more than are left.
  PTD_HD std::uint32_t read(std::uint32_t count) {
    if (count == 0) return 0;
    const std::uint32_t low = left - count, high = left - 1;
    left = low;
    const std::uint32_t pair = bytes[low / 8] | static_cast<std::uint32_t>(bytes[high / 8]) << 8;
    // Where both bits lie in one byte, its copy above is masked away.
    return pair >> low % 8 & ((1U << count) - 1);
  }
};

/// One probability of a description, whose sum `remaining` is left to share out, plus 1.
PTD_HD std::int32_t read_probability(ForwardBits& bits, std::uint32_t remaining) {
  const std::uint32_t width = highest_bit(remaining) + 1;
  const std::uint32_t half = 1U << (width - 1);
  const std::uint32_t short_ones = 2 * half - 1 - remaining;  // values that take a bit less
  std::uint32_t value = bits.peek(width - 1);
  if (value < short_ones) {
    bits.position += width - 1;
  } else {
    value = bits.read(width);
    if (value >= half) value -= short_ones;
  }
  return static_cast<std::int32_t>(value) - 1;
}

/// Reads the probabilities of the weights; leaves the cursor behind them.
PTD_HD Verdict read_probabilities(Cursor& bytes, FseTable& table) {
  ForwardBits bits{bytes};
  table.accuracy = 5 + bits.read(4);
  if (table.accuracy > FseTable::max_accuracy) return Verdict::damaged;
  for (auto& probability : table.probabilities) probability = 0;
  std::uint32_t remaining = (1U << table.accuracy) + 1;
  std::uint32_t symbol = 0;
  bool is_known = true;
  while (remaining > 1 && symbol < max_symbols) {
    const std::int32_t probability = read_probability(bits, remaining);
    remaining -= probability < 0 ? 1 : static_cast<std::uint32_t>(probability);
    if (symbol <= max_code_bits)
      table.probabilities[symbol] = probability;
    else if (probability != 0)
      is_known = false;  // a weight that no code of 11 bits has
    ++symbol;
    for (std::uint32_t more = probability == 0 ? 3 : 0; more == 3 && symbol < max_symbols; symbol += more)
      more = bits.read(2);
  }
  const std::uint32_t used = (bits.position + 7) / 8;
  Cursor taken{};
  if (remaining != 1 || symbol > max_symbols || !bytes.take(used, taken)) return Verdict::damaged;
  return is_known ? Verdict::ok : Verdict::doubtful;
}

/// Deals the states out to the symbols: rare ones from the top down, the others in wide steps.
PTD_HD void spread_symbols(FseTable& table) {
  const std::uint32_t states = 1U << table.accuracy;
  const std::uint32_t step = states / 2 + states / 8 + 3;
  std::uint32_t top = states;
  for (std::uint32_t symbol = 0; symbol <= max_code_bits; ++symbol)
    if (table.probabilities[symbol] < 0) table.symbols[--top] = static_cast<std::uint8_t>(symbol);
  std::uint32_t at = 0;
  for (std::uint32_t symbol = 0; symbol <= max_code_bits; ++symbol)
    for (std::int32_t i = 0; i < table.probabilities[symbol]; ++i) {
      table.symbols[at] = static_cast<std::uint8_t>(symbol);
      do at = (at + step) & (states - 1);
      while (at >= top);
    }
}

/// Fills the table from probabilities that sum up to its size.
PTD_HD void build_fse(FseTable& table) {
  const std::uint32_t states = 1U << table.accuracy;
  spread_symbols(table);
  for (auto& probability : table.probabilities)
    if (probability < 0) probability = 1;
  for (std::uint32_t state = 0; state < states; ++state) {
    const auto next = static_cast<std::uint32_t>(table.probabilities[table.symbols[state]]++);
    const std::uint32_t bits = table.accuracy - highest_bit(next);
    table.bits[state] = static_cast<std::uint8_t>(bits);
    table.bases[state] = static_cast<std::uint8_t>((next << bits) - states);
  }
}

/// Decodes weights with two states that take turns, until a state asks for bits that are not there.
PTD_HD Verdict decode_fse(const FseTable& table, BackwardBits bits, std::uint8_t* weights,
                          std::uint32_t& count) {
  if (bits.left < 2 * table.accuracy) return Verdict::doubtful;
  std::uint32_t state = bits.read(table.accuracy);
  std::uint32_t other = bits.read(table.accuracy);
  for (count = 0; count + 2 < max_symbols;) {
    weights[count++] = table.symbols[state];
    const std::uint32_t wanted = table.bits[state];
    if (wanted > bits.left) {
      weights[count++] = table.symbols[other];
      return Verdict::ok;
    }
    const std::uint32_t next = table.bases[state] + bits.read(wanted);
    state = other;
    other = next;
  }
  return Verdict::damaged;
}

PTD_HD Verdict read_coded_weights(Cursor bytes, FseTable& table, std::uint8_t* weights,
                                  std::uint32_t& count) {
  const Verdict verdict = read_probabilities(bytes, table);
  if (verdict != Verdict::ok) return verdict;
  BackwardBits bits{};
  if (!bits.open(bytes)) return Verdict::damaged;
  build_fse(table);
  return decode_fse(table, bits, weights, count);
}

PTD_HD Verdict read_direct_weights(const Cursor& bytes, std::uint32_t count, std::uint8_t* weights) {
  std::uint32_t greatest = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t pair = bytes.at[i / 2];
    const std::uint32_t weight = i % 2 == 0 ? pair >> 4 : pair & 15;
    weights[i] = static_cast<std::uint8_t>(weight);
    if (weight > greatest) greatest = weight;
  }
  if (greatest <= max_code_bits) return Verdict::ok;
  return greatest == max_code_bits + 1 ? Verdict::doubtful : Verdict::damaged;
}

/// Takes the bytes that describe the weights, and the byte before them, which says how many there are or how
/// long their code is.
PTD_HD bool take_tree(Cursor& coded, std::uint32_t& kind, Cursor& tree) {
  std::uint64_t byte = 0;
  if (!coded.take_number(1, byte)) return false;
  kind = static_cast<std::uint32_t>(byte);
  return coded.take(kind < 128 ? kind : (kind - 126) / 2, tree);
}

/// Reads all weights but the last, which follows from them. `weights` has room for 255.
PTD_HD Verdict read_weights(std::uint32_t kind, const Cursor& tree, FseTable& table, std::uint8_t* weights,
                            std::uint32_t& count) {
  if (kind < 128) return read_coded_weights(tree, table, weights, count);
  count = kind - 127;
  return read_direct_weights(tree, count, weights);
}

}  // namespace ptd::cuda::gpu
