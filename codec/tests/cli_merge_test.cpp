// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Why models cannot become one, and that the writer agrees where they can.
#include <gtest/gtest.h>

#include "cli/merge_conflicts.hpp"
#include "foreign/import_sinks.hpp"
#include "tests/cli_samples.hpp"

namespace ptd::cli {
namespace {

using Lines = std::vector<std::string>;
using Fill = std::function<void(Writer&)>;

/// The conflicts of models; if there are none, joining them must succeed.
Lines conflicts_of(const std::vector<Fill>& fills) {
  std::vector<Reader> files;
  std::vector<const Model*> models;
  for (const auto& fill : fills) files.push_back(model_of(fill));
  for (const auto& file : files) models.push_back(&file.model());
  Lines lines;
  for (const auto& conflict : find_conflicts(models))
    lines.push_back(std::to_string(conflict.first) + " " + std::to_string(conflict.second) + " " +
                    conflict_text(conflict));
  Writer writer;
  foreign::PtdUnion all;
  std::string failure;
  for (std::size_t i = 0; i < files.size() && failure.empty(); ++i)
    if (auto added = foreign::add_ptd(writer, files[i], std::to_string(i), all); !added)
      failure = added.error().to_string();
  Buffer target;
  if (failure.empty())
    if (auto result = writer.write(target); !result) failure = result.error().to_string();
  EXPECT_TRUE(!lines.empty() || failure.empty()) << failure;
  return lines;
}

Fill one(const std::string& name, const Buffer& data, const Put& how = {}) {
  return [=](Writer& w) { put(w, name, data, how); };
}

TEST(MergeConflicts, DisjointModelsHaveNone) {
  EXPECT_EQ(conflicts_of({one("a", noise(8)), one("b", noise(8))}), Lines());
}

TEST(MergeConflicts, EqualObjectsAreOne) {
  const Fill fill = [](Writer& w) {
    const auto blob = put_blob(w, "tokenizer", "text", "application/json");
    must(w.add_library({"lib", {{true, blob, 90, 0, VariantKind::regular, ""}}, {{"k", "v"}}}));
    put(w, "w", noise(8));
    put(w, "cache", noise(16), state());
    must(w.add_metadata({"k", "v"}));
    must(w.add_method("m", {{"k", "v"}}));
  };
  EXPECT_EQ(conflicts_of({fill, fill, fill}), Lines());
}

TEST(MergeConflicts, AllAreNamed) {
  const auto side = [](std::uint64_t seed) {
    return [=](Writer& w) {
      put(w, "a", noise(8, seed));
      put(w, "b", noise(8));
      put(w, "c", noise(8), of_dtype(seed == 1 ? DType::int8 : DType::uint8, {8}));
      put_blob(w, "blob", std::to_string(seed));
      must(w.add_metadata({"k", std::to_string(seed)}));
      must(w.add_method("m", {{"k", std::to_string(seed)}, {"only" + std::to_string(seed), ""}}));
    };
  };
  const auto lines = conflicts_of({side(1), side(2)});
  ASSERT_EQ(lines.size(), 5U);
  EXPECT_EQ(lines[0], "0 1 metadata \"k\": value \"1\" -> \"2\"");
  EXPECT_EQ(lines[1], "0 1 method \"m\": metadata \"k\" \"1\" -> \"2\"");
  EXPECT_TRUE(lines[2].starts_with("0 1 blob \"blob\": content ")) << lines[2];
  EXPECT_TRUE(lines[3].starts_with("0 1 tensor \"a\": content ")) << lines[3];
  EXPECT_EQ(lines[4], "0 1 tensor \"c\": dtype int8 -> uint8");
}

TEST(MergeConflicts, TheThirdModelMeetsTheFirst) {
  EXPECT_EQ(conflicts_of({one("a", noise(8, 1)), one("b", noise(8, 2)), one("a", noise(8, 3))}).size(), 1U);
}

TEST(MergeConflicts, MethodsJoinTheirMetadata) {
  const auto with = [](const std::string& key, const std::string& value) {
    return [=](Writer& w) { must(w.add_method("m", {{key, value}})); };
  };
  EXPECT_EQ(conflicts_of({with("a", "1"), with("b", "1"), with("a", "1")}), Lines());
  EXPECT_EQ(conflicts_of({with("a", "1"), with("b", "1"), with("b", "2")}),
            Lines({"1 2 method \"m\": metadata \"b\" \"1\" -> \"2\""}));
}

TEST(MergeConflicts, StateThatOneKeepsApart) {
  const Fill shared = [](Writer& w) { put_shared_state(w, "a", "b"); };
  const Fill apart = [](Writer& w) {
    for (const auto* name : {"a", "b"}) put(w, name, noise(16), state());
  };
  const Lines conflict{"0 1 tensor \"b\": which tensors share its memory"};
  EXPECT_EQ(conflicts_of({shared, apart}), conflict);
  EXPECT_EQ(conflicts_of({apart, shared}), conflict);
  EXPECT_EQ(conflicts_of({shared, shared}), Lines());
  EXPECT_EQ(conflicts_of({apart, apart}), Lines());
}

TEST(MergeConflicts, ImmutableStoragesMayBeOneOrTwo) {
  const Fill apart = [](Writer& w) {
    put(w, "a", noise(16));
    put(w, "b", noise(16));
  };
  const Fill shared = [](Writer& w) {
    const auto storage = must(w.add_storage(storage_of(own_memory(noise(16)))));
    for (const auto* name : {"a", "b"}) must(w.add_tensor(view_of(storage, name, 16)));
  };
  EXPECT_EQ(conflicts_of({apart, shared}), Lines());
}

Fill own(const std::string& name, const Buffer& data, bool bound) {
  return [=](Writer& w) {
    const auto method = must(w.add_method("m"));
    const auto tensor = put(w, name, data, owned_by(OwnerSpec::method(method)));
    if (bound) must(w.bind(method, tensor));
  };
}

TEST(MergeConflicts, AMethodsTensorAndTheModelsHoldTheSame) {
  EXPECT_EQ(conflicts_of({one("w", noise(8, 1)), own("w", noise(8, 1), false)}), Lines());
  for (const auto& order : {std::vector{one("w", noise(8, 1)), own("w", noise(8, 2), false)},
                            std::vector{own("w", noise(8, 2), false), one("w", noise(8, 1))}}) {
    const auto lines = conflicts_of(order);
    ASSERT_EQ(lines.size(), 1U);
    EXPECT_TRUE(lines[0].starts_with("0 1 tensor \"w\" of method \"m\" and the model: content ")) << lines[0];
  }
}

TEST(MergeConflicts, AMethodMeansOneTensorByAName) {
  const Fill models = [](Writer& w) { must(w.bind(must(w.add_method("m")), put(w, "w", noise(8)))); };
  EXPECT_EQ(conflicts_of({models, own("w", noise(8), true)}),
            Lines({"0 1 method \"m\": tensor \"w\" the model's -> its own"}));
}

TEST(MergeConflicts, LibrariesKeepTheirConstants) {
  const auto constant = [](const std::string& library, std::uint64_t seed) {
    return [=](Writer& w) {
      put(w, "_tensor_constant0", noise(8, seed),
          owned_by(OwnerSpec::library(must(w.add_library({library, {}, {}})))));
    };
  };
  EXPECT_EQ(conflicts_of({constant("a", 1), constant("b", 2)}), Lines());
  EXPECT_EQ(conflicts_of({constant("a", 1), constant("a", 2)}).size(), 1U);
}

TEST(MergeConflicts, FilesOfALaterMinorVersionAreNotCopied) {
  Writer writer;
  put(writer, "w", noise(8));
  FileEdit edit(written(writer));
  edit.header.minor = edit.model.minor = edit.layout.minor = 1;
  Writer target;
  foreign::PtdUnion all;
  EXPECT_EQ(rule_of(foreign::add_ptd(target, opened(edit.finish()), "later", all)),
            "unsupported-input EVO-5");
}

}  // namespace
}  // namespace ptd::cli
