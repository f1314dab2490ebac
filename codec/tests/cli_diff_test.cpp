// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// What differs between two models.
#include "cli/model_diff.hpp"

#include <gtest/gtest.h>

#include <chrono>

#include "tests/cli_samples.hpp"

namespace ptd::cli {
namespace {

std::vector<std::string> lines_of(const ModelDiff& diff) {
  std::vector<std::string> lines;
  for (const auto& difference : diff.differences) {
    lines.push_back(difference_line(difference));
    EXPECT_EQ(lines.back().back(), '\n');
    lines.back().pop_back();
  }
  return lines;
}

using Lines = std::vector<std::string>;

template <class Before, class After>
Lines diff_of(Before&& before, After&& after) {
  return lines_of(diff_models(model_of(before).model(), model_of(after).model()));
}

/// The differences of two models of one tensor "w".
Lines diff_of_tensors(const Buffer& a, const Put& how_a, const Buffer& b, const Put& how_b) {
  return diff_of([&](Writer& w) { put(w, "w", a, how_a); }, [&](Writer& w) { put(w, "w", b, how_b); });
}

TEST(ModelDiff, NothingDiffersFromItself) {
  const auto fill = [](Writer& w) {
    put(w, "w", noise(100));
    put_blob(w, "b", "x");
    must(w.bind(must(w.add_method("m", {{"k", "v"}})), put(w, "v", noise(8, 2))));
  };
  const auto file = model_of(fill);
  const auto diff = diff_models(file.model(), file.model());
  EXPECT_EQ(lines_of(diff), Lines());
  EXPECT_EQ(diff.summary.same.tensors, 2U);
  EXPECT_EQ(diff.summary.same.bytes, 108U);
  EXPECT_EQ(diff.summary.shared_bytes, 109U);
  EXPECT_EQ(diff.summary.after_bytes, 0U);
}

TEST(ModelDiff, HowAFileStoresSomethingMeansNothing) {
  const auto fill = [](Writer& w) { put(w, "w", soft(300'000)); };
  const auto raw = model_of(fill), packed = model_of(fill, options_of(true, 0, 14));
  ASSERT_NE(raw.file_size(), packed.file_size());
  EXPECT_EQ(lines_of(diff_models(raw.model(), packed.model())), Lines());
}

TEST(ModelDiff, TensorsComeGoAndChange) {
  EXPECT_EQ(
      diff_of(
          [](Writer& w) {
            put(w, "gone", noise(4, 1));
            put(w, "same", noise(4, 2));
            put(w, "w", noise(4, 3));
          },
          [](Writer& w) {
            put(w, "fresh", noise(5, 4));
            put(w, "same", noise(4, 2));
            put(w, "w", Buffer(4));
          }),
      Lines({"+ tensor \"fresh\": dtype uint8, sizes [5], bytes 5",
             "- tensor \"gone\": dtype uint8, sizes [4], bytes 4",
             "~ tensor \"w\": content " +
                 to_hex(model_of([](Writer& w) { put(w, "w", noise(4, 3)); }).model().contents[0].digest)
                     .substr(0, 12) +
                 " -> zeros"}));
}

TEST(ModelDiff, EveryPropertyOfATensor) {
  const auto data = noise(64);
  const auto plain = of_dtype(DType::float32, {16});
  const auto changes = [&](const Put& how) { return diff_of_tensors(data, plain, data, how); };
  EXPECT_EQ(changes(of_dtype(DType::int32, {16})), Lines({"~ tensor \"w\": dtype float32 -> int32"}));
  EXPECT_EQ(changes(of_dtype(DType::float32, {4, 4})), Lines({"~ tensor \"w\": sizes [16] -> [4, 4]"}));
  auto how = of_dtype(DType::float32, {4});
  how.offset = 3;
  EXPECT_EQ(changes(how), Lines({"~ tensor \"w\": sizes [16] -> [4], storage offset 0 -> 3"}));
  how = plain;
  how.access = Access::mutable_;
  EXPECT_EQ(changes(how), Lines({"~ tensor \"w\": access immutable -> mutable"}));
  how = plain;
  how.placement = Placement::host;
  EXPECT_EQ(changes(how), Lines({"~ tensor \"w\": placement any -> host"}));
  how = plain;
  how.size = 80;
  EXPECT_EQ(changes(how), Lines({"~ tensor \"w\": storage size 64 -> 80"}));
  how = plain;
  how.metadata = {{"k", "v"}};
  EXPECT_EQ(changes(how), Lines({"~ tensor \"w\": + metadata \"k\" \"v\""}));
}

TEST(ModelDiff, SchemesAndLogicalSizes) {
  const auto with = [](const std::string& scheme, Sizes logical) {
    return [=](Writer& w) {
      const auto storage = must(w.add_storage(storage_of(own_memory(noise(18)))));
      auto spec = view_of(storage, "w", 18);
      spec.scheme = scheme;
      spec.logical_sizes = logical;
      must(w.add_tensor(spec));
    };
  };
  EXPECT_EQ(diff_of(with("ggml.q4_0", {32}), with("ggml.q4_1", {4, 8})),
            Lines({"~ tensor \"w\": scheme ggml.q4_0 -> ggml.q4_1, logical sizes [32] -> [4, 8]"}));
}

TEST(ModelDiff, RankZeroIsNotRankOne) {
  const auto data = noise(4);
  EXPECT_EQ(diff_of_tensors(data, of_dtype(DType::float32, {1}), data, of_dtype(DType::float32, {})),
            Lines({"~ tensor \"w\": sizes [1] -> []"}));
}

TEST(ModelDiff, StridesOfDimensionsOfOneMeanNothing) {
  auto a = of_dtype(DType::uint8, {8, 1, 3, 3}), b = a;
  a.strides = Sizes{9, 1, 3, 1};
  b.strides = Sizes{9, std::uint64_t{1} << 63U, 3, 1};
  EXPECT_EQ(diff_of_tensors(noise(72), a, noise(72), b), Lines());
  b.strides = Sizes{9, 1, 1, 3};
  EXPECT_EQ(diff_of_tensors(noise(72), a, noise(72), b),
            Lines({"~ tensor \"w\": strides [9, 1, 3, 1] -> [9, 1, 1, 3]"}));
}

TEST(ModelDiff, EmptyTensorsCount) {
  EXPECT_EQ(diff_of([](Writer& w) { put(w, "marker", Buffer()); }, [](Writer&) {}),
            Lines({"- tensor \"marker\": dtype uint8, sizes [0], bytes 0"}));
}

TEST(ModelDiff, PadBitsBesideAViewAreContent) {
  EXPECT_EQ(
      diff_of_tensors(bytes({1, 2}), of_dtype(DType::uint8, {1}), bytes({1, 3}), of_dtype(DType::uint8, {1}))
          .size(),
      1U);
}

// --- renamed -------------------------------------------------------------------------------------------

TEST(ModelDiff, EqualBytesUnderAnotherNameAreARename) {
  EXPECT_EQ(diff_of([](Writer& w) { put(w, "a", noise(8)); }, [](Writer& w) { put(w, "b", noise(8)); }),
            Lines({"> tensor \"a\" -> \"b\""}));
}

TEST(ModelDiff, AnotherViewOfEqualBytesIsNone) {
  EXPECT_EQ(diff_of([](Writer& w) { put(w, "a", noise(8)); },
                    [](Writer& w) {
                      put(w, "b", noise(8), of_dtype(DType::uint8, {2, 4}));
                    })
                .size(),
            2U);
}

TEST(ModelDiff, ManyEqualTensorsPairInTheOrderOfNames) {
  const auto ones = [](const std::string& prefix, int count) {
    return [=](Writer& w) {
      for (int i = 0; i < count; ++i) put(w, prefix + std::to_string(i), bytes({1, 1}));
    };
  };
  EXPECT_EQ(diff_of(ones("a", 3), ones("b", 3)),
            Lines({"> tensor \"a0\" -> \"b0\"", "> tensor \"a1\" -> \"b1\"", "> tensor \"a2\" -> \"b2\""}));
  // Which of them went nobody can tell.
  const auto unclear = diff_models(model_of(ones("a", 3)).model(), model_of(ones("b", 2)).model());
  EXPECT_EQ(unclear.differences.size(), 5U);
  EXPECT_EQ(unclear.summary.renamed.tensors, 0U);
  EXPECT_EQ(unclear.summary.removed.tensors, 3U);
}

TEST(ModelDiff, OwnersChangeByRename) {
  const auto of_model = [](Writer& w) {
    must(w.add_method("m"));
    put(w, "w", noise(8));
  };
  const auto of_method = [](Writer& w) {
    put(w, "w", noise(8), owned_by(OwnerSpec::method(must(w.add_method("m")))));
  };
  EXPECT_EQ(diff_of(of_model, of_method), Lines({"> tensor \"w\" -> \"w\" of method \"m\""}));
  EXPECT_EQ(diff_of(of_method, of_model), Lines({"> tensor \"w\" of method \"m\" -> \"w\" of the model"}));
}

TEST(ModelDiff, NothingIsNoEvidenceOfARename) {
  EXPECT_EQ(
      diff_of([](Writer& w) { put(w, "a", Buffer()); }, [](Writer& w) { put(w, "b", Buffer()); }).size(), 2U);
}

TEST(ModelDiff, ARenamedTensorKeepsItsBindings) {
  const auto bound = [](const std::string& name) {
    return [=](Writer& w) { must(w.bind(must(w.add_method("m")), put(w, name, noise(8)))); };
  };
  EXPECT_EQ(diff_of(bound("a"), bound("b")), Lines({"> tensor \"a\" -> \"b\""}));
}

// --- memory --------------------------------------------------------------------------------------------

TEST(ModelDiff, SharedStateIsADifference) {
  const auto shared = [](Writer& w) { put_shared_state(w, "a", "b"); };
  const auto apart = [](Writer& w) {
    for (const auto* name : {"a", "b"}) put(w, name, noise(16), state());
  };
  EXPECT_EQ(diff_of(shared, apart), Lines({"~ tensor \"b\": memory shared with \"a\" -> its own"}));
  EXPECT_EQ(diff_of(apart, shared), Lines({"~ tensor \"b\": memory its own -> shared with \"a\""}));
  EXPECT_EQ(diff_of(shared, shared), Lines());
}

// --- methods, libraries, blobs, metadata ---------------------------------------------------------------

TEST(ModelDiff, BindingsComeAndGo) {
  const auto binding = [](std::vector<std::string> names) {
    return [=](Writer& w) {
      const auto method = must(w.add_method("m"));
      for (const auto* name : {"a", "b", "c"}) {
        const auto tensor = put(w, name, noise(8, static_cast<std::uint64_t>(*name)));
        if (std::ranges::find(names, name) != names.end()) must(w.bind(method, tensor));
      }
    };
  };
  EXPECT_EQ(diff_of(binding({"a", "b"}), binding({"b", "c"})),
            Lines({"~ method \"m\": - tensor \"a\"", "~ method \"m\": + tensor \"c\""}));
}

TEST(ModelDiff, NewTensorsNameTheirMethods) {
  const auto before = [](Writer& w) {
    must(w.add_method("decode"));
    must(w.add_method("prefill"));
  };
  const auto after = [](Writer& w) {
    const auto tensor = put(w, "w", noise(8));
    for (const auto* name : {"decode", "prefill"}) must(w.bind(must(w.add_method(name)), tensor));
  };
  EXPECT_EQ(diff_of(before, after),
            Lines({"+ tensor \"w\": dtype uint8, sizes [8], bytes 8, methods decode, prefill"}));
}

TEST(ModelDiff, MethodsComeAndGo) {
  EXPECT_EQ(diff_of([](Writer& w) { must(w.add_method("a")); }, [](Writer& w) { must(w.add_method("b")); }),
            Lines({"- method \"a\": tensors 0, libraries 0, blobs 0",
                   "+ method \"b\": tensors 0, libraries 0, blobs 0"}));
}

TEST(ModelDiff, BlobsAndLibraries) {
  const auto with = [](const std::string& code, std::uint32_t sm, const std::string& type) {
    return [=](Writer& w) {
      const auto blob = put_blob(w, "code", code, type);
      must(w.add_library({"lib", {{true, blob, sm, 0, VariantKind::regular, ""}}, {}}));
    };
  };
  const auto lines = diff_of(with("x", 80, "a/b"), with("yz", 90, "a/c"));
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0],
            "~ library \"lib\": - variant sm 80 ptx 0 in \"code\", + variant sm 90 ptx 0 in \"code\"");
  EXPECT_TRUE(lines[1].starts_with("~ blob \"code\": content ")) << lines[1];
  EXPECT_TRUE(lines[1].ends_with("size 1 -> 2, media type a/b -> a/c")) << lines[1];
}

TEST(ModelDiff, Metadata) {
  const auto with = [](std::vector<PairSpec> pairs) {
    return [=](Writer& w) {
      for (const auto& pair : pairs) must(w.add_metadata(pair));
    };
  };
  EXPECT_EQ(diff_of(with({{"a", "1"}, {"b", ""}, {"c", "x"}}), with({{"a", "2"}, {"c", "x"}, {"d", "y"}})),
            Lines({"~ metadata \"a\": value \"1\" -> \"2\"", "- metadata \"b\": value \"\"",
                   "+ metadata \"d\": value \"y\""}));
  EXPECT_EQ(diff_of(with({{"a", "1", ValueKind::json}}), with({{"a", "1", ValueKind::text}})),
            Lines({"~ metadata \"a\": value 1 -> \"1\""}));
  EXPECT_EQ(diff_of(with({{"a", "1", ValueKind::bytes}}), with({{"a", "2", ValueKind::bytes}})),
            Lines({"~ metadata \"a\": value 1 bytes -> 1 other bytes"}));
}

TEST(ModelDiff, OneMethodAlone) {
  const auto with = [](std::uint64_t seed) {
    return model_of([=](Writer& w) {
      must(w.bind(must(w.add_method("a")), put(w, "x", noise(8, seed))));
      must(w.bind(must(w.add_method("b")), put(w, "y", noise(8, 1))));
      must(w.add_metadata({"k", std::to_string(seed)}));
    });
  };
  const auto before = with(1), after = with(2);
  const auto of = [&](std::uint32_t method) {
    return diff_methods(before.model(), method, after.model(), method);
  };
  EXPECT_EQ(lines_of(of(0)).size(), 1U);
  EXPECT_EQ(lines_of(of(1)), Lines());
  EXPECT_EQ(of(1).summary.same.tensors, 1U);
}

TEST(ModelDiff, NamesAreEscapedInLines) {
  EXPECT_EQ(diff_of([](Writer&) {}, [](Writer& w) { put(w, "a\x1b[2J", noise(1)); }),
            Lines({"+ tensor \"a\\x1b[2J\": dtype uint8, sizes [1], bytes 1"}));
}

TEST(ModelDiff, FormatVersions) {
  Writer writer;
  put(writer, "w", noise(8));
  const auto before = written(writer);
  FileEdit edit(before);
  edit.header.minor = edit.model.minor = edit.layout.minor = 1;
  EXPECT_EQ(lines_of(diff_models(opened(before).model(), opened(edit.finish()).model())),
            Lines({"~ file: format version 1.0 -> 1.1"}));
}

// --- size ----------------------------------------------------------------------------------------------

TEST(ModelDiff, ManyTensorsTakeLinearTime) {
  constexpr int count = 100'000;
  const auto many = [](const std::string& prefix) {
    return model_of([&](Writer& w) {
      const auto method = must(w.add_method("m"));
      Put zeros;
      zeros.size = 4;
      const auto storage = must(w.add_storage(storage_of(nullptr, zeros)));
      for (int i = 0; i < count; ++i)
        must(w.bind(method, must(w.add_tensor(view_of(storage, prefix + std::to_string(i), 4)))));
    });
  };
  const auto before = many("a"), after = many("b");
  const auto start = std::chrono::steady_clock::now();
  const auto renamed = diff_models(before.model(), after.model());
  const auto same = diff_models(before.model(), before.model());
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  EXPECT_EQ(renamed.summary.renamed.tensors, static_cast<std::uint64_t>(count));
  EXPECT_TRUE(same.differences.empty());
  // Quadratic work would take minutes; the bound leaves room for sanitizers.
  EXPECT_LT(time.count(), 10);
}

}  // namespace
}  // namespace ptd::cli
