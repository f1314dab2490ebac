// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Whatever happens to a file, it is never called PTD unless it begins as PTD does.
#include <gtest/gtest.h>

#include <random>

#include "tests/kind_samples.hpp"

namespace ptd::foreign {
namespace {

using Random = std::mt19937_64;

/// What detection takes for PTD, said a second time: room for a header, the eight bytes of the magic, and a
/// header size (a number at byte 12, 80 in version 1) that is not 80 in the other byte order. Whether the
/// rest of the header is any good is the reader's to say: a damaged PTD file is one.
bool begins_as_ptd(std::string_view file) {
  constexpr unsigned char magic[] = {0x89, 'P', 'T', 'D', '\r', '\n', 0x1A, '\n'};
  if (file.size() < 80) return false;
  for (std::size_t i = 0; i < std::size(magic); ++i)
    if (static_cast<unsigned char>(file[i]) != magic[i]) return false;
  return file.substr(12, 4) != std::string_view("\0\0\0\x50", 4);
}

std::size_t below(Random& random, std::size_t limit) {
  return limit == 0 ? 0 : static_cast<std::size_t>(random() % limit);
}

void flip_bits(std::string& file, Random& random) {
  for (std::size_t count = 1 + below(random, 4); count > 0 && !file.empty(); --count) {
    auto& byte = file[below(random, std::min<std::size_t>(file.size(), 1 + below(random, 200)))];
    byte = static_cast<char>(static_cast<unsigned char>(byte) ^ (1U << below(random, 8)));
  }
}

void cut(std::string& file, Random& random) { file.resize(below(random, file.size() + 1)); }

void cut_front(std::string& file, Random& random) {
  file.erase(0, below(random, std::min<std::size_t>(file.size() + 1, 100)));
}

void prefix(std::string& file, Random& random) {
  std::string front(1 + below(random, 16), '\0');
  for (auto& byte : front) byte = static_cast<char>(random());
  file.insert(0, front);
}

void overwrite_front(std::string& file, Random& random) {
  for (std::size_t i = 0; i < std::min<std::size_t>(file.size(), 1 + below(random, 12)); ++i)
    file[i] = static_cast<char>(random());
}

/// The front of one file and the rest of another.
void splice(std::string& file, Random& random, const std::vector<std::string>& others) {
  const auto& other = others[below(random, others.size())];
  file.resize(std::min(file.size(), below(random, 40)));
  file += other.substr(std::min(other.size(), file.size()));
}

std::string mutant(std::string file, Random& random, const std::vector<std::string>& all) {
  switch (random() % 6) {
    case 0:
      flip_bits(file, random);
      break;
    case 1:
      cut(file, random);
      break;
    case 2:
      cut_front(file, random);
      break;
    case 3:
      prefix(file, random);
      break;
    case 4:
      overwrite_front(file, random);
      break;
    default:
      splice(file, random, all);
  }
  return file;
}

FileKind kind_of(std::string_view file) { return detect(bytes_of(file), file.size()).kind; }

TEST(DetectKinds, EachHasASampleThatIsNamed) {
  const auto samples = kind_samples();
  for (unsigned i = 0; i <= static_cast<unsigned>(FileKind::unknown); ++i) {
    const auto kind = static_cast<FileKind>(i);
    ASSERT_TRUE(samples.contains(kind)) << "no sample of " << kind_name(kind);
    EXPECT_EQ(kind_name(kind_of(samples.at(kind))), kind_name(kind));
  }
}

TEST(DetectKinds, TheOracleKnowsAGoodFile) {
  EXPECT_TRUE(begins_as_ptd(real_ptd()));
  EXPECT_FALSE(begins_as_ptd(real_ptd().substr(0, 79)));
}

TEST(DetectMutants, NoneIsCalledPtd) {
  std::vector<std::string> files;
  for (const auto& [kind, file] : kind_samples()) files.push_back(file);
  Random random(20);
  std::size_t ptd = 0;
  for (int i = 0; i < 10'000; ++i) {
    const auto& parent = files[static_cast<std::size_t>(i) % files.size()];
    const auto file = mutant(parent, random, files);
    ASSERT_EQ(kind_of(file) == FileKind::ptd, begins_as_ptd(file)) << i << ": " << kind_name(kind_of(file));
    ptd += begins_as_ptd(file) ? 1U : 0U;
  }
  // Most mutants of a PTD file are PTD still, and those of the others hardly ever.
  EXPECT_LT(ptd, 10'000 / files.size() * 2);
}

TEST(DetectMutants, NeitherIsNoise) {
  Random random(21);
  for (int i = 0; i < 10'000; ++i) {
    std::string file(below(random, 400), '\0');
    for (auto& byte : file) byte = static_cast<char>(random());
    ASSERT_NE(kind_of(file), FileKind::ptd);
  }
}

// What two formats share at their beginnings must not make one of the other.
TEST(DetectMutants, OneByteOfTheMagicIsEnoughToLoseIt) {
  const auto whole = real_ptd();
  for (std::size_t at = 0; at < 8; ++at)
    for (unsigned value = 0; value < 256; ++value) {
      auto file = whole;
      if (static_cast<unsigned char>(file[at]) == value) continue;
      file[at] = static_cast<char>(value);
      ASSERT_NE(kind_of(file), FileKind::ptd) << at << " " << value;
    }
}

}  // namespace
}  // namespace ptd::foreign
