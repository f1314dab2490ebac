// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// The index of a sharded safetensors model.
#include <gtest/gtest.h>

#include "foreign/safetensors.hpp"
#include "tests/foreign_samples.hpp"

namespace ptd::foreign {
namespace {

using enum ErrorCode;
using namespace std::string_literals;
using Tensors = std::vector<std::pair<std::string, std::uint32_t>>;
using Strings = std::vector<std::string>;

Result<SafetensorsIndex> index(std::string_view json) { return parse_safetensors_index(bytes_of(json)); }

Result<SafetensorsIndex> index_with_shard(std::string_view json_shard) {
  return index(R"({"weight_map":{"a":")" + std::string(json_shard) + "\"}}");
}

TEST(SafetensorsIndex, ReadsShardsAndTensorsInOrder) {
  const auto read =
      index(R"({"metadata":{"total_size":12,"note":"x"},"weight_map":{)"
            R"("c":"s-2.safetensors","a":"s-1.safetensors","b":"s-2.safetensors"},"other":[{}]})")
          .value();
  EXPECT_EQ(read.shards, (Strings{"s-1.safetensors", "s-2.safetensors"}));
  EXPECT_EQ(read.tensors, (Tensors{{"a", 0}, {"b", 1}, {"c", 1}}));
  const std::vector<std::pair<std::string, std::string>> metadata{{"note", "x"}, {"total_size", "12"}};
  EXPECT_EQ(read.metadata, metadata);
}

TEST(SafetensorsIndex, MetadataMayBeAbsentOrNull) {
  EXPECT_TRUE(index(R"({"weight_map":{}})").value().shards.empty());
  EXPECT_TRUE(index(R"({"metadata":null,"weight_map":{}})"));
  EXPECT_EQ(index(R"({"metadata":{"o":{"k":[1,"x"]}},"weight_map":{}})").value().metadata[0].second,
            R"({"k":[1,"x"]})");
}

TEST(SafetensorsIndex, NeedsAWeightMap) {
  EXPECT_TRUE(refuses(index("{}"), foreign_input, "weight_map", "no weight_map"));
  EXPECT_TRUE(refuses(index(R"({"x":{"weight_map":{}}})"), foreign_input, "weight_map", "no weight_map"));
  EXPECT_TRUE(refuses(index(R"({"weight_map":[]})"), foreign_input, "weight_map", "an array"));
  EXPECT_TRUE(refuses(index(R"({"weight_map":null})"), foreign_input, "weight_map", "null"));
  EXPECT_TRUE(refuses(index(R"({"weight_map":{},"metadata":"x"})"), foreign_input, "metadata", "a string"));
  EXPECT_TRUE(refuses(index(R"([{"weight_map":{}}])"), foreign_input, "", "an array"));
  EXPECT_FALSE(index(""));
  EXPECT_FALSE(index("\"weight_map\""));
}

TEST(SafetensorsIndex, ShardsAreStrings) {
  EXPECT_TRUE(refuses(index(R"({"weight_map":{"a":1}})"), foreign_input, "a", "a number as the shard"));
  EXPECT_TRUE(refuses(index(R"({"weight_map":{"a":["x"]}})"), foreign_input, "a", "an array as the shard"));
  EXPECT_TRUE(refuses(index(R"({"weight_map":{"a":null}})"), foreign_input, "a", "null as the shard"));
}

TEST(SafetensorsIndex, ShardsStayInTheFolder) {
  for (const auto* const good : {"a.safetensors", "sub/a.safetensors", "a..b", "...", ".hidden"})
    EXPECT_TRUE(index_with_shard(good)) << good;
  for (const auto* const bad : {"", "..", "../a", "a/../b", "a/..", "/a", "/", "a/", "a//b", ".", "./a",
                                R"(a\\b)", "C:/a", R"(a\u0000b)"})
    EXPECT_EQ(index_with_shard(bad).error().code, foreign_input) << bad;
  EXPECT_TRUE(refuses(index_with_shard("../a"), foreign_input, "../a", R"(tensor "a" into "../a")"));
}

TEST(SafetensorsIndex, RefusesDuplicates) {
  EXPECT_TRUE(
      refuses(index(R"({"weight_map":{"a":"x","a":"y"}})"), duplicate, "a", R"(duplicate tensor name "a")"));
  EXPECT_TRUE(refuses(index(R"({"weight_map":{},"weight_map":{}})"), duplicate, "weight_map", "twice"));
  EXPECT_FALSE(index(R"({"weight_map":{},"x":{"y":1,"y":1}})"));
}

TEST(SafetensorsIndex, RefusesBadText) {
  EXPECT_TRUE(refuses(index(R"({"weight_map":{"a\u0000":"x"}})"), unsupported_input, "a\0"s, "NUL"));
  EXPECT_TRUE(refuses(index("{\"weight_map\":{\"a\":\"\xff\"}}"), foreign_input, "", "UTF-8"));
  EXPECT_TRUE(refuses(index(R"({"weight_map":{"a":)"), foreign_input, "", "ends in the middle"));
  EXPECT_FALSE(index("{\"weight_map\":{}}\0"s));
  EXPECT_FALSE(index(R"({"weight_map":{}} x)"));
}

}  // namespace
}  // namespace ptd::foreign
