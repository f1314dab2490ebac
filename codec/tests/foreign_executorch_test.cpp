// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// ExecuTorch's files into PTD and back: what is shared, what stays apart, what is refused.
#include <algorithm>

#include "foreign/import.hpp"
#include "tests/executorch_samples.hpp"
#include "tests/file_fixture.hpp"

namespace ptd::foreign {
namespace {

using enum ErrorCode;
namespace fs = std::filesystem;

using Pairs = std::vector<std::pair<std::string, std::string>>;

class ExecutorchTest : public file_test::Folder {
 protected:
  fs::path put(const std::string& name, std::string_view bytes) {
    file_test::write_file(in(name), bytes);
    return in(name);
  }

  /// Converts to memory and opens that.
  Result<Reader> convert(const std::vector<ImportInput>& inputs, const std::vector<fs::path>& data = {},
                         const ImportOptions& options = {}) {
    Writer writer;
    PTD_LET(report, import_files(writer, inputs, data, options));
    report_ = report;
    std::vector<std::byte> bytes;
    PTD_LET(written, writer.write(bytes));
    written_ = written;
    return Reader::open(own_memory(std::move(bytes)));
  }

  [[nodiscard]] bool notes_say(std::string_view part) const {
    return std::ranges::any_of(report_.notes,
                               [&](const auto& note) { return note.find(part) != std::string::npos; });
  }

  ImportReport report_;
  WriteReport written_;
};

const Tensor& tensor(const Reader& file, std::string_view name, Owner owner = {}) {
  const auto found = file.model().find_tensor(owner, name);
  if (!found) throw std::runtime_error("no tensor " + std::string(name));
  return file.model().tensors[*found];
}

const Storage& storage_of(const Reader& file, std::string_view name, Owner owner = {}) {
  return file.model().storages[tensor(file, name, owner).storage];
}

std::string bytes_in(const Reader& file, const Tensor& tensor) {
  std::vector<std::byte> bytes(logical_bytes(tensor));
  const auto index = static_cast<std::uint32_t>(&tensor - file.model().tensors.data());
  must(file.read_tensor(index, bytes));
  return text_of(bytes);
}

SampleName opaque(const SampleEntry& entry, std::string bytes) { return {entry.key, std::move(bytes)}; }

// --- FlatTensor alone ----------------------------------------------------------------------------------

TEST_F(ExecutorchTest, FlatTensorKeepsNamesViewsAndSharing) {
  const auto input =
      put("w.ptd", flat_tensor({{"a", std::string(24, 'a'), ordinary(6, {2, 3})},
                                {"tied", "", ordinary(6, {6}), "a"},
                                {"nhwc", "012345", FlatTensorLayoutInfo{0, {1, 2, 3}, {0, 2, 1}}},
                                {"scalar", "s", ordinary(0, {})},
                                {"none", "", ordinary(5, {0, 7})},
                                {"packed", "pppp", ordinary(16, {4})},
                                {"blob", "opaque"}}));
  const auto file = must(convert({{"", input}}));
  EXPECT_EQ(tensor(file, "a").storage, tensor(file, "tied").storage);
  EXPECT_EQ(bytes_in(file, tensor(file, "nhwc")), "024135");
  EXPECT_EQ(tensor(file, "scalar").sizes.size(), 0U);
  EXPECT_EQ(element_count(tensor(file, "none")), 0U);
  EXPECT_EQ(tensor(file, "packed").scheme, "executorch.quint4x2");
  EXPECT_EQ(file.model().methods.at(0).name, "forward");
  EXPECT_EQ(file.model().methods.at(0).tensors.size(), 6U);
  EXPECT_EQ(file.model().methods.at(0).blobs.size(), 1U);
}

TEST_F(ExecutorchTest, FlatTensorThereAndBackIsTheSame) {
  const auto text = flat_tensor({{"a", std::string(24, 'a'), ordinary(6, {2, 3})},
                                 {"blob", "opaque"},
                                 {"nhwc", "012345", FlatTensorLayoutInfo{0, {1, 2, 3}, {0, 2, 1}}},
                                 {"ones", "1111", FlatTensorLayoutInfo{6, {1, 1}, {1, 0}}},
                                 {"packed", "pppp", FlatTensorLayoutInfo{16, {2, 2}, {1, 0}}}});
  const auto file = must(convert({{"", put("w.ptd", text)}}));
  must(export_flat_tensor(file, in("back.ptd")));
  const auto back = file_test::file_text(in("back.ptd"));
  const auto parsed = must(parse_flat_tensor(bytes_of(back), back.size()));
  const auto original = must(parse_flat_tensor(bytes_of(text), text.size()));
  for (const auto& entry : original.entries) {
    const auto twin = std::ranges::find(parsed.entries, entry.key, &FlatTensorEntry::key);
    ASSERT_NE(twin, parsed.entries.end()) << entry.key;
    ASSERT_EQ(twin->layout.has_value(), entry.layout.has_value());
    if (entry.layout) {
      EXPECT_EQ(twin->layout->scalar_type, entry.layout->scalar_type);
      EXPECT_EQ(twin->layout->sizes, entry.layout->sizes);
      EXPECT_EQ(twin->layout->dim_order, entry.layout->dim_order) << entry.key;
    }
    const auto &a = original.segments[entry.segment], &b = parsed.segments[twin->segment];
    EXPECT_EQ(text.substr(a.offset, a.size), back.substr(b.offset, b.size)) << entry.key;
  }
}

TEST_F(ExecutorchTest, SizesMustFitTheSegment) {
  const auto with = [&](std::vector<std::uint64_t> sizes) {
    return convert(
        {{"", put("w.ptd", flat_tensor({{"a", std::string(16, 'a'), ordinary(6, std::move(sizes))}}))}});
  };
  EXPECT_TRUE(with({4}));
  EXPECT_TRUE(with({3}));
  EXPECT_TRUE(refuses(with({5}), foreign_input, "a", "need 20 bytes and its segment has 16"));
  EXPECT_TRUE(refuses(with({65536, 65536}), foreign_input, "a", "need 17179869184"));
  EXPECT_TRUE(refuses(with({0x7FFFFFFF, 0x7FFFFFFF, 0x7FFFFFFF}), foreign_input, "a", "over 2^64"));
}

TEST_F(ExecutorchTest, UnknownElementTypesAreNamed) {
  EXPECT_TRUE(refuses(convert({{"", put("w.ptd", flat_tensor({{"a", "aaaa", ordinary(99, {4})}}))}}),
                      unsupported_input, "a", "99"));
}

TEST_F(ExecutorchTest, MutableTensorsOfOneSegmentStayApart) {
  std::vector<SampleName> names{{"cache0", std::string(64, '\0'), ordinary(6, {16})}};
  for (int i = 1; i < 60; ++i)
    names.push_back({"cache" + std::to_string(i), "", ordinary(6, {16}), "cache0"});
  ImportOptions options;
  options.mutable_globs = {"cache*"};
  const auto file = must(convert({{"", put("w.ptd", flat_tensor(names))}}, {}, options));
  EXPECT_EQ(file.model().storages.size(), 60U);
  EXPECT_EQ(report_.mutable_tensors, 60U);
}

// --- manifests -----------------------------------------------------------------------------------------

struct TwoMethods {
  std::string prefill, decode, data;
};

/// 64 KiB that both share, 4 KiB more for decode.
TwoMethods two_methods() {
  const auto shared = weight("layers.w", {16384}, 65536), own = weight("decode.only", {1024}, 4096);
  std::string bytes(65536, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 31 >> 3);
  return {manifest('0', {shared}), manifest('0', {shared, own}),
          flat_tensor({opaque(shared, bytes), opaque(own, bytes.substr(7, 4096))})};
}

TEST_F(ExecutorchTest, ATensorMoreCostsATensorMore) {
  const auto two = two_methods();
  const auto prefill = put("prefill.manifest", two.prefill), decode = put("decode.manifest", two.decode);
  const auto data = put("weights.ptd", two.data);
  ImportOptions options;
  options.immutable_globs = {"*"};
  const auto one = must(convert({{"prefill", prefill}}, {data}, options));
  const auto both = must(convert({{"prefill", prefill}, {"decode", decode}}, {data}, options));
  EXPECT_EQ(both.model().methods.size(), 2U);
  EXPECT_EQ(both.model().tensors.size(), 2U);
  std::uint64_t bytes = 0;
  for (const auto& content : both.model().contents) bytes += content.size;
  EXPECT_EQ(bytes, 65536U + 4096U);
  EXPECT_TRUE(notes_say("method \"decode\": 2 weights, of which 0 are state and 2 are not"));
  EXPECT_EQ(storage_of(both, "layers.w").placement, Placement::device);
}

TEST_F(ExecutorchTest, SixtyEqualCachesAreSixtyStorages) {
  for (const char digit : {'0', '3', '4', '5'}) {
    SCOPED_TRACE(digit);
    std::vector<SampleEntry> entries;
    std::vector<SampleName> names;
    for (int i = 0; i < 60; ++i) {
      entries.push_back(weight("layers." + std::to_string(i) + ".kv_cache", {256}, 1024));
      names.push_back({entries.back().key, i == 0 ? std::string(1024, '\0') : "", std::nullopt,
                       i == 0 ? "" : entries.front().key});
    }
    const std::vector<SampleVariant> variants{{digit == '4' || digit == '5' ? 90U : 0U, 0, 0, "so"}};
    const auto payload = manifest(digit, entries, variants);
    const auto file = must(convert({{"prefill", put("p", payload)}, {"decode", put("d", payload)}},
                                   {put("w.ptd", flat_tensor(names))}));
    ASSERT_EQ(file.model().storages.size(), 60U);
    for (const auto& storage : file.model().storages) EXPECT_EQ(storage.access, Access::mutable_);
    EXPECT_EQ(file.model().methods.at(1).tensors.size(), 60U);
    EXPECT_TRUE(notes_say("60 weights, of which 60 are state and 0 are not"));
  }
}

TEST_F(ExecutorchTest, DigitTwoSaysWhatIsState) {
  for (const char digit : {'1', '2'}) {
    SCOPED_TRACE(digit);
    SampleEntry w = weight("w", {4}, 16), cache = weight("cache", {4}, 16), view = weight("view", {2}, 16);
    w.key = std::string(64, '1') + "_cuda_weight_storage";
    cache.key = view.key = std::string(64, '2') + "_cuda_weight_storage";
    cache.group = view.group = 1;
    view.offset = 2;
    cache.shareable = 0;
    const auto file = must(convert(
        {{"m", put("p", manifest(digit, {w, cache, view}))}},
        {put("w.ptd", flat_tensor({{w.key, "wwwwwwwwwwwwwwww"}, {cache.key, std::string(16, '\0')}}))}));
    EXPECT_EQ(storage_of(file, "w").access, Access::immutable);
    EXPECT_EQ(storage_of(file, "cache").access, Access::mutable_);
    EXPECT_EQ(tensor(file, "cache").storage, tensor(file, "view").storage);
    EXPECT_TRUE(notes_say("3 weights, of which 2 are state and 1 are not, as its manifest says"));
  }
}

TEST_F(ExecutorchTest, MutableAndImmutableOverrideWhatFilesSay) {
  const auto a = weight("a", {4}, 16), b = weight("b", {4}, 16);
  const auto data = put("w.ptd", flat_tensor({opaque(a, "aaaaaaaaaaaaaaaa"), opaque(b, "bbbbbbbbbbbbbbbb")}));
  ImportOptions options;
  options.immutable_globs = {"*"};
  options.mutable_globs = {"b"};
  const auto file = must(convert({{"m", put("p", manifest('3', {a, b}))}}, {data}, options));
  EXPECT_EQ(storage_of(file, "a").access, Access::immutable);
  EXPECT_EQ(storage_of(file, "b").access, Access::mutable_);
}

TEST_F(ExecutorchTest, LibrariesKeepTheirConstantsAndUsersTheirs) {
  const auto local = [](const std::string& library) {
    auto entry = weight("_tensor_constant0", {4}, 16);
    entry.key = "cuda_fqn_weight:cuda:" + library + ":_tensor_constant0";
    return entry;
  };
  const auto users = weight("_tensor_constant0", {4}, 16);
  const auto file = must(convert({{"prefill", put("p", manifest('3', {local("so1")}, {{0, 0, 0, "so1"}}))},
                                  {"decode", put("d", manifest('3', {local("so2")}, {{0, 0, 0, "so2"}}))},
                                  {"encoder", put("e", manifest('3', {users}, {{0, 0, 0, "so3"}}))}},
                                 {put("w.ptd", flat_tensor({opaque(local("so1"), "1111111111111111"),
                                                            opaque(local("so2"), "2222222222222222"),
                                                            opaque(users, "uuuuuuuuuuuuuuuu")}))}));
  const auto prefill = *file.model().find_library("prefill"), decode = *file.model().find_library("decode");
  EXPECT_EQ(bytes_in(file, tensor(file, "_tensor_constant0", {OwnerKind::library, prefill})),
            "1111111111111111");
  EXPECT_EQ(bytes_in(file, tensor(file, "_tensor_constant0", {OwnerKind::library, decode})),
            "2222222222222222");
  EXPECT_EQ(bytes_in(file, tensor(file, "_tensor_constant0")), "uuuuuuuuuuuuuuuu");
}

// The key may name any of the payload's variants; they are one library.
TEST_F(ExecutorchTest, VariantsAreOneLibrary) {
  auto local = weight("_tensor_constant0", {4}, 16);
  local.key = "cuda_fqn_weight:cuda:so80:_tensor_constant0";
  const auto payload =
      manifest('0', {local}, {{80, 0, 0, "so80"}, {90, 0, 0, "so90"}, {80, 80, 1, "fallback"}});
  const auto file =
      must(convert({{"m", put("p", payload)}},
                   {put("w.ptd", flat_tensor({opaque(local, "1111111111111111"), {"so90", "code"}}))}));
  ASSERT_EQ(file.model().libraries.size(), 1U);
  const auto& variants = file.model().libraries[0].variants;
  ASSERT_EQ(variants.size(), 3U);
  EXPECT_TRUE(std::ranges::any_of(variants, [](const auto& v) { return v.sm == 90 && v.blob != no_index; }));
  EXPECT_TRUE(std::ranges::any_of(variants, [](const auto& v) { return v.kind == VariantKind::fallback; }));
  EXPECT_EQ(tensor(file, "_tensor_constant0", {OwnerKind::library, 0}).owner.kind, OwnerKind::library);
  EXPECT_TRUE(notes_say("code of \"m\" is in none of the files"));
}

TEST_F(ExecutorchTest, TheSameNameWithOtherBytesIsRefusedNamingBoth) {
  const auto entry = weight("layers.w", {4}, 16);
  const auto payload = put("p.manifest", manifest('3', {entry}));
  const auto a = put("a.ptd", flat_tensor({opaque(entry, "aaaaaaaaaaaaaaaa")}));
  const auto b = put("b.ptd", flat_tensor({opaque(entry, "bbbbbbbbbbbbbbbb")}));
  const auto refused = convert({{"m", payload}}, {a, b});
  ASSERT_TRUE(refuses(refused, conflict, "layers.w", a.string()));
  EXPECT_NE(refused.error().message.find(b.string()), std::string::npos);
  const auto same = put("c.ptd", flat_tensor({opaque(entry, "aaaaaaaaaaaaaaaa")}));
  EXPECT_EQ(must(convert({{"m", payload}}, {a, same})).model().storages.size(), 1U);
}

TEST_F(ExecutorchTest, NamedTensorsWithOtherBytesAreRefusedUnlessTheirMethodsOwnThem) {
  const auto a =
      put("a.ptd", flat_tensor({{"w", "aaaa", ordinary(6, {1})}, {"t", "tttt", ordinary(6, {1})}}));
  const auto b =
      put("b.ptd", flat_tensor({{"w", "bbbb", ordinary(6, {1})}, {"t", "tttt", ordinary(6, {1})}}));
  const auto refused = convert({{"prefill", a}, {"decode", b}});
  ASSERT_TRUE(refuses(refused, conflict, "w", a.string()));
  EXPECT_NE(refused.error().message.find(b.string()), std::string::npos);
  ImportOptions options;
  options.own_globs = {"w"};
  const auto file = must(convert({{"prefill", a}, {"decode", b}}, {}, options));
  const auto decode = *file.model().find_method("decode");
  EXPECT_EQ(bytes_in(file, tensor(file, "w", {OwnerKind::method, decode})), "bbbb");
  EXPECT_EQ(file.model().storages.size(), 3U);
}

TEST_F(ExecutorchTest, AnotherViewOfOneStorageBelongsToItsMethod) {
  auto whole = weight("w", {4}, 16), part = weight("w", {2}, 16);
  part.offset = 2;
  const auto file = must(
      convert({{"prefill", put("p", manifest('3', {whole}))}, {"decode", put("d", manifest('3', {part}))}},
              {put("w.ptd", flat_tensor({opaque(whole, "aaaabbbbccccdddd")}))}));
  EXPECT_EQ(file.model().storages.size(), 1U);
  const auto decode = *file.model().find_method("decode");
  EXPECT_EQ(bytes_in(file, tensor(file, "w", {OwnerKind::method, decode})), "ccccdddd");
  EXPECT_EQ(bytes_in(file, tensor(file, "w")), "aaaabbbbccccdddd");
}

TEST_F(ExecutorchTest, OneNameOnTwoDevicesIsTwoStorages) {
  auto gpu = weight("w", {4}, 16), cpu = weight("w", {4}, 16);
  cpu.key = "cuda_fqn_weight:cpu:w";
  cpu.device = 0;
  const auto file = must(convert(
      {{"prefill", put("p", manifest('3', {gpu}))}, {"decode", put("d", manifest('3', {cpu}))}},
      {put("w.ptd", flat_tensor({opaque(gpu, "aaaaaaaaaaaaaaaa"), opaque(cpu, "aaaaaaaaaaaaaaaa")}))}));
  ASSERT_EQ(file.model().storages.size(), 2U);
  const auto decode = *file.model().find_method("decode");
  EXPECT_EQ(storage_of(file, "w", {OwnerKind::method, decode}).placement, Placement::host);
}

TEST_F(ExecutorchTest, CachesOfTheRuntimeAreExternal) {
  const auto cache = weight("__et_offgraph_kv_layer_0_k", {4}, 16);
  const auto file = must(convert({{"m", put("p", manifest('3', {cache}))}}, {put("w.ptd", flat_tensor({}))}));
  EXPECT_EQ(storage_of(file, cache.fqn).origin, Origin::external);
  EXPECT_EQ(storage_of(file, cache.fqn).access, Access::mutable_);
}

TEST_F(ExecutorchTest, MissingAndUnfittingDataIsNamed) {
  const auto entry = weight("w", {4}, 16);
  const auto payload = put("p", manifest('3', {entry}));
  EXPECT_TRUE(refuses(convert({{"m", payload}}), not_found, entry.key, "--data"));
  EXPECT_TRUE(refuses(convert({{"m", payload}}, {put("w.ptd", flat_tensor({opaque(entry, "short")}))}),
                      foreign_input, "w", "has 5"));
  const auto other = put("x", "not a FlatTensor file");
  EXPECT_TRUE(refuses(convert({{"m", payload}}, {other}), unsupported_input, other.string(), "a text file"));
  EXPECT_TRUE(refuses(convert({}, {put("w.ptd", flat_tensor({}))}), argument, "", "none among the inputs"));
}

TEST_F(ExecutorchTest, ViewsOutOfBoundsAreRefused) {
  auto entry = weight("w", {5}, 16);
  EXPECT_TRUE(refuses(convert({{"m", put("p", manifest('3', {entry}))}},
                              {put("w.ptd", flat_tensor({opaque(entry, "aaaaaaaaaaaaaaaa")}))}),
                      view_bounds, "w", ""));
}

// --- older payloads ------------------------------------------------------------------------------------

TEST_F(ExecutorchTest, TheOldKeyListBecomesBlobs) {
  const std::string so = std::string(64, 'a') + "_so_blob", weights = std::string(64, 'b') + "_weights_blob";
  const auto file = must(convert({{"prefill", put("p", so + "\n" + weights)}},
                                 {put("w.ptd", flat_tensor({{so, "code"}, {weights, "all weights"}}))}));
  ASSERT_EQ(file.model().blobs.size(), 2U);
  EXPECT_EQ(file.model().methods.at(0).blobs.size(), 1U);
  EXPECT_NE(file.model().libraries.at(0).variants.at(0).blob, no_index);
  EXPECT_TRUE(notes_say("opaque blob of 11 bytes"));
}

TEST_F(ExecutorchTest, TheOldestPayloadIsEmpty) {
  const auto pte = put("m.pte", program({{"prefill", {{"CudaBackend", ""}}}}, {{"prefill_so_blob", "code"}}));
  const auto file =
      must(convert({{"", pte}}, {put("w.ptd", flat_tensor({{"prefill_weights_blob", "weights"}}))}));
  EXPECT_TRUE(file.model().find_blob("prefill_so_blob"));
  EXPECT_TRUE(file.model().find_blob("prefill_weights_blob"));
  const auto unnamed = put("n.pte", program({{"forward", {{"CudaBackend", ""}}}}, {{"so_blob", "code"}}));
  EXPECT_TRUE(must(convert({{"", unnamed}}, {put("v.ptd", flat_tensor({{"weights_blob", "weights"}}))}))
                  .model()
                  .find_blob("weights_blob"));
}

// --- programs ------------------------------------------------------------------------------------------

TEST_F(ExecutorchTest, AProgramIsAllThatIsNeeded) {
  const auto w = weight("w", {4}, 16), cache = weight("kv.cache", {4}, 16),
             other = weight("kv.other", {4}, 16);
  const auto list = R"({"version": 1, "mutable_buffers": ["kv.cache", "kv.other"]})";
  const auto pte = put(
      "m.pte", program({{"prefill", {{"CudaBackend", manifest('3', {w, cache, other}, {{0, 0, 0, "so1"}})}}},
                        {"decode", {{"CudaBackend", manifest('3', {w, cache, other}, {{0, 0, 0, "so2"}})}}},
                        {"get_mutable_buffer_metadata", {}, {}, list}},
                       {{"so1", "code one"}, {"so2", "code two"}}));
  const auto data = put("w.ptd", flat_tensor({opaque(w, "wwwwwwwwwwwwwwww"),
                                              opaque(cache, std::string(16, '\0')),
                                              {other.key, "", std::nullopt, cache.key}}));
  const auto file = must(convert({{"", pte}, {"", data}}));
  EXPECT_EQ(file.model().methods.size(), 2U);
  EXPECT_EQ(file.model().storages.size(), 3U);
  EXPECT_EQ(storage_of(file, "w").access, Access::immutable);
  EXPECT_EQ(storage_of(file, "kv.cache").access, Access::mutable_);
  EXPECT_EQ(file.model().libraries.size(), 2U);
  EXPECT_EQ(file.model().blobs.size(), 2U);
  EXPECT_TRUE(notes_say("3 weights, of which 2 are state and 1 are not, as the program's list"));
  EXPECT_TRUE(notes_say("--keep-program"));

  must(export_flat_tensor(file, in("back.ptd")));
  const auto back = file_test::file_text(in("back.ptd"));
  const auto parsed = must(parse_flat_tensor(bytes_of(back), back.size()));
  ASSERT_EQ(parsed.entries.size(), 3U) << "the program carries its code itself";
  for (const auto& entry : parsed.entries) {
    const auto range = parsed.segments[entry.segment];
    EXPECT_EQ(back.substr(range.offset, range.size),
              entry.key == w.key ? std::string("wwwwwwwwwwwwwwww") : std::string(16, '\0'));
    EXPECT_FALSE(entry.layout);
  }
}

TEST_F(ExecutorchTest, AProgramCanBeKept) {
  const auto bytes = program({{"forward", {}, {{"w"}}}});
  const auto data = put("w.ptd", flat_tensor({{"w", "wwww", ordinary(6, {1})}}));
  ImportOptions options;
  options.keep_program = true;
  const auto file = must(convert({{"", put("m.pte", bytes)}}, {data}, options));
  const auto blob = file.model().find_blob("m.pte");
  ASSERT_TRUE(blob);
  std::vector<std::byte> kept(file.model().blobs[*blob].size);
  must(file.read_blob(*blob, 0, kept));
  EXPECT_EQ(text_of(kept), bytes);
  EXPECT_EQ(file.model().methods.at(0).blobs.size(), 1U);
}

TEST_F(ExecutorchTest, ExternalTensorsAreBoundByTheMethodsThatUseThem) {
  const auto pte =
      put("m.pte", program({{"prefill", {}, {{"w"}, {"p"}}}, {"decode", {}, {{"w"}, {"state", true}}}}));
  const auto data = put("w.ptd", flat_tensor({{"w", "wwww", ordinary(6, {1})},
                                              {"p", "pppp", ordinary(6, {1})},
                                              {"state", "", ordinary(6, {1}), "p"},
                                              {"left", "llll", ordinary(6, {1})}}));
  const auto file = must(convert({{"", pte}}, {data}));
  const auto& model = file.model();
  EXPECT_EQ(model.methods[*model.find_method("prefill")].tensors.size(), 2U);
  EXPECT_EQ(model.methods[*model.find_method("decode")].tensors.size(), 2U);
  EXPECT_EQ(model.tensors.size(), 4U);
  EXPECT_NE(tensor(file, "state").storage, tensor(file, "p").storage);
  EXPECT_EQ(storage_of(file, "state").access, Access::mutable_);
  EXPECT_TRUE(notes_say("1 tensors belong to no method"));
  EXPECT_TRUE(refuses(convert({{"", pte}}, {put("v.ptd", flat_tensor({}))}), not_found, "p", "--data"));
}

TEST_F(ExecutorchTest, ARenamedProgramHasOneMethod) {
  const auto data = put("w.ptd", flat_tensor({{"w", "wwww", ordinary(6, {1})}}));
  const auto one = put("one.pte", program({{"forward", {}, {{"w"}}}}));
  EXPECT_TRUE(must(convert({{"decode", one}}, {data})).model().find_method("decode"));
  const auto two = put("two.pte", program({{"a", {}, {{"w"}}}, {"b", {}, {{"w"}}}}));
  EXPECT_TRUE(refuses(convert({{"decode", two}}, {data}), unsupported_input, two.string(), "2 methods"));
}

TEST_F(ExecutorchTest, ABadListOfMutableBuffersIsRefused) {
  for (const auto* list : {"no json", "[]", "{}", R"({"version":2,"mutable_buffers":[]})", R"({"version":1})",
                           R"({"version":1,"mutable_buffers":[1]})"}) {
    const auto pte = put("m.pte", program({{"forward"}, {"get_mutable_buffer_metadata", {}, {}, list}}));
    EXPECT_TRUE(refuses(convert({{"", pte}}), foreign_input, "get_mutable_buffer_metadata", "--mutable"))
        << list;
  }
}

// --- export --------------------------------------------------------------------------------------------

TEST_F(ExecutorchTest, ExportsOneMethodOrAll) {
  const auto file = must(convert({{"prefill", put("a.ptd", flat_tensor({{"w", "wwww", ordinary(6, {1})}}))},
                                  {"decode", put("b.ptd", flat_tensor({{"w", "wwww", ordinary(6, {1})},
                                                                       {"d", "dddd", ordinary(6, {1})}}))}}));
  const auto keys = [&](const std::string& method) {
    must(export_flat_tensor(file, in("out.ptd"), {method, 0, {}}));
    const auto text = file_test::file_text(in("out.ptd"));
    return must(parse_flat_tensor(bytes_of(text), text.size())).entries.size();
  };
  EXPECT_EQ(keys("prefill"), 1U);
  EXPECT_EQ(keys("decode"), 2U);
  EXPECT_EQ(keys(""), 2U);
  EXPECT_TRUE(refuses(export_flat_tensor(file, in("out.ptd"), {"none", 0, {}}), not_found, "none", ""));
}

StorageSpec stored(std::vector<std::byte> bytes) {
  StorageSpec spec;
  spec.size = bytes.size();
  spec.content = own_memory(std::move(bytes));
  return spec;
}

TEST_F(ExecutorchTest, ExportNamesEveryDtypeThatExecutorchLacks) {
  Writer writer;
  for (const auto* name : {"a", "b"}) {
    const auto storage = must(writer.add_storage(stored({std::byte{1}})));
    TensorSpec tensor;
    tensor.name = name;
    tensor.dtype = DType::float8_e8m0fnu;
    tensor.storage = storage;
    must(writer.add_tensor(tensor));
  }
  std::vector<std::byte> bytes;
  must(writer.write(bytes));
  const auto file = must(Reader::open(own_memory(std::move(bytes))));
  EXPECT_TRUE(refuses(export_flat_tensor(file, in("out.ptd")), unsupported_input, "",
                      R"(2 tensors have dtypes that ExecuTorch lacks: "a" (float8_e8m0fnu), "b")"));
  EXPECT_EQ(names(), std::vector<std::string>{});
}

TEST_F(ExecutorchTest, ExportGathersWhatIsNoDimOrder) {
  Writer writer;
  std::vector<std::byte> elements(8);
  for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = std::byte(i + 1);
  const auto storage = must(writer.add_storage(stored(elements)));
  TensorSpec tensor;
  tensor.name = "every.second";
  tensor.storage = storage;
  tensor.sizes = {4};
  tensor.strides = {2};
  must(writer.add_tensor(tensor));
  std::vector<std::byte> bytes;
  must(writer.write(bytes));
  const auto report =
      must(export_flat_tensor(must(Reader::open(own_memory(std::move(bytes)))), in("out.ptd")));
  const auto text = file_test::file_text(in("out.ptd"));
  const auto parsed = must(parse_flat_tensor(bytes_of(text), text.size()));
  EXPECT_EQ(text.substr(parsed.segments.at(0).offset), "\1\3\5\7");
  EXPECT_NE(report.notes.at(0).find("row-major"), std::string::npos);
}

}  // namespace
}  // namespace ptd::foreign
