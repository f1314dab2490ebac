// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <functional>
#include <ptd/model.hpp>

#include "model/check.hpp"
#include "tests/model_samples.hpp"

namespace ptd::model {
namespace {

using samples::content_of;
using samples::rich_model;
using samples::Sample;
using samples::tensor_of;
using namespace samples::rich;

using Numbers = std::vector<std::uint64_t>;

constexpr std::uint64_t pow2(unsigned exponent) { return std::uint64_t{1} << exponent; }
constexpr std::uint64_t max64 = ~std::uint64_t{0};

/// "code rule", or "" for what is accepted.
std::string outcome(const Result<void>& result) {
  if (result) return "";
  return std::string(error_name(result.error().code)) + " " + std::string(result.error().rule);
}

using Change = std::function<void(Sample&)>;

Result<void> check_after(const Change& change, const Version& version = {}) {
  Sample sample = rich_model();
  change(sample);
  return check_model(sample.model, version);
}

/// What check_model says of the rich model after a change of the sample or of its model.
template <class Function>
std::string after(Function change) {
  if constexpr (std::is_invocable_v<Function, Model&>)
    return outcome(check_after([&](Sample& sample) { change(sample.model); }));
  else
    return outcome(check_after(change));
}

// --- What is accepted -------------------------------------------------------------------------

TEST(CheckModel, AcceptsTheEmptyModel) { EXPECT_EQ(outcome(check_model(Model{}, {})), ""); }

TEST(CheckModel, AcceptsTheRichModel) {
  const auto result = check_after([](Sample&) {});
  EXPECT_TRUE(result) << result.error().to_string();
}

TEST(CheckModel, AcceptsRandomModels) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const Sample sample = samples::random_model(seed);
    const auto result = check_model(sample.model, {});
    ASSERT_TRUE(result) << seed << ": " << result.error().to_string();
  }
}

// Else the tests with random models would be worth less than they seem.
TEST(CheckModel, RandomModelsHoldEverything) {
  std::map<std::string, int> seen;
  const auto count = [&](std::string what, bool is_there) { seen[std::move(what)] += is_there ? 1 : 0; };
  const auto count_number = [&](const char* table, std::uint64_t value) {
    ++seen[table + std::to_string(value)];
  };
  const auto count_pairs = [&](const std::vector<Pair>& pairs) {
    for (const auto& pair : pairs) {
      count_number("value kind ", samples::number(pair.kind));
      count("empty value", pair.value.empty());
    }
  };
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    const Sample sample = samples::random_model(seed);
    const Model& model = sample.model;
    count("empty model", model.tensors.empty() && model.blobs.empty());
    count("contents", !model.contents.empty());
    count_pairs(model.metadata);
    for (const auto& storage : model.storages) {
      count_number("access ", samples::number(storage.access));
      count_number("origin ", samples::number(storage.origin));
      count_number("placement ", samples::number(storage.placement));
      count("zeros", storage.is_zeros());
      count("empty storage", storage.size == 0);
    }
    for (const auto& library : model.libraries) {
      count("library without variants", library.variants.empty());
      count_pairs(library.metadata);
      for (const auto& variant : library.variants) {
        count_number("variant kind ", samples::number(variant.kind));
        count("target", !variant.target.empty());
        count("ptx", variant.ptx != 0);
        count("variant with blob", variant.blob != no_index);
        count("untargeted", variant.target.empty() && variant.sm == 0);
      }
    }
    for (std::uint32_t i = 0; i < model.methods.size(); ++i) {
      const auto& method = model.methods[i];
      count("method without tensors", method.tensors.empty());
      count("method with tensors", !method.tensors.empty());
      count("method with libraries", !method.libraries.empty());
      count("method with blobs", !method.blobs.empty());
      count_pairs(method.metadata);
    }
    for (const auto& tensor : model.tensors) {
      count_number("owner kind ", samples::number(tensor.owner.kind));
      count_number("dtype ", samples::number(tensor.dtype));
      count("rank 0", tensor.sizes.empty());
      count("rank over 40", tensor.sizes.size() > 40);
      count("empty tensor", element_count(tensor) == 0);
      count("packed", !tensor.scheme.empty());
      count("packed with logical sizes", !tensor.logical_sizes.empty());
      count("stride 0", std::ranges::count(tensor.strides, 0U) > 0);
      count("not contiguous", !is_contiguous(tensor));
      count("odd sub-byte",
            is_sub_byte(tensor.dtype) && element_count(tensor) * dtype_bits(tensor.dtype) % 8 != 0);
      count("offset", tensor.storage_offset != 0);
      count("twin", tensor.owner.kind == OwnerKind::method && model.find_tensor({}, tensor.name).has_value());
      count("longest name", tensor.name.size() == 1024);
      count_pairs(tensor.metadata);
    }
    for (const auto& blob : model.blobs) {
      count("blob with content", blob.content != no_index);
      count("empty blob", blob.size == 0);
      count("media type", !blob.media_type.empty());
      count_pairs(blob.metadata);
    }
  }
  for (const auto& [what, times] : seen) EXPECT_GE(times, 10) << what;
  for (std::size_t dtype = 1; dtype <= dtype_table.size(); ++dtype)
    EXPECT_GT(seen["dtype " + std::to_string(dtype)], 0) << dtype;
  for (const char* what :
       {"access 2", "origin 2", "placement 3", "variant kind 2", "owner kind 3", "value kind 3"})
    EXPECT_GT(seen[what], 0) << what;
}

// --- VER-1 and LIM-1 --------------------------------------------------------------------------

TEST(CheckModel, Ver1TheHeaderSaysOtherwise) {
  const Change none = [](Sample&) {};
  EXPECT_EQ(outcome(check_after(none, {2, 0, 0})), "version-mismatch VER-1");
  EXPECT_EQ(outcome(check_after(none, {1, 1, 0})), "version-mismatch VER-1");
  EXPECT_EQ(outcome(check_after(none, {1, 0, 1})), "version-mismatch VER-1");
  EXPECT_EQ(after([](Model& m) { m.required_features = pow2(31); }), "version-mismatch VER-1");
  const Change later = [](Sample& s) {
    s.model.minor = 7;
    s.model.required_features = 6;
  };
  EXPECT_EQ(outcome(check_after(later, {1, 7, 6})), "");
}

Result<void> check_counts(const std::function<void(Model&)>& grow) {
  Model model;
  grow(model);
  return check_model(model, {});
}

TEST(CheckModel, Lim1OneAboveEachCount) {
  const std::pair<const char*, std::function<void(Model&)>> cases[] = {
      {"4194305 contents", [](Model& m) { m.contents.resize(limits::max_contents + 1); }},
      {"4194305 storages", [](Model& m) { m.storages.resize(limits::max_storages + 1); }},
      {"4097 libraries", [](Model& m) { m.libraries.resize(limits::max_libraries + 1); }},
      {"4097 methods", [](Model& m) { m.methods.resize(limits::max_methods + 1); }},
      {"65537 blobs", [](Model& m) { m.blobs.resize(limits::max_blobs + 1); }},
  };
  for (const auto& [what, grow] : cases) {
    const auto result = check_counts(grow);
    ASSERT_EQ(outcome(result), "limit LIM-1") << what;
    EXPECT_NE(result.error().message.find(what), std::string::npos) << result.error().message;
  }
}

// The names are those of the numbers, so that they ascend.
std::string numbered(int i) { return std::to_string(100'000 + i); }

TEST(CheckModel, Lim1AtEachCount) {
  Sample sample;
  for (int i = 0; i < 4096; ++i) {
    sample.model.libraries.push_back({sample.text(numbered(i)), {}, {}});
    sample.model.methods.push_back({sample.text(numbered(i)), {}, {}, {}, {}});
  }
  for (int i = 0; i < 65'536; ++i)
    sample.model.blobs.push_back({sample.text(numbered(i)), 0, no_index, {}, {}});
  EXPECT_EQ(outcome(check_model(sample.model, {})), "");
}

TEST(CheckModel, Lim1Variants) {
  const auto with_variants = [](std::uint32_t count) {
    return after([=](Model& m) {
      auto& variants = m.libraries[other_library].variants;
      variants.clear();
      for (std::uint32_t i = 1; i <= count; ++i)
        variants.push_back({no_index, i, 0, VariantKind::regular, {}});
    });
  };
  EXPECT_EQ(with_variants(256), "");
  EXPECT_EQ(with_variants(257), "limit LIM-1");
}

// Counted over all lists, and refused at the list that is one too many.
TEST(CheckModel, Lim1PairsOfTheWholeFile) {
  constexpr std::size_t elsewhere = 4;  // in the rich model, outside its own list
  constexpr std::size_t length = 8;
  std::string keys;
  for (std::size_t i = 0; i <= limits::max_pairs; ++i) keys += std::to_string(10'000'000 + i);
  const auto with_pairs = [&](std::size_t count) {
    return after([&](Model& m) {
      m.metadata.clear();
      for (std::size_t i = 0; i < count; ++i)
        m.metadata.push_back({std::string_view(keys).substr(i * length, length), {}, ValueKind::text});
    });
  };
  EXPECT_EQ(with_pairs(limits::max_pairs - elsewhere), "");
  EXPECT_EQ(with_pairs(limits::max_pairs - elsewhere + 1), "limit LIM-1");
  EXPECT_EQ(after([](Model& m) { m.libraries[0].metadata.resize(limits::max_pairs + 1); }), "limit LIM-1");
}

// --- Contents and storages --------------------------------------------------------------------

TEST(CheckModel, Con1Sizes) {
  EXPECT_EQ(after([](Model& m) { m.contents[0].size = 0; }), "size CON-1");
  EXPECT_EQ(after([](Model& m) { m.contents[2].size = pow2(60) + 1; }), "size CON-1");
  EXPECT_EQ(after([](Model& m) { m.contents[2].size = max64; }), "size CON-1");
  EXPECT_EQ(after([](Model& m) { m.contents[0].size = 1; }), "");
  EXPECT_EQ(after([](Model& m) { m.contents[0].size = m.storages[bias_storage].size = pow2(60); }), "");
}

TEST(CheckModel, Con2Order) {
  EXPECT_EQ(after([](Model& m) { m.contents[1].digest = m.contents[0].digest; }), "duplicate CON-2");
  EXPECT_EQ(after([](Model& m) { std::swap(m.contents[1].digest, m.contents[2].digest); }), "order CON-2");
  // Bytes are unsigned, the first counts most, the last counts too.
  EXPECT_EQ(after([](Model& m) { m.contents[2].digest.fill(std::byte{0xFF}); }), "");
  EXPECT_EQ(after([](Model& m) { m.contents[1].digest.front() = std::byte{0x80}; }), "order CON-2");
  EXPECT_EQ(after([](Model& m) {
              m.contents[1].digest = m.contents[0].digest;
              m.contents[1].digest.back() = std::byte{0xFF};
            }),
            "");
}

TEST(CheckModel, Con3Unused) {
  EXPECT_EQ(after([](Model& m) { m.contents.push_back(content_of(1, 0x44)); }), "unreferenced CON-3");
  EXPECT_EQ(after([](Model& m) { m.storages[bias_storage].content = no_index; }), "unreferenced CON-3");
  EXPECT_EQ(after([](Model& m) { m.storages[constant_storage].content = no_index; }), "") << "a blob uses it";
  EXPECT_EQ(after([](Model& m) { m.blobs[code_blob].content = no_index; }), "") << "a storage uses it";
}

TEST(CheckModel, Sto1Sizes) {
  EXPECT_EQ(after([](Model& m) { m.storages[packed_storage].size = pow2(60); }), "");
  EXPECT_EQ(after([](Model& m) { m.storages[packed_storage].size = pow2(60) + 1; }), "size STO-1");
  EXPECT_EQ(after([](Model& m) { m.storages[packed_storage].size = max64; }), "size STO-1");
  EXPECT_EQ(after([](Model& m) { m.blobs[tokenizer].size = pow2(60); }), "");
  EXPECT_EQ(after([](Model& m) { m.blobs[tokenizer].size = pow2(60) + 1; }), "size STO-1");
}

TEST(CheckModel, Sto2NoSuchContent) {
  for (const std::uint32_t content : {3U, 0x80000000U, no_index - 1}) {
    EXPECT_EQ(after([=](Model& m) { m.storages[packed_storage].content = content; }), "reference STO-2");
    EXPECT_EQ(after([=](Model& m) { m.blobs[tokenizer].content = content; }), "reference STO-2");
  }
}

TEST(CheckModel, Sto3ContentLargerThanItsPlace) {
  EXPECT_EQ(after([](Model& m) { m.storages[bias_storage].size = 19; }), "size STO-3");
  EXPECT_EQ(after([](Model& m) { m.blobs[code_blob].size = 2; }), "size STO-3");
  EXPECT_EQ(after([](Model& m) { m.blobs[code_blob].size = 4; }), "");
}

TEST(CheckModel, Sto4Numbers) {
  for (const unsigned wrong : {0, 4, 255}) {
    EXPECT_EQ(after([=](Model& m) { m.storages[3].access = static_cast<Access>(wrong); }),
              "unlisted-number STO-4");
    EXPECT_EQ(after([=](Model& m) { m.storages[3].origin = static_cast<Origin>(wrong); }),
              "unlisted-number STO-4");
    EXPECT_EQ(after([=](Model& m) { m.storages[3].placement = static_cast<Placement>(wrong); }),
              "unlisted-number STO-4");
  }
  EXPECT_EQ(after([](Model& m) { m.storages[3].access = static_cast<Access>(3); }), "unlisted-number STO-4");
  EXPECT_EQ(after([](Model& m) { m.storages[3].origin = static_cast<Origin>(3); }), "unlisted-number STO-4");
}

TEST(CheckModel, Sto5ExternalWithContent) {
  EXPECT_EQ(after([](Model& m) { m.storages[input_storage].content = 2; }), "external STO-5");
}

TEST(CheckModel, Sto6OrderOfFirstReference) {
  EXPECT_EQ(after([](Model& m) { m.tensors[bias].storage = 1; }), "order STO-6") << "the first is not 0";
  EXPECT_EQ(after([](Model& m) {
              std::swap(m.storages[packed_storage], m.storages[constant_storage]);
              std::swap(m.tensors[packed].storage, m.tensors[kernel_constant].storage);
            }),
            "order STO-6");
  EXPECT_EQ(after([](Model& m) { m.storages.push_back({1, no_index}); }), "unreferenced STO-6");
  EXPECT_EQ(after([](Model& m) {
              m.tensors.clear();
              for (auto& method : m.methods) method.tensors = {};
            }),
            "unreferenced STO-6");
  EXPECT_EQ(after([](Model& m) { m.tensors[scale].storage = 1; }), "") << "one storage, two tensors";
}

// --- Names ------------------------------------------------------------------------------------

struct NamePlace {
  const char* what;
  std::function<void(Model&, std::string_view)> set;
  const char* when_empty = "name NAM-1";
};

// Each at an end of its list, so that any name from "z" keeps the order.
const NamePlace name_places[] = {
    {"library", [](Model& m, std::string_view name) { m.libraries[1].name = name; }},
    {"target", [](Model& m, std::string_view name) { m.libraries[1].variants[0].target = name; }, ""},
    {"method", [](Model& m, std::string_view name) { m.methods[1].name = name; }},
    {"tensor", [](Model& m, std::string_view name) { m.tensors[input].name = name; }},
    {"scheme", [](Model& m, std::string_view name) { m.tensors[packed].scheme = name; }, "packed PAK-1"},
    {"blob", [](Model& m, std::string_view name) { m.blobs[1].name = name; }},
    {"media type", [](Model& m, std::string_view name) { m.blobs[1].media_type = name; }, ""},
    {"key of library", [](Model& m, std::string_view name) { m.libraries[0].metadata[0].key = name; }},
    {"key of method", [](Model& m, std::string_view name) { m.methods[1].metadata[0].key = name; }},
    {"key of tensor", [](Model& m, std::string_view name) { m.tensors[weight].metadata[0].key = name; }},
    {"key of blob", [](Model& m, std::string_view name) { m.blobs[1].metadata[0].key = name; }},
    {"key of file", [](Model& m, std::string_view name) { m.metadata[2].key = name; }},
};

TEST(CheckModel, Nam1EveryNameEverywhere) {
  const std::pair<std::string, bool> names[] = {
      {std::string(1, 'z'), true},
      {std::string(1024, 'z'), true},
      {std::string(1025, 'z'), false},
      {std::string(5000, 'z'), false},
      {"z\x1B[2J\n\x7F", true},
      {"z\xC2\x85\xE2\x80\xAE", true},
      {"z\xF4\x8F\xBF\xBF", true},
      {"z\xFF", false},
      {"z\xC0\x80", false},
      {"z\xED\xA0\x80", false},
      {"z\xF4\x90\x80\x80", false},
      {"z\xE2\x82", false},
      {std::string("z\0z", 3), false},
      {std::string("z\0", 2), false},
  };
  for (const auto& place : name_places) {
    for (const auto& name : names)
      EXPECT_EQ(after([&](Model& m) { place.set(m, name.first); }), name.second ? "" : "name NAM-1")
          << place.what << " " << name.first;
    EXPECT_EQ(after([&](Model& m) { place.set(m, ""); }), place.when_empty) << place.what;
  }
}

// 1,024 counts bytes, not characters.
TEST(CheckModel, Nam1CountsBytes) {
  std::string name;
  for (int i = 0; i < 512; ++i) name += "\xC3\xBC";
  EXPECT_EQ(outcome(check_name(name, "test")), "");
  EXPECT_EQ(outcome(check_name(name + "a", "test")), "name NAM-1");
}

TEST(CheckModel, Nam2Order) {
  EXPECT_EQ(after([](Model& m) { m.libraries[1].name = "kernels"; }), "duplicate NAM-2");
  EXPECT_EQ(after([](Model& m) { m.libraries[1].name = "kernel"; }), "order NAM-2")
      << "a beginning comes first";
  EXPECT_EQ(after([](Model& m) { m.libraries[1].name = "kernelsa"; }), "");
  EXPECT_EQ(after([](Model& m) { m.libraries[1].name = "Kernelsa"; }), "order NAM-2") << "no case folding";
  EXPECT_EQ(after([](Model& m) { m.libraries[1].name = "\xC3\xBC"; }), "") << "bytes are unsigned";
  EXPECT_EQ(after([](Model& m) { m.methods[1].name = "decode"; }), "duplicate NAM-2");
  EXPECT_EQ(after([](Model& m) { m.methods[1].name = "a"; }), "order NAM-2");
  EXPECT_EQ(after([](Model& m) { m.blobs[1].name = "code.so"; }), "duplicate NAM-2");
  EXPECT_EQ(after([](Model& m) { m.blobs[1].name = "a"; }), "order NAM-2");
}

// UTF-16 would put U+FF5E behind U+1F600.
TEST(CheckModel, Nam2OrderIsThatOfBytes) {
  EXPECT_EQ(after([](Model& m) {
              m.blobs[0].name = "\xEF\xBD\x9E";
              m.blobs[1].name = "\xF0\x9F\x98\x80";
            }),
            "");
}

// --- Metadata ---------------------------------------------------------------------------------

struct PairPlace {
  const char* what;
  std::function<std::vector<Pair>&(Model&)> list;
};

const PairPlace pair_places[] = {
    {"library", [](Model& m) -> std::vector<Pair>& { return m.libraries[0].metadata; }},
    {"method", [](Model& m) -> std::vector<Pair>& { return m.methods[0].metadata; }},
    {"tensor", [](Model& m) -> std::vector<Pair>& { return m.tensors[scale].metadata; }},
    {"blob", [](Model& m) -> std::vector<Pair>& { return m.blobs[0].metadata; }},
    {"file", [](Model& m) -> std::vector<Pair>& { return m.metadata; }},
};

TEST(CheckModel, Met1ToMet4InEveryList) {
  const std::string largest(limits::max_value_bytes, 'v');
  const std::string too_large = largest + "v";
  const std::pair<std::vector<Pair>, std::string> cases[] = {
      {{}, ""},
      {{{"k", {}, static_cast<ValueKind>(0)}}, "unlisted-number MET-1"},
      {{{"k", {}, static_cast<ValueKind>(4)}}, "unlisted-number MET-1"},
      {{{"k", {}, static_cast<ValueKind>(255)}}, "unlisted-number MET-1"},
      {{{"k", {}, ValueKind::text}}, ""},
      {{{"k", {}, ValueKind::bytes}}, ""},
      {{{"k", {}, ValueKind::json}}, ""},
      {{{"k", "not json", ValueKind::json}}, ""},
      {{{"k", {"a\0b", 3}, ValueKind::text}}, ""},
      {{{"k", "\xFF", ValueKind::bytes}}, ""},
      {{{"k", "\xFF", ValueKind::text}}, "metadata MET-3"},
      {{{"k", "\"\xED\xA0\x80\"", ValueKind::json}}, "metadata MET-3"},
      {{{"k", largest, ValueKind::text}}, ""},
      {{{"k", too_large, ValueKind::text}}, "limit MET-2"},
      {{{"k", too_large, ValueKind::bytes}}, "limit MET-2"},
      {{{"a", "1", ValueKind::text}, {"b", "1", ValueKind::text}}, ""},
      {{{"a", "1", ValueKind::text}, {"a", "2", ValueKind::json}}, "duplicate MET-4"},
      {{{"b", "1", ValueKind::text}, {"a", "1", ValueKind::text}}, "order MET-4"},
      {{{"ab", "1", ValueKind::text}, {"a", "1", ValueKind::text}}, "order MET-4"},
      {{{"a", {}, ValueKind::text}, {"b", {}, ValueKind::text}, {"b", {}, ValueKind::text}},
       "duplicate MET-4"},
  };
  for (const auto& place : pair_places)
    for (std::size_t i = 0; i < std::size(cases); ++i)
      EXPECT_EQ(after([&](Model& m) { place.list(m) = cases[i].first; }), cases[i].second)
          << place.what << ", case " << i;
}

// --- Libraries --------------------------------------------------------------------------------

std::string with_variants(std::vector<Variant> variants) {
  return after([&](Model& m) { m.libraries[other_library].variants = std::move(variants); });
}

constexpr auto regular = VariantKind::regular;
constexpr auto fallback = VariantKind::fallback;

TEST(CheckModel, Lib1NoSuchBlob) {
  EXPECT_EQ(with_variants({{1, 90, 0, regular, {}}}), "");
  EXPECT_EQ(with_variants({{2, 90, 0, regular, {}}}), "reference LIB-1");
  EXPECT_EQ(with_variants({{no_index - 1, 90, 0, regular, {}}}), "reference LIB-1");
}

TEST(CheckModel, Lib2Kinds) {
  EXPECT_EQ(with_variants({{0, 90, 0, static_cast<VariantKind>(0), {}}}), "unlisted-number LIB-2");
  EXPECT_EQ(with_variants({{0, 90, 0, static_cast<VariantKind>(3), {}}}), "unlisted-number LIB-2");
}

TEST(CheckModel, Lib3Architectures) {
  EXPECT_EQ(with_variants({{0, 90, 90, regular, {}}}), "");
  EXPECT_EQ(with_variants({{0, 90, 91, regular, {}}}), "variant LIB-3") << "ptx over sm";
  EXPECT_EQ(with_variants({{0, 0, 80, regular, {}}}), "variant LIB-3") << "ptx without sm";
  EXPECT_EQ(with_variants({{0, 0, 0, regular, "gfx942"}}), "");
  EXPECT_EQ(with_variants({{0, 90, 0, regular, "gfx942"}}), "variant LIB-3") << "sm and target";
  EXPECT_EQ(with_variants({{0, 90, 90, regular, "gfx942"}}), "variant LIB-3") << "ptx and target";
  EXPECT_EQ(with_variants({{0, 0, 0, regular, {}}}), "") << "alone";
  EXPECT_EQ(with_variants({{0, 0, 0, regular, {}}, {0, 90, 0, regular, {}}}), "variant LIB-3") << "not alone";
  EXPECT_EQ(with_variants({{0, 90, 80, fallback, {}}}), "");
  EXPECT_EQ(with_variants({{0, 90, 0, fallback, {}}}), "variant LIB-3") << "fallback without ptx";
  EXPECT_EQ(with_variants({{0, 0, 0, fallback, "gfx942"}}), "variant LIB-3") << "fallback for a target";
  EXPECT_EQ(with_variants({{0, 0, 0, fallback, {}}}), "variant LIB-3");
}

TEST(CheckModel, Lib4Order) {
  // By kind, sm, ptx, target, each pair differing in one place behind equal ones.
  const std::vector<Variant> ascending = {
      {no_index, 0, 0, regular, "gfx90a"}, {0, 0, 0, regular, "gfx942"}, {1, 80, 0, regular, {}},
      {no_index, 90, 0, regular, {}},      {0, 90, 80, regular, {}},     {1, 80, 80, fallback, {}},
  };
  EXPECT_EQ(with_variants(ascending), "");
  for (std::size_t i = 1; i < ascending.size(); ++i) {
    auto variants = ascending;
    std::swap(variants[i - 1], variants[i]);
    EXPECT_EQ(with_variants(variants), "order LIB-4") << i;
    variants = ascending;
    variants.insert(variants.begin() + static_cast<std::ptrdiff_t>(i), variants[i]);
    variants[i].blob = no_index;  // which is no part of the key
    EXPECT_EQ(with_variants(variants), "duplicate LIB-4") << i;
  }
}

TEST(CheckModel, Lib5TwoFallbacks) {
  EXPECT_EQ(with_variants({{0, 80, 80, fallback, {}}, {0, 90, 80, fallback, {}}}), "variant LIB-5");
  EXPECT_EQ(with_variants({{0, 80, 80, fallback, {}}, {0, 80, 80, fallback, {}}}), "duplicate LIB-4");
}

// --- Methods ----------------------------------------------------------------------------------

TEST(CheckModel, Mth1AndMth2EveryList) {
  using Indices = std::vector<std::uint32_t>;
  struct List {
    std::span<const std::uint32_t> Method::*member;
    std::uint32_t count;
  };
  for (const List list : {List{&Method::tensors, 8}, {&Method::libraries, 2}, {&Method::blobs, 2}}) {
    const std::uint32_t count = list.count;
    const auto with = [&](Indices indices) {
      return after([&](Sample& s) { s.model.methods[prefill].*list.member = s.indices(std::move(indices)); });
    };
    EXPECT_EQ(with({count}), "reference MTH-1");
    EXPECT_EQ(with({0, no_index}), "reference MTH-1");
    EXPECT_EQ(with({0, 0}), "duplicate MTH-2");
    EXPECT_EQ(with({1, 0}), "order MTH-2");
    EXPECT_EQ(with({1, 0, count}), "order MTH-2") << "in the order of the list";
    EXPECT_EQ(with({0, count, 0}), "reference MTH-1") << "in the order of the list";
  }
}

TEST(CheckModel, Bnd1WhoseTensors) {
  const auto bound = [](std::vector<std::uint32_t> tensors, std::vector<std::uint32_t> libraries) {
    return after([&](Sample& s) {
      s.model.methods[decode].tensors = s.indices(tensors);
      s.model.methods[decode].libraries = s.indices(libraries);
    });
  };
  EXPECT_EQ(bound({}, {}), "");
  EXPECT_EQ(bound({bias, scale, weight}, {}), "");
  EXPECT_EQ(bound({cache, weight_of_decode}, {}), "");
  EXPECT_EQ(bound({input}, {}), "binding BND-1") << "of the other method";
  EXPECT_EQ(bound({kernel_constant}, {0}), "");
  EXPECT_EQ(bound({kernel_constant}, {}), "binding BND-1") << "of a library that it does not bind";
  EXPECT_EQ(bound({kernel_constant}, {1}), "binding BND-1") << "of a library that it does not bind";
  EXPECT_EQ(bound({kernel_constant, packed}, {0, 1}), "") << "two libraries with one name";
}

TEST(CheckModel, Bnd2TwoTensorsOfOneName) {
  EXPECT_EQ(after([](Sample& s) {
              s.model.methods[decode].tensors = s.indices({weight, weight_of_decode});
            }),
            "binding BND-2");
  EXPECT_EQ(after([](Sample& s) { s.model.methods[decode].tensors = s.indices({weight}); }), "");
}

TEST(CheckModel, Bnd3OtherContentUnderOneName) {
  const auto twin = [](const std::function<void(Storage&)>& change) {
    return after([&](Model& m) { change(m.storages[own_weight_storage]); });
  };
  EXPECT_EQ(twin([](Storage& s) { s.size = 65; }), "content-conflict BND-3");
  EXPECT_EQ(twin([](Storage& s) { s.content = 0; }), "content-conflict BND-3");
  EXPECT_EQ(twin([](Storage& s) { s.content = no_index; }), "content-conflict BND-3");
  EXPECT_EQ(twin([](Storage& s) { s.access = Access::mutable_; }), "content-conflict BND-3");
  EXPECT_EQ(twin([](Storage& s) {
              s.content = no_index;
              s.origin = Origin::external;
            }),
            "content-conflict BND-3");
  EXPECT_EQ(twin([](Storage& s) { s.placement = Placement::host; }), "") << "placement may differ";
  // Also where neither is bound.
  EXPECT_EQ(after([](Model& m) {
              for (auto& method : m.methods) method.tensors = {};
              m.storages[own_weight_storage].size = 65;
            }),
            "content-conflict BND-3");
  // The origin alone.
  EXPECT_EQ(after([](Model& m) {
              m.storages[weight_storage].content = m.storages[own_weight_storage].content = no_index;
              m.storages[own_weight_storage].origin = Origin::external;
              m.contents.erase(m.contents.begin() + 1);
              m.storages[constant_storage].content = m.blobs[code_blob].content = 1;
            }),
            "content-conflict BND-3");
}

TEST(CheckModel, Bnd3IsNotAboutLibrariesOrTwoMethods) {
  EXPECT_EQ(after([](Model& m) { m.tensors[kernel_constant].name = "w"; }), "");
  EXPECT_EQ(after([](Model& m) { m.tensors[input].name = "cache"; }), "");
}

// --- Tensors ----------------------------------------------------------------------------------

TEST(CheckModel, Ten1NoSuchStorage) {
  EXPECT_EQ(after([](Model& m) { m.tensors[input].storage = 7; }), "reference TEN-1");
  EXPECT_EQ(after([](Model& m) { m.tensors[input].storage = no_index; }), "reference TEN-1");
}

TEST(CheckModel, Ten2DTypes) {
  for (const unsigned number : {0, 39, 0xFFFF})
    EXPECT_EQ(after([=](Model& m) { m.tensors[input].dtype = static_cast<DType>(number); }),
              "unlisted-number TEN-2");
}

TEST(CheckModel, Ten3Owners) {
  const auto owned = [](Owner owner) { return after([=](Model& m) { m.tensors[input].owner = owner; }); };
  for (const unsigned kind : {0, 4, 255})
    EXPECT_EQ(owned({static_cast<OwnerKind>(kind), 0}), "unlisted-number TEN-3");
  EXPECT_EQ(owned({OwnerKind::model, 1}), "owner TEN-3");
  EXPECT_EQ(owned({OwnerKind::library, 2}), "owner TEN-3");
  EXPECT_EQ(owned({OwnerKind::method, 2}), "owner TEN-3");
  EXPECT_EQ(owned({OwnerKind::method, no_index}), "owner TEN-3");
}

TEST(CheckModel, Ten4Order) {
  EXPECT_EQ(after([](Model& m) { m.tensors[scale].name = "bias"; }), "duplicate TEN-4");
  EXPECT_EQ(after([](Model& m) { m.tensors[scale].name = "a"; }), "order TEN-4") << "by name";
  EXPECT_EQ(after([](Model& m) { m.tensors[kernel_constant].owner.index = 1; }), "duplicate TEN-4");
  EXPECT_EQ(after([](Model& m) { std::swap(m.tensors[3].owner, m.tensors[4].owner); }), "order TEN-4")
      << "by owner";
  EXPECT_EQ(after([](Model& m) {
              m.tensors[cache].owner = {OwnerKind::library, 0};
            }),
            "order TEN-4")
      << "by index";
  EXPECT_EQ(after([](Model& m) { m.tensors[input].owner = {}; }), "order TEN-4") << "by kind";
}

// --- Views ------------------------------------------------------------------------------------

struct View {
  DType dtype;
  Numbers sizes;
  Numbers strides;
  std::uint64_t offset;
  std::uint64_t storage_size;
  const char* expected;
};

// Alone and in a model: the outcome must be the same.
void expect_view(const View& view) {
  Sample sample;
  Tensor tensor;
  tensor.name = "t";
  tensor.dtype = view.dtype;
  tensor.storage = 0;
  tensor.storage_offset = view.offset;
  tensor.sizes = sample.numbers(view.sizes);
  tensor.strides = sample.numbers(view.strides);
  std::string what = std::string(dtype_name(view.dtype)) + " [";
  for (const auto size : view.sizes) what += std::to_string(size) + ",";
  what += "] strides [";
  for (const auto stride : view.strides) what += std::to_string(stride) + ",";
  what += "] at " + std::to_string(view.offset) + " in " + std::to_string(view.storage_size);
  EXPECT_EQ(outcome(check_view(tensor, view.storage_size)), view.expected) << what;
  sample.model.storages = {{view.storage_size, no_index}};
  sample.model.tensors = {tensor};
  EXPECT_EQ(outcome(check_model(sample.model, {})), view.expected) << what;
}

constexpr auto f32 = DType::float32;
constexpr auto u8 = DType::uint8;
constexpr auto u4 = DType::uint4;
constexpr const char* ok = "";
constexpr const char* too_many = "view-bounds VIE-3";
constexpr const char* outside = "view-bounds VIE-4";

TEST(CheckView, Vie1Rank) {
  expect_view({u8, Numbers(64, 1), Numbers(64, 1), 0, 1, ok});
  expect_view({u8, Numbers(65, 1), Numbers(65, 1), 0, 1, "limit VIE-1"});
  expect_view({u8, Numbers(65, 1), {}, 0, 1, "limit VIE-1"});
  expect_view({u8, Numbers(64, 2), Numbers(64, 0), 0, 1, too_many});
}

TEST(CheckView, Vie2AsManyStridesAsSizes) {
  expect_view({f32, {1}, {}, 0, 100, "view-shape VIE-2"});
  expect_view({f32, {}, {1}, 0, 100, "view-shape VIE-2"});
  expect_view({f32, {2, 3}, {1}, 0, 100, "view-shape VIE-2"});
  expect_view({f32, {0}, {1, 1}, 0, 100, "view-shape VIE-2"});
  expect_view({u8, {1}, Numbers(65, 1), 0, 100, "view-shape VIE-2"});
}

// The table of SPEC.md, "Views": each with the least storage, and with a byte less.
TEST(CheckView, Vie4ExamplesOfTheSpecification) {
  const View views[] = {
      {f32, {3, 4}, {4, 1}, 0, 48, ok},
      {f32, {4, 3}, {1, 4}, 0, 48, ok},
      {f32, {8, 3}, {0, 1}, 0, 12, ok},
      {f32, {2, 2}, {4, 1}, 5, 44, ok},
      {f32, {}, {}, 7, 32, ok},
      {f32, {1, 5}, {pow2(63), 1}, 0, 20, ok},
      {f32, {0, pow2(62)}, {pow2(62), 1}, 4, 16, ok},
      {u4, {2, 7}, {7, 1}, 2, 8, ok},
  };
  for (View view : views) {
    expect_view(view);
    view.storage_size += 1;
    expect_view(view);
    view.storage_size -= 2;
    view.expected = outside;
    expect_view(view);
  }
  expect_view({u4, {3}, {1}, 1, 100, "sub-byte SUB-1"});
  expect_view({f32, {2}, {max64}, 1, 100, outside});
  expect_view({f32, {pow2(40), pow2(40)}, {0, 0}, 0, 100, too_many});
}

TEST(CheckView, Vie4EmptyTensors) {
  expect_view({f32, {0}, {1}, 0, 0, ok});
  expect_view({f32, {0, 0}, {0, 0}, 0, 0, ok});
  expect_view({f32, {0, pow2(62)}, {pow2(62), 1}, 0, 0, ok});
  expect_view({f32, {pow2(62), 0}, {1, 1}, 0, 0, ok});
  expect_view({f32, {max64, max64, 0, max64}, {max64, max64, max64, max64}, 0, 0, ok});
  expect_view({f32, {0}, {1}, 25, 100, ok});
  expect_view({f32, {0}, {1}, 26, 100, outside});
  expect_view({f32, {0}, {1}, 25, 103, ok});
  expect_view({f32, {0}, {1}, 26, 103, outside});
  expect_view({u8, {0, 5}, {5, 1}, pow2(60), pow2(60), ok});
  expect_view({u8, {0, 5}, {5, 1}, pow2(60) + 1, pow2(60), outside});
  expect_view({u8, {0}, {1}, pow2(61), 0, outside});  // 2^61 x 8 bits wraps to 0
  expect_view({DType::complex128, {0}, {1}, pow2(57), 0, outside});
  expect_view({u8, {0}, {1}, max64, 0, outside});
}

TEST(CheckView, Vie4RankZero) {
  expect_view({f32, {}, {}, 0, 4, ok});
  expect_view({f32, {}, {}, 0, 3, outside});
  expect_view({f32, {}, {}, 0, 0, outside});
  expect_view({u8, {}, {}, max64, 100, outside});  // offset + 1 wraps to 0
}

TEST(CheckView, Vie4StridesThatMeanNothing) {
  expect_view({f32, {1}, {max64}, 0, 4, ok});
  expect_view({f32, {1, 1, 1}, {pow2(63), pow2(63), 0}, 0, 4, ok});
  expect_view({f32, {1}, {max64}, 1, 4, outside});
  expect_view({u4, {1, 5}, {pow2(63), 1}, 0, 3, ok});
}

TEST(CheckView, Vie4Broadcast) {
  expect_view({f32, {pow2(40)}, {0}, 0, 4, ok});
  expect_view({f32, {pow2(40), 3}, {0, 1}, 0, 12, ok});
  expect_view({f32, {pow2(40), 3}, {0, 1}, 0, 11, outside});
  expect_view({f32, {2, 2}, {0, 0}, 3, 16, ok});
}

TEST(CheckView, Vie3ElementsThatFill2To60Bytes) {
  expect_view({u8, {pow2(60)}, {0}, 0, 1, ok});
  expect_view({u8, {pow2(60) + 1}, {0}, 0, 1, too_many});
  expect_view({f32, {pow2(58)}, {0}, 0, 4, ok});
  expect_view({f32, {pow2(58) + 1}, {0}, 0, 4, too_many});
  expect_view({DType::complex128, {pow2(56)}, {0}, 0, 16, ok});
  expect_view({DType::complex128, {pow2(56) + 1}, {0}, 0, 16, too_many});
  expect_view({DType::uint1, {pow2(63)}, {1}, 0, pow2(60), ok});
  expect_view({DType::uint1, {pow2(63) + 1}, {1}, 0, pow2(60), too_many});
  expect_view({DType::uint1, {pow2(63)}, {1}, 0, pow2(60) - 1, outside});
}

TEST(CheckView, Vie3ProductsThatWrap) {
  expect_view({u8, {pow2(32), pow2(32)}, {0, 0}, 0, 1, too_many});                     // to 0
  expect_view({u8, {pow2(63), 2}, {0, 0}, 0, 1, too_many});                            // to 0
  expect_view({u8, {pow2(32) + 1, pow2(32) + 1}, {0, 0}, 0, 1, too_many});             // to 2^33 + 1
  expect_view({u8, {3, 0x5555555555555556}, {0, 0}, 0, 1, too_many});                  // to 2
  expect_view({u8, {pow2(61) + 1}, {0}, 0, 1, too_many});                              // bits, to 8
  expect_view({DType::complex128, {pow2(57) + 1}, {0}, 0, 16, too_many});              // bits, to 128
  expect_view({u8, {pow2(21), pow2(21), pow2(21), 2}, {0, 0, 0, 0}, 0, 1, too_many});  // to 0, at the last
  expect_view({u8, {pow2(32), pow2(32), 1, 1}, {0, 0, 0, 0}, 0, 1, too_many});  // to 0, before the last
  expect_view({DType::uint1, {max64}, {1}, 0, pow2(60), too_many});
}

TEST(CheckView, Vie4SumsAndProductsThatWrap) {
  expect_view({u8, {2}, {max64}, 1, 10, outside});                      // 2^64 + 1
  expect_view({u8, {3}, {pow2(63)}, 0, 10, outside});                   // 2 x 2^63
  expect_view({u8, {2, 2}, {pow2(63), pow2(63)}, 0, 10, outside});      // 2^63 + 2^63
  expect_view({u8, {2, 2}, {pow2(63), pow2(63) - 1}, 0, 10, outside});  // 2^64
  expect_view({u8, {5}, {pow2(62)}, 3, 10, outside});                   // 4 x 2^62
  expect_view({f32, {2}, {pow2(59)}, 0, 10, outside});                  // bits: 2^64 + 32
  expect_view({u8, {2}, {pow2(61)}, 0, 10, outside});                   // bits: 2^64 + 8
  expect_view({u8, {}, {}, pow2(61), 10, outside});                     // bits: 2^64 + 8
  expect_view({u8, {2}, {1}, max64 - 1, 10, outside});                  // offset + 2
  expect_view({DType::complex128, {2}, {pow2(57)}, 0, 100, outside});   // bits: 2^64 + 128
  expect_view({u8, {2}, {pow2(60) - 1}, 0, pow2(60), ok});
  expect_view({u8, {2}, {pow2(60)}, 0, pow2(60), outside});
}

TEST(CheckView, Sub1FirstElementStartsAByte) {
  const auto at = [](DType dtype, std::uint64_t offset, bool whole) {
    const char* expected = whole ? ok : "sub-byte SUB-1";
    expect_view({dtype, {1}, {1}, offset, 1000, expected});
    expect_view({dtype, {}, {}, offset, 1000, expected});
    expect_view({dtype, {0}, {1}, offset, 1000, expected});
  };
  for (const auto& row : dtype_table)
    for (std::uint64_t offset = 0; offset <= 16; ++offset) at(row.dtype, offset, offset * row.bits % 8 == 0);
}

TEST(CheckView, Sub2RowMajorWithoutGaps) {
  const char* refused = "sub-byte SUB-2";
  expect_view({u4, {2, 2}, {2, 1}, 0, 2, ok});
  expect_view({u4, {2, 2}, {1, 2}, 0, 2, refused});
  expect_view({u4, {2, 3}, {4, 1}, 0, 100, refused});
  expect_view({u4, {2}, {2}, 0, 100, refused});
  expect_view({u4, {2}, {0}, 0, 100, refused});
  expect_view({u4, {3, 2}, {0, 1}, 0, 100, refused});
  expect_view({u4, {2, 1, 3}, {3, 77, 1}, 0, 3, ok});
  expect_view({u4, {1, 2, 3}, {0, 3, 1}, 0, 3, ok});
  expect_view({u4, {2, 0, 3}, {9, 9, 9}, 0, 0, ok});
  expect_view({u4, {2, 2}, {1, 2}, 1, 100, "sub-byte SUB-1"});
  expect_view({u8, {2, 2}, {1, 2}, 1, 100, ok});
}

TEST(CheckView, Vie4OddNumbersOfPackedElements) {
  expect_view({u4, {5}, {1}, 0, 3, ok});
  expect_view({u4, {5}, {1}, 0, 2, outside});
  expect_view({u4, {3, 3}, {3, 1}, 0, 5, ok});
  expect_view({u4, {3, 3}, {3, 1}, 0, 4, outside});
  expect_view({DType::uint1, {9}, {1}, 0, 2, ok});
  expect_view({DType::uint1, {9}, {1}, 0, 1, outside});
  expect_view({DType::uint7, {8}, {1}, 0, 7, ok});
  expect_view({DType::uint7, {9}, {1}, 0, 7, outside});
  expect_view({DType::float6_e3m2fn, {4}, {1}, 4, 6, ok});
  expect_view({DType::float6_e3m2fn, {5}, {1}, 4, 6, outside});
}

// --- Packed data ------------------------------------------------------------------------------

TEST(CheckModel, Pak1ToPak3) {
  const auto with = [](std::string_view scheme, const Numbers& logical) {
    return after([&](Sample& s) {
      s.model.tensors[packed].scheme = scheme;
      s.model.tensors[packed].logical_sizes = s.numbers(logical);
    });
  };
  EXPECT_EQ(with("", {}), "");
  EXPECT_EQ(with("", {2, 256}), "packed PAK-1");
  EXPECT_EQ(with("", {0}), "packed PAK-1");
  EXPECT_EQ(with("s", {}), "") << "rank 0";
  EXPECT_EQ(with("s", Numbers(64, 1)), "");
  EXPECT_EQ(with("s", Numbers(65, 1)), "limit VIE-1");
  EXPECT_EQ(with("s", {pow2(60)}), "");
  EXPECT_EQ(with("s", {pow2(60) + 1}), "packed PAK-3");
  EXPECT_EQ(with("s", {pow2(30), pow2(30), 2}), "packed PAK-3");
  EXPECT_EQ(with("s", {pow2(32), pow2(32)}), "packed PAK-3") << "wraps to 0";
  EXPECT_EQ(with("s", {pow2(32) + 1, pow2(32) + 1}), "packed PAK-3") << "wraps to 2^33 + 1";
  EXPECT_EQ(with("s", {pow2(63), 0, pow2(63)}), "") << "no elements";
  EXPECT_EQ(after([](Model& m) { m.tensors[packed].dtype = DType::int8; }), "packed PAK-2");
  EXPECT_EQ(after([](Model& m) { m.tensors[weight].scheme = "s"; }), "packed PAK-2");
}

// --- The order of checks ----------------------------------------------------------------------

struct OrderedFault {
  std::string expected;
  Change make;
};

/// Each alone gives its outcome, and of any two the earlier one.
void expect_first_wins(const std::vector<OrderedFault>& faults) {
  for (std::size_t i = 0; i < faults.size(); ++i) {
    EXPECT_EQ(outcome(check_after(faults[i].make)), faults[i].expected) << i;
    for (std::size_t j = i + 1; j < faults.size(); ++j)
      EXPECT_EQ(outcome(check_after([&](Sample& s) {
                  faults[j].make(s);
                  faults[i].make(s);  // last, so that it is there where both change one field
                })),
                faults[i].expected)
          << i << ", " << j << ": " << faults[j].expected;
  }
}

const std::string long_name(1025, 'z');
constexpr Pair bad_pair{"k", {}, static_cast<ValueKind>(0)};

TEST(CheckModelOrder, Objects) {
  expect_first_wins({
      {"version-mismatch VER-1", [](Sample& s) { s.model.minor = 1; }},
      {"limit LIM-1", [](Sample& s) { s.model.methods.resize(4097); }},
      {"size CON-1", [](Sample& s) { s.model.contents[0].size = 0; }},
      {"order CON-2", [](Sample& s) { std::swap(s.model.contents[1].digest, s.model.contents[2].digest); }},
      {"size STO-1", [](Sample& s) { s.model.storages[0].size = max64; }},
      {"unlisted-number STO-4", [](Sample& s) { s.model.storages[3].access = static_cast<Access>(0); }},
      {"external STO-5", [](Sample& s) { s.model.storages[input_storage].content = 2; }},
      {"name NAM-1", [](Sample& s) { s.model.libraries[0].name = ""; }},
      {"reference LIB-1", [](Sample& s) { s.model.libraries[0].variants[0].blob = 99; }},
      {"order LIB-4",
       [](Sample& s) { std::swap(s.model.libraries[0].variants[1], s.model.libraries[0].variants[2]); }},
      {"metadata MET-3", [](Sample& s) { s.model.libraries[0].metadata[0].value = "\xFF"; }},
      {"duplicate NAM-2", [](Sample& s) { s.model.libraries[1].name = s.model.libraries[0].name; }},
      {"name NAM-1", [](Sample& s) { s.model.methods[0].name = long_name; }},
      {"reference MTH-1", [](Sample& s) { s.model.methods[0].tensors = s.indices({99}); }},
      {"duplicate MTH-2",
       [](Sample& s) {
         s.model.methods[0].libraries = s.indices({0, 0});
       }},
      {"order MTH-2",
       [](Sample& s) {
         s.model.methods[0].blobs = s.indices({1, 0});
       }},
      {"unlisted-number MET-1", [](Sample& s) { s.model.methods[1].metadata = {bad_pair}; }},
      {"order NAM-2", [](Sample& s) { s.model.methods[1].name = "a"; }},
      {"reference TEN-1", [](Sample& s) { s.model.tensors[0].storage = 99; }},
      {"unlisted-number TEN-2", [](Sample& s) { s.model.tensors[1].dtype = static_cast<DType>(0); }},
      {"owner TEN-3", [](Sample& s) { s.model.tensors[2].owner.index = 1; }},
      {"name NAM-1", [](Sample& s) { s.model.tensors[3].name = "\xFF"; }},
      {"view-shape VIE-2", [](Sample& s) { s.model.tensors[4].strides = {}; }},
      {"order TEN-4", [](Sample& s) { s.model.tensors[6].name = "a"; }},
      {"view-bounds VIE-4", [](Sample& s) { s.model.tensors[7].storage_offset = 1; }},
      {"size STO-1", [](Sample& s) { s.model.blobs[0].size = max64; }},
      {"name NAM-1", [](Sample& s) { s.model.blobs[0].media_type = long_name; }},
      {"order NAM-2", [](Sample& s) { s.model.blobs[1].name = "a"; }},
      {"order MET-4", [](Sample& s) { s.model.metadata[1].key = "a"; }},
      {"binding BND-1", [](Sample& s) { s.model.methods[1].libraries = {}; }},
      {"binding BND-2",
       [](Sample& s) {
         s.model.methods[0].tensors = s.indices({2, 6});
       }},
      {"content-conflict BND-3", [](Sample& s) { s.model.storages[own_weight_storage].size = 65; }},
      {"order STO-6", [](Sample& s) { s.model.tensors[cache].storage = input_storage; }},
      {"unreferenced STO-6",
       [](Sample& s) {
         s.model.storages.push_back({1, no_index});
       }},
      {"unreferenced CON-3", [](Sample& s) { s.model.contents.push_back(content_of(1, 0x44)); }},
  });
}

TEST(CheckModelOrder, FieldsOfAStorage) {
  const auto fault = [](std::string expected, std::function<void(Storage&)> change) {
    return OrderedFault{std::move(expected), [=](Sample& s) { change(s.model.storages[constant_storage]); }};
  };
  expect_first_wins({
      fault("size STO-1", [](Storage& s) { s.size = max64; }),
      fault("reference STO-2", [](Storage& s) { s.content = 3; }),
      fault("size STO-3", [](Storage& s) { s.size = 2; }),
      fault("unlisted-number STO-4", [](Storage& s) { s.access = static_cast<Access>(3); }),
      fault("unlisted-number STO-4", [](Storage& s) { s.origin = static_cast<Origin>(3); }),
      fault("unlisted-number STO-4", [](Storage& s) { s.placement = static_cast<Placement>(4); }),
      fault("external STO-5", [](Storage& s) { s.origin = Origin::external; }),
  });
}

TEST(CheckModelOrder, FieldsOfAVariant) {
  const auto fault = [](std::string expected, std::function<void(Variant&)> change) {
    return OrderedFault{std::move(expected), [=](Sample& s) { change(s.model.libraries[0].variants[1]); }};
  };
  expect_first_wins({
      fault("reference LIB-1", [](Variant& v) { v.blob = 2; }),
      fault("unlisted-number LIB-2", [](Variant& v) { v.kind = static_cast<VariantKind>(3); }),
      fault("name NAM-1", [](Variant& v) { v.target = "\xFF"; }),
      fault("variant LIB-3", [](Variant& v) { v.ptx = 91; }),
      fault("order LIB-4", [](Variant& v) { v.sm = v.ptx = 0, v.target = "gfx90a"; }),
  });
}

TEST(CheckModelOrder, FieldsOfALibrary) {
  const auto fault = [](std::string expected, std::function<void(Library&)> change) {
    return OrderedFault{std::move(expected), [=](Sample& s) { change(s.model.libraries[1]); }};
  };
  expect_first_wins({
      fault("name NAM-1", [](Library& l) { l.name = ""; }),
      fault("limit LIM-1", [](Library& l) { l.variants.resize(257); }),
      fault("variant LIB-3",
            [](Library& l) {
              l.variants = {{no_index, 80, 81, regular, {}}};
            }),
      fault("unlisted-number MET-1", [](Library& l) { l.metadata = {bad_pair}; }),
      fault("order NAM-2", [](Library& l) { l.name = "a"; }),
  });
}

TEST(CheckModelOrder, FieldsOfAMethod) {
  const auto fault = [](std::string expected, std::function<void(Sample&, Method&)> change) {
    return OrderedFault{std::move(expected), [=](Sample& s) { change(s, s.model.methods[1]); }};
  };
  expect_first_wins({
      fault("name NAM-1", [](Sample&, Method& m) { m.name = ""; }),
      fault("reference MTH-1", [](Sample& s, Method& m) { m.tensors = s.indices({8}); }),
      fault("duplicate MTH-2",
            [](Sample& s, Method& m) {
              m.tensors = s.indices({2, 2});
            }),
      fault("order MTH-2",
            [](Sample& s, Method& m) {
              m.libraries = s.indices({1, 0});
            }),
      fault("reference MTH-1", [](Sample& s, Method& m) { m.blobs = s.indices({2}); }),
      fault("unlisted-number MET-1", [](Sample&, Method& m) { m.metadata = {bad_pair}; }),
      fault("duplicate NAM-2", [](Sample&, Method& m) { m.name = "decode"; }),
  });
}

TEST(CheckModelOrder, FieldsOfATensor) {
  const auto fault = [](std::string expected, std::function<void(Sample&, Tensor&)> change) {
    return OrderedFault{std::move(expected), [=](Sample& s) { change(s, s.model.tensors[packed]); }};
  };
  expect_first_wins({
      fault("reference TEN-1", [](Sample&, Tensor& t) { t.storage = 99; }),
      fault("unlisted-number TEN-2", [](Sample&, Tensor& t) { t.dtype = static_cast<DType>(39); }),
      fault("unlisted-number TEN-3", [](Sample&, Tensor& t) { t.owner.kind = static_cast<OwnerKind>(0); }),
      fault("owner TEN-3", [](Sample&, Tensor& t) { t.owner.index = 2; }),
      fault("name NAM-1", [](Sample&, Tensor& t) { t.name = long_name; }),
      fault("limit VIE-1", [](Sample& s, Tensor& t) { t.sizes = t.strides = s.numbers(Numbers(65, 1)); }),
      fault("view-shape VIE-2", [](Sample& s, Tensor& t) { t.strides = s.numbers({1}); }),
      fault("view-bounds VIE-3",
            [](Sample& s, Tensor& t) {
              t.sizes = s.numbers({pow2(60), 2});
            }),
      fault("view-bounds VIE-4", [](Sample&, Tensor& t) { t.storage_offset = 1; }),
      fault("unlisted-number MET-1", [](Sample&, Tensor& t) { t.metadata = {bad_pair}; }),
      fault("packed PAK-1", [](Sample&, Tensor& t) { t.scheme = ""; }),
      fault("name NAM-1", [](Sample&, Tensor& t) { t.scheme = long_name; }),
      fault("packed PAK-2", [](Sample&, Tensor& t) { t.dtype = DType::boolean; }),
      fault("limit VIE-1", [](Sample& s, Tensor& t) { t.logical_sizes = s.numbers(Numbers(65, 2)); }),
      fault("packed PAK-3", [](Sample& s, Tensor& t) { t.logical_sizes = s.numbers({max64}); }),
      fault("order TEN-4", [](Sample&, Tensor& t) { t.owner = {}, t.name = "a"; }),
  });
}

TEST(CheckModelOrder, FieldsOfASubByteTensor) {
  const auto fault = [](std::string expected, std::function<void(Sample&, Tensor&)> change) {
    return OrderedFault{std::move(expected), [=](Sample& s) {
                          s.model.storages[constant_storage].size = 100;
                          change(s, s.model.tensors[kernel_constant]);
                        }};
  };
  expect_first_wins({
      fault("view-bounds VIE-4", [](Sample&, Tensor& t) { t.storage_offset = 999; }),
      fault("sub-byte SUB-1", [](Sample&, Tensor& t) { t.storage_offset = 1; }),
      fault("sub-byte SUB-2", [](Sample& s, Tensor& t) { t.strides = s.numbers({2}); }),
      fault("unlisted-number MET-1", [](Sample&, Tensor& t) { t.metadata = {bad_pair}; }),
      fault("packed PAK-2", [](Sample&, Tensor& t) { t.scheme = "s"; }),
  });
}

TEST(CheckModelOrder, FieldsOfABlob) {
  const auto fault = [](std::string expected, std::function<void(Blob&)> change) {
    return OrderedFault{std::move(expected), [=](Sample& s) { change(s.model.blobs[1]); }};
  };
  expect_first_wins({
      fault("size STO-1", [](Blob& b) { b.size = max64; }),
      fault("reference STO-2", [](Blob& b) { b.content = 3; }),
      fault("size STO-3", [](Blob& b) { b.size = 2, b.content = 2; }),
      fault("name NAM-1", [](Blob& b) { b.name = ""; }),
      fault("name NAM-1", [](Blob& b) { b.media_type = "\xFF"; }),
      fault("unlisted-number MET-1", [](Blob& b) { b.metadata = {bad_pair}; }),
      fault("order NAM-2", [](Blob& b) { b.name = "a"; }),
  });
}

TEST(CheckModelOrder, FieldsOfAPair) {
  const std::string large(limits::max_value_bytes + 1, '\xFF');
  const auto fault = [](std::string expected, std::function<void(Pair&)> change) {
    return OrderedFault{std::move(expected), [=](Sample& s) { change(s.model.metadata[2]); }};
  };
  expect_first_wins({
      fault("unlisted-number MET-1", [](Pair& p) { p.kind = static_cast<ValueKind>(4); }),
      fault("name NAM-1", [](Pair& p) { p.key = ""; }),
      fault("limit MET-2", [&](Pair& p) { p.value = large; }),
      fault("metadata MET-3", [](Pair& p) { p.value = "\xFF"; }),
      fault("order MET-4", [](Pair& p) { p.key = "a"; }),
  });
}

TEST(CheckModelOrder, FirstElementFirst) {
  expect_first_wins({
      {"unlisted-number TEN-2", [](Sample& s) { s.model.tensors[0].dtype = static_cast<DType>(0); }},
      {"reference TEN-1", [](Sample& s) { s.model.tensors[1].storage = 99; }},
  });
  expect_first_wins({
      {"external STO-5", [](Sample& s) { s.model.storages[0].origin = Origin::external; }},
      {"size STO-1", [](Sample& s) { s.model.storages[1].size = max64; }},
  });
}

// --- What errors say --------------------------------------------------------------------------

TEST(CheckModel, ErrorsNameTheirSubject) {
  const auto subject = [](const Change& change) { return check_after(change).error().subject; };
  EXPECT_EQ(subject([](Sample& s) { s.model.contents[1].size = 0; }), "content 1");
  EXPECT_EQ(subject([](Sample& s) { s.model.storages[2].size = max64; }), "storage 2");
  EXPECT_EQ(subject([](Sample& s) { s.model.libraries[0].variants[0].blob = 9; }), "kernels");
  EXPECT_EQ(subject([](Sample& s) { s.model.methods[1].tensors = s.indices({9}); }), "prefill");
  EXPECT_EQ(subject([](Sample& s) { s.model.tensors[scale].storage_offset = 99; }), "scale");
  EXPECT_EQ(subject([](Sample& s) { s.model.blobs[1].size = max64; }), "tokenizer");
  EXPECT_EQ(subject([](Sample& s) { s.model.metadata[1].value = "\xFF"; }), "json");
  EXPECT_EQ(subject([](Sample& s) { s.model.tensors[bias].name = "\x1B\xFF"; }), "\x1B\xFF");
}

TEST(CheckModel, ErrorsShowNoControlCharacters) {
  const std::string_view name = "z\x1B[2J\n\xC2\x9B\xE2\x80\xAE";
  const Change faults[] = {
      [=](Sample& s) { s.model.libraries[0].name = s.model.libraries[1].name = name; },
      [=](Sample& s) { s.model.libraries[1].name = name, s.model.libraries[1].variants[0].blob = 9; },
      [=](Sample& s) { s.model.libraries[1].name = name, s.model.libraries[1].metadata = {bad_pair}; },
      [=](Sample& s) { s.model.methods[1].name = name, s.model.methods[1].tensors = s.indices({6}); },
      [=](Sample& s) {
        s.model.methods[1].name = name, s.model.methods[1].tensors = s.indices({6, 5});
      },
      [=](Sample& s) { s.model.tensors[bias].name = name; },
      [=](Sample& s) { s.model.tensors[input].name = name, s.model.tensors[input].storage_offset = 9; },
      [=](Sample& s) { s.model.blobs[0].name = s.model.blobs[1].name = name; },
      [=](Sample& s) { s.model.tensors[input].name = "\xFF\x1B"; },
      [=](Sample& s) {
        s.model.tensors[2].name = s.model.tensors[6].name = name;
        s.model.storages[own_weight_storage].size = 65;
      },
  };
  for (std::size_t i = 0; i < std::size(faults); ++i) {
    const auto result = check_after(faults[i]);
    ASSERT_FALSE(result) << i;
    const std::string text = result.error().to_string();
    EXPECT_EQ(text, escaped(text)) << i;
    EXPECT_EQ(result.error().message, escaped(result.error().message)) << i;
  }
}

TEST(CheckModel, Met4MessageShowsNoControlCharacters) {
  const auto result = check_after([](Sample& s) {
    s.model.libraries[1].name = "z\x1B[2J";
    s.model.libraries[1].metadata = {{"k", {}, ValueKind::text}, {"k", {}, ValueKind::text}};
  });
  ASSERT_EQ(outcome(result), "duplicate MET-4");
  EXPECT_EQ(result.error().message, escaped(result.error().message));
}

// --- Lookups ----------------------------------------------------------------------------------

using Index = std::optional<std::uint32_t>;

TEST(ModelLookup, ByName) {
  const Sample sample = rich_model();
  const Model& model = sample.model;
  EXPECT_EQ(model.find_method("decode"), Index{0});
  EXPECT_EQ(model.find_method("prefill"), Index{1});
  EXPECT_EQ(model.find_library("other"), Index{1});
  EXPECT_EQ(model.find_blob("code.so"), Index{0});
  EXPECT_EQ(model.find_blob("tokenizer"), Index{1});
  for (const std::string_view absent : {"", "a", "decod", "decode0", "Decode", "prefill ", "zzz"}) {
    EXPECT_EQ(model.find_method(absent), std::nullopt);
    EXPECT_EQ(model.find_library(absent), std::nullopt);
    EXPECT_EQ(model.find_blob(absent), std::nullopt);
  }
  EXPECT_EQ(Model{}.find_method("decode"), std::nullopt);
}

TEST(ModelLookup, TensorsByOwner) {
  const Sample sample = rich_model();
  const Model& model = sample.model;
  EXPECT_EQ(model.find_tensor({}, "w"), Index{weight});
  EXPECT_EQ(model.find_tensor({OwnerKind::method, 0}, "w"), Index{weight_of_decode});
  EXPECT_EQ(model.find_tensor({OwnerKind::method, 1}, "w"), std::nullopt);
  EXPECT_EQ(model.find_tensor({OwnerKind::library, 0}, "c0"), Index{kernel_constant});
  EXPECT_EQ(model.find_tensor({OwnerKind::library, 1}, "c0"), Index{packed});
  EXPECT_EQ(model.find_tensor({}, "c0"), std::nullopt);
  EXPECT_EQ(model.find_tensor({OwnerKind::library, 7}, "c0"), std::nullopt);
  EXPECT_EQ(Model{}.find_tensor({}, "w"), std::nullopt);
}

TEST(ModelLookup, EveryObjectOfRandomModels) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const Sample sample = samples::random_model(seed);
    const Model& model = sample.model;
    for (std::uint32_t i = 0; i < model.tensors.size(); ++i)
      ASSERT_EQ(model.find_tensor(model.tensors[i].owner, model.tensors[i].name), Index{i});
    for (std::uint32_t i = 0; i < model.methods.size(); ++i)
      ASSERT_EQ(model.find_method(model.methods[i].name), Index{i});
    for (std::uint32_t i = 0; i < model.libraries.size(); ++i)
      ASSERT_EQ(model.find_library(model.libraries[i].name), Index{i});
    for (std::uint32_t i = 0; i < model.blobs.size(); ++i)
      ASSERT_EQ(model.find_blob(model.blobs[i].name), Index{i});
  }
}

TEST(ModelLookup, WhatAMethodMeansByAName) {
  Sample sample = rich_model();
  Model& model = sample.model;
  EXPECT_EQ(model.find_in_method(decode, "w"), Index{weight_of_decode}) << "its own";
  EXPECT_EQ(model.find_in_method(prefill, "w"), Index{weight}) << "the model's";
  EXPECT_EQ(model.find_in_method(decode, "cache"), Index{cache});
  EXPECT_EQ(model.find_in_method(prefill, "cache"), std::nullopt) << "of another method";
  EXPECT_EQ(model.find_in_method(decode, "scale"), Index{scale});
  EXPECT_EQ(model.find_in_method(prefill, "scale"), std::nullopt) << "not bound";
  EXPECT_EQ(model.find_in_method(decode, "c0"), std::nullopt) << "of a library, though bound";
  EXPECT_EQ(model.find_in_method(decode, "nothing"), std::nullopt);
  model.methods[decode].tensors = sample.indices({weight});
  EXPECT_EQ(model.find_in_method(decode, "w"), Index{weight}) << "its own is not bound";
  model.methods[decode].tensors = {};
  EXPECT_EQ(model.find_in_method(decode, "w"), std::nullopt);
}

// --- Arithmetic on views ----------------------------------------------------------------------

TEST(ModelViews, CountBytesContiguity) {
  struct Case {
    DType dtype;
    Numbers sizes, strides;
    std::uint64_t elements, bytes;
    bool contiguous;
  };
  const Case cases[] = {
      {f32, {}, {}, 1, 4, true},
      {f32, {3, 4}, {4, 1}, 12, 48, true},
      {f32, {4, 3}, {1, 4}, 12, 48, false},
      {f32, {3, 4}, {5, 1}, 12, 48, false},
      {f32, {3, 4}, {0, 1}, 12, 48, false},
      {f32, {4}, {2}, 4, 16, false},
      {f32, {1}, {99}, 1, 4, true},
      {f32, {3, 1, 4}, {4, 77, 1}, 12, 48, true},
      {f32, {1, 3, 4}, {0, 4, 1}, 12, 48, true},
      {f32, {3, 4, 1}, {4, 1, 0}, 12, 48, true},
      {f32, {3, 1, 4}, {5, 4, 1}, 12, 48, false},
      {f32, {0}, {5}, 0, 0, true},
      {f32, {2, 0, 3}, {1, 1, 1}, 0, 0, true},
      {f32, {pow2(63), 0, pow2(63)}, {9, 9, 9}, 0, 0, true},
      {f32, {0, pow2(63), pow2(63)}, {9, 9, 9}, 0, 0, true},
      {u8, {pow2(60)}, {1}, pow2(60), pow2(60), true},
      {DType::complex128, {pow2(56)}, {1}, pow2(56), pow2(60), true},
      {DType::uint1, {pow2(63)}, {1}, pow2(63), pow2(60), true},
      {u4, {5}, {1}, 5, 3, true},
      {u4, {4}, {1}, 4, 2, true},
      {DType::uint3, {3}, {1}, 3, 2, true},
      {DType::uint1, {1}, {1}, 1, 1, true},
      {DType::float6_e2m3fn, {4}, {1}, 4, 3, true},
  };
  for (std::size_t i = 0; i < std::size(cases); ++i) {
    Tensor tensor;
    tensor.dtype = cases[i].dtype;
    tensor.sizes = cases[i].sizes;
    tensor.strides = cases[i].strides;
    EXPECT_EQ(element_count(tensor), cases[i].elements) << i;
    EXPECT_EQ(logical_bytes(tensor), cases[i].bytes) << i;
    EXPECT_EQ(is_contiguous(tensor), cases[i].contiguous) << i;
  }
}

TEST(ModelViews, ContiguousStrides) {
  EXPECT_EQ(contiguous_strides({}), Numbers{});
  const std::pair<Numbers, Numbers> cases[] = {
      {{5}, {1}},
      {{3, 4}, {4, 1}},
      {{2, 3, 4}, {12, 4, 1}},
      {{2, 1, 4}, {4, 4, 1}},
      {{2, 0, 4}, {4, 4, 1}},
      {{0}, {1}},
      {Numbers(64, 1), Numbers(64, 1)},
  };
  for (const auto& [sizes, strides] : cases) EXPECT_EQ(contiguous_strides(sizes), strides);
  // Too large for 64 bits is only possible where a size is 0; any strides will do.
  EXPECT_EQ(contiguous_strides(Numbers{0, pow2(63), pow2(63), 2}).size(), 4);
}

TEST(ModelViews, ContiguousStridesMakeContiguousViews) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const Sample sample = samples::random_model(seed);
    for (Tensor tensor : sample.model.tensors) {
      const auto strides = contiguous_strides(tensor.sizes);
      tensor.strides = strides;
      ASSERT_TRUE(is_contiguous(tensor));
    }
  }
}

TEST(ModelObjects, Digits) {
  Digest digest{};
  EXPECT_EQ(to_hex(digest), std::string(64, '0'));
  digest[0] = std::byte{0xA1};
  digest[31] = std::byte{0x0F};
  EXPECT_EQ(to_hex(digest), "a1" + std::string(60, '0') + "0f");
}

TEST(ModelObjects, Zeros) {
  EXPECT_TRUE((Storage{5, no_index, Access::immutable, Origin::stored, Placement::any}).is_zeros());
  EXPECT_FALSE((Storage{5, 0, Access::immutable, Origin::stored, Placement::any}).is_zeros());
  EXPECT_FALSE((Storage{5, no_index, Access::immutable, Origin::external, Placement::any}).is_zeros());
}

}  // namespace
}  // namespace ptd::model
