// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// SPEC.md is held to the code: its hex dump, its rule ids, its tables of errors, dtypes and limits.
// PTD_UPDATE_SPEC=1 writes the hex dump instead of comparing it.
#include <gtest/gtest.h>
#include <schema/ptd.capnp.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <ptd/ptd.hpp>
#include <regex>
#include <set>
#include <sstream>

namespace ptd {
namespace {

const std::filesystem::path root = PTD_SOURCE_DIR;

std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

const std::string& spec() {
  static const std::string text = read_text(root / "SPEC.md");
  return text;
}

std::set<std::string> matches(const std::string& text, const std::regex& pattern) {
  std::set<std::string> found;
  for (std::sregex_iterator at(text.begin(), text.end(), pattern), end; at != end; ++at)
    found.insert((*at)[1]);
  return found;
}

// --- the hex dump --------------------------------------------------------------------------------------

struct Field {
  std::size_t size;
  const char* meaning;
};

constexpr Field smallest_file[] = {
    {8, "magic"},
    {2, "major = 1"},
    {2, "minor = 0"},
    {4, "headerSize = 80"},
    {8, "requiredFeatures = 0"},
    {8, "optionalFeatures = 0"},
    {8, "layoutOffset = 80: no segments, no chunk tables"},
    {8, "layoutSize = 16"},
    {8, "modelSize = 16"},
    {8, "layoutHash, XXH3-64 of bytes 80 to 95"},
    {8, "modelHash, XXH3-64 of bytes 96 to 111"},
    {8, "headerHash, XXH3-64 of bytes 0 to 71"},
    {8, "layout, word 0: struct pointer, 1 data word, no pointers"},
    {8, "layout, word 1: major = 1, minor = 0; segments is null"},
    {8, "model, word 0: struct pointer, 1 data word, no pointers"},
    {8, "model, word 1: major = 1, minor = 0; all lists are null"},
};

std::string dump_line(Bytes bytes, std::size_t offset, const Field& field) {
  std::ostringstream out;
  char text[8];
  std::snprintf(text, sizeof text, "%3zu", offset);
  out << text << " ";
  for (std::size_t i = 0; i < 8; ++i) {
    if (i < field.size)
      std::snprintf(text, sizeof text, " %02X", std::to_integer<unsigned>(bytes[offset + i]));
    else
      std::snprintf(text, sizeof text, "   ");
    out << text;
  }
  return out.str() + "   " + field.meaning + "\n";
}

std::string make_dump() {
  std::vector<std::byte> file;
  const auto written = Writer().write(file);
  if (!written) return written.error().to_string();
  std::string out = "\n```\n";
  std::size_t offset = 0;
  for (const auto& field : smallest_file) {
    out += dump_line(file, offset, field);
    offset += field.size;
  }
  out += "```\n\nIts model id is\n`" + to_hex(written->model_id) + "`.\n";
  return offset == file.size() ? out : "the fields do not cover the file";
}

TEST(Spec, HexDumpOfTheSmallestFileIsTrue) {
  const std::string begin = "<!-- hexdump:begin -->\n", end = "<!-- hexdump:end -->";
  const auto from = spec().find(begin), to = spec().find(end);
  ASSERT_NE(from, std::string::npos);
  ASSERT_LT(from, to);
  const auto start = from + begin.size();
  const auto wanted = make_dump();
  if (std::getenv("PTD_UPDATE_SPEC") != nullptr)
    std::ofstream(root / "SPEC.md", std::ios::binary) << spec().substr(0, start) + wanted + spec().substr(to);
  else
    EXPECT_EQ(spec().substr(start, to - start), wanted) << "PTD_UPDATE_SPEC=1 writes it";
}

// --- rules ---------------------------------------------------------------------------------------------

std::set<std::string> rules_of_spec() { return matches(spec(), std::regex(R"(\| \[([A-Z]{3}-\d+)\] \|)")); }

// Rule ids as string literals of the code that enforces them.
std::map<std::string, int> rules_of_code() {
  std::map<std::string, int> rules;
  for (const char* room : {"wire", "model", "segment", "reader", "writer", "foreign"})
    for (const auto& entry : std::filesystem::directory_iterator(root / "codec" / room))
      for (const auto& rule : matches(read_text(entry.path()), std::regex(R"re("([A-Z]{3}-\d+)")re")))
        ++rules[rule];
  return rules;
}

TEST(Spec, DefinesEachRuleOnce) {
  std::map<std::string, int> count;
  const std::regex definition(R"(\[([A-Z]{3}-\d+)\])");
  for (std::sregex_iterator at(spec().begin(), spec().end(), definition), end; at != end; ++at)
    ++count[(*at)[1]];
  EXPECT_GT(count.size(), 100U);
  for (const auto& [rule, times] : count) EXPECT_EQ(times, 1) << rule;
}

TEST(Spec, HasEveryRuleThatTheCodeNames) {
  const auto known = rules_of_spec();
  for (const auto& [rule, files] : rules_of_code()) EXPECT_TRUE(known.contains(rule)) << rule;
}

TEST(Spec, EveryFileRuleWithACodeIsEnforced) {
  const auto enforced = rules_of_code();
  const std::regex row(R"(\| \[([A-Z]{3}-\d+)\] \|.*\| ([a-z-]+) \|\n)");
  int rows = 0;
  for (std::sregex_iterator at(spec().begin(), spec().end(), row), end; at != end; ++at, ++rows)
    EXPECT_TRUE((*at)[2] == "-" || enforced.contains((*at)[1])) << (*at)[1];
  EXPECT_GT(rows, 60);
}

// --- tables --------------------------------------------------------------------------------------------

TEST(Spec, ErrorTableIsThatOfTheCode) {
  for (auto code = ErrorCode::not_ptd; code <= ErrorCode::pad_bits;
       code = static_cast<ErrorCode>(static_cast<int>(code) + 1)) {
    const auto row = "| " + std::string(error_name(code)) + " | " +
                     std::string(error_class_name(error_class(code))) + " |";
    EXPECT_NE(spec().find(row), std::string::npos) << row;
  }
}

TEST(Spec, DtypeTableIsThatOfTheSchema) {
  for (const auto& row : dtype_table) {
    const std::regex line("\\| " + std::to_string(static_cast<int>(row.dtype)) + " \\| `?" +
                          std::string(row.name) + "`? \\| " + std::to_string(row.bits) + " \\|");
    EXPECT_TRUE(std::regex_search(spec(), line)) << row.name;
  }
}

}  // namespace
}  // namespace ptd
