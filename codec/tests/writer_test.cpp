// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// What a Writer merges, what it keeps apart, what it refuses, and what it leaves behind when it fails.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <set>
#include <thread>

#include "tests/write_samples.hpp"
#include "writer/output.hpp"
#include "writer/plan.hpp"
#include "writer/stream.hpp"

namespace ptd {
namespace {

using namespace write_test;

std::uint32_t storage_of_tensor(const Reader& reader, std::string_view name, Owner owner = {}) {
  return tensor_of(reader, name, owner).storage;
}
std::uint32_t content_of_tensor(const Reader& reader, std::string_view name, Owner owner = {}) {
  return reader.model().storages[storage_of_tensor(reader, name, owner)].content;
}

Reader round(Writer& writer, const WriteOptions& options = WriteOptions()) {
  auto reader = opened(written(writer, options));
  must(reader.verify());
  return reader;
}

Result<WriteReport> try_write(Writer& writer, const WriteOptions& options = WriteOptions()) {
  Buffer file = bytes_of("untouched");
  auto report = writer.write(file, options);
  EXPECT_TRUE(report || file == bytes_of("untouched")) << "a failed write must leave the target as it was";
  return report;
}

// --- sharing -------------------------------------------------------------------------------------------

TEST(WriterSharing, EqualContentIsStoredOnce) {
  Writer writer;
  const auto prefill = must(writer.add_method("prefill")), decode = must(writer.add_method("decode"));
  const auto weight = noise(300'000);
  must(writer.bind(prefill, put(writer, "embed", weight, {.label = "prefill.safetensors"})));
  must(writer.bind(prefill,
                   put(writer, "lm_head", file_like(weight), {.label = "prefill.safetensors"})));  // tied
  must(writer.bind(decode, put(writer, "decoder.head", one_way(weight), {.label = "decode.safetensors"})));
  must(writer.bind(decode, put(writer, "embed", weight, {.label = "decode.safetensors"})));
  Buffer file;
  const auto report = must(writer.write(file));
  EXPECT_EQ(report.input_bytes, 1'200'000U);
  EXPECT_EQ(report.shared_bytes, 900'000U);
  EXPECT_EQ(report.raw_bytes, 300'000U);
  EXPECT_EQ(report.stored_bytes, 300'000U);
  EXPECT_EQ(report.zero_bytes, 0U);
  EXPECT_EQ(report.file_bytes, file.size());
  const auto reader = opened(file);
  EXPECT_EQ(report.model_id, reader.model_id());
  EXPECT_EQ(must(reader.verify()).segments, 1U);
  EXPECT_EQ(reader.model().tensors.size(), 3U);
  EXPECT_EQ(reader.model().storages.size(), 1U);
  EXPECT_EQ(reader.model().methods[0].tensors.size(), 2U);
  EXPECT_EQ(reader.model().methods[1].tensors.size(), 2U);
  for (const auto* name : {"embed", "lm_head", "decoder.head"}) EXPECT_EQ(read_all(reader, name), weight);
}

TEST(WriterSharing, ABlobAndATensorShareContent) {
  Writer writer;
  must(writer.add_blob({"blob", own_memory(noise(5000)), 0, "", {}}));
  put(writer, "tensor", noise(5000));
  const auto reader = round(writer);
  EXPECT_EQ(reader.layout().segments.size(), 1U);
  EXPECT_EQ(reader.model().blobs[0].content, reader.model().storages[0].content);
}

TEST(WriterSharing, ZerosTakeNoRoom) {
  Writer writer;
  put(writer, "a", zero_source(100 << 20));
  put(writer, "b", Buffer(5'000'000));
  put(writer, "c", nullptr, {.sizes = {{1000}}, .size = 1000});
  must(writer.add_blob({"d", zero_source(70'000), 0, "", {}}));
  Buffer file;
  const auto report = must(writer.write(file, options_of(true)));
  EXPECT_LT(file.size(), 2000U);
  EXPECT_EQ(report.input_bytes, report.zero_bytes);
  EXPECT_EQ(report.zero_bytes, std::uint64_t{100 << 20} + 5'000'000 + 1000 + 70'000);
  EXPECT_EQ(report.shared_bytes + report.raw_bytes + report.stored_bytes, 0U);
  const auto reader = opened(file);
  must(reader.verify());
  EXPECT_EQ(reader.model().contents.size(), 0U);
  EXPECT_EQ(reader.model().storages.size(), 3U);  // of three sizes
  EXPECT_TRUE(reader.model().storages[0].is_zeros());
  EXPECT_EQ(read_all(reader, "b"), Buffer(5'000'000));
  Buffer blob(70'000, std::byte{1});
  must(reader.read_blob(0, 0, blob));
  EXPECT_EQ(blob, Buffer(70'000));
}

// C094: ratios in the tens of thousands are real.
TEST(WriterSharing, NearlyAllZerosTakeNextToNoRoom) {
  Writer writer;
  Buffer content(32 << 20);
  content[20 << 20] = std::byte{7};
  put(writer, "sparse", content);
  Buffer file;
  const auto report = must(writer.write(file, options_of(true, 0, 24)));
  EXPECT_LT(report.stored_bytes, content.size() / 1000);
  EXPECT_EQ(read_all(opened(file), "sparse"), content);
}

// C074: state is memory of its own, however much it looks like something else.
TEST(WriterSharing, MutableStoragesAreNeverMerged) {
  Writer writer;
  for (int i = 0; i < 60; ++i)
    put(writer, "cache." + std::to_string(i), zero_source(4096), {.access = Access::mutable_});
  put(writer, "zero weight", zero_source(4096));
  put(writer, "zero weight too", Buffer(4096));
  const auto state = noise(4096);
  put(writer, "state.0", state, {.access = Access::mutable_});
  put(writer, "state.1", state, {.access = Access::mutable_});
  put(writer, "weight.0", state);
  put(writer, "weight.1", state);
  const auto reader = round(writer);
  EXPECT_EQ(reader.model().storages.size(), 60U + 1 + 2 + 1);
  EXPECT_EQ(reader.model().contents.size(), 1U);
  EXPECT_NE(storage_of_tensor(reader, "state.0"), storage_of_tensor(reader, "state.1"));
  EXPECT_EQ(content_of_tensor(reader, "state.0"), content_of_tensor(reader, "state.1"));
  EXPECT_EQ(storage_of_tensor(reader, "weight.0"), storage_of_tensor(reader, "weight.1"));
  EXPECT_NE(storage_of_tensor(reader, "weight.0"), storage_of_tensor(reader, "state.0"));
  EXPECT_EQ(storage_of_tensor(reader, "zero weight"), storage_of_tensor(reader, "zero weight too"));
  EXPECT_NE(storage_of_tensor(reader, "zero weight"), storage_of_tensor(reader, "cache.0"));
  EXPECT_EQ(read_all(reader, "state.1"), state);
}

TEST(WriterSharing, ImmutableStoragesOfAnotherSizeOrPlaceStayApart) {
  Writer writer;
  const auto content = noise(1000);
  put(writer, "a", content);
  put(writer, "b", content, {.size = 1001});
  put(writer, "c", content, {.placement = Placement::host});
  put(writer, "d", content, {.placement = Placement::device});
  put(writer, "e", content);
  const auto reader = round(writer);
  EXPECT_EQ(reader.model().storages.size(), 4U);
  EXPECT_EQ(reader.model().contents.size(), 1U);
  EXPECT_EQ(storage_of_tensor(reader, "a"), storage_of_tensor(reader, "e"));
}

// C067: a source's address says nothing.
TEST(WriterSharing, MemoryThatIsUsedAgainIsNotTheSame) {
  Writer writer;
  for (unsigned i = 0; i < 50; ++i) put(writer, "t" + std::to_string(i), own_memory(noise(512, i)));
  Buffer reused = noise(512, 100);
  put(writer, "before", borrow_memory(reused));
  const auto file = written(writer);
  const auto reader = opened(file);
  EXPECT_EQ(reader.model().contents.size(), 51U);
  for (unsigned i = 0; i < 50; ++i) EXPECT_EQ(read_all(reader, "t" + std::to_string(i)), noise(512, i));
}

// C080: a view out of a large parent is a slice of it as a source, and costs what it shows.
TEST(WriterSharing, ASliceOfASourceIsAllThatIsStored) {
  Writer writer;
  const auto parent = own_memory(noise(10 << 20));
  put(writer, "row", must(slice_source(parent, 5 << 20, 4096)));
  Buffer file;
  EXPECT_EQ(must(writer.write(file)).raw_bytes, 4096U);
  EXPECT_LT(file.size(), 8192U);
  EXPECT_EQ(read_all(opened(file), "row"), slice(parent->in_memory(), 5 << 20, 4096));
}

TEST(WriterSharing, DuplicatesAreTakenBackWhateverTheNumberOfThreads) {
  std::set<std::vector<std::byte>> files;
  const auto big = noise(5 << 20, 1), bigger = noise((6 << 20) + 12'345, 2);
  for (const unsigned threads : {1U, 2U, 7U, 16U}) {
    Writer writer;
    for (int i = 0; i < 4; ++i) {
      const auto suffix = std::to_string(i);
      put(writer, "a" + suffix, file_like(big), {.access = Access::mutable_});
      put(writer, "b" + suffix, zero_source((3 << 20) + 1));
      put(writer, "c" + suffix, own_memory(noise(10 + i, 50 + i)));
      put(writer, "d" + suffix, file_like(bigger));
    }
    Buffer file;
    const auto report = must(writer.write(file, options_of(false, threads)));
    EXPECT_EQ(report.raw_bytes, big.size() + bigger.size() + 10 + 11 + 12 + 13);
    EXPECT_LT(file.size(), report.raw_bytes + (64 << 10));
    files.insert(std::move(file));
  }
  ASSERT_EQ(files.size(), 1U);
  const auto reader = opened(*files.begin());
  must(reader.verify());
  EXPECT_EQ(read_all(reader, "a3"), big);
  EXPECT_EQ(read_all(reader, "d2"), bigger);
}

class WriterTakesBack : public file_test::Folder {};

// Zeros are not written where nothing was; what was taken back must not show there, nor in padding.
TEST_F(WriterTakesBack, AndNothingShowsOfIt) {
  const auto big = noise(5 << 20);
  Buffer holes(4 << 20);
  holes.front() = holes.back() = std::byte{1};
  for (const unsigned threads : {1U, 7U}) {
    Writer writer;
    put(writer, "a", file_like(big));
    put(writer, "b", file_like(big), {.access = Access::mutable_});
    put(writer, "c", noise(10, 2));
    put(writer, "d", file_like(holes));
    put(writer, "e", file_like(big), {.access = Access::mutable_});
    put(writer, "f", noise(300'000, 3));
    must(writer.write(in("m.ptd"), options_of(false, threads)));
    const auto from_file = must(Reader::open(in("m.ptd")));
    must(from_file.verify());
    EXPECT_EQ(read_all(from_file, "d"), holes);
    EXPECT_EQ(read_all(round(writer, options_of(false, threads)), "d"), holes);
  }
}

// What holds for the whole of a content is not what holds for its last piece, or its first.
TEST(WriterSharing, PiecesOfSeveralKinds) {
  const Buffer zeros(1 << 20), random = noise(1 << 20, 1), quiet = soft(1 << 20, 2);
  const Buffer* kinds[] = {&zeros, &random, &quiet};
  for (const bool compress : {false, true}) {
    Writer writer;
    std::vector<Buffer> contents;
    for (const auto* first : kinds)
      for (const auto* second : kinds)
        for (const auto* third : kinds) {
          auto content = *first;
          content.insert(content.end(), second->begin(), second->end());
          content.insert(content.end(), third->begin(), third->begin() + 1000);
          const auto name = "t" + std::to_string(contents.size());
          put(writer, name, borrow_memory(contents.emplace_back(std::move(content))));
        }
    const auto reader = round(writer, options_of(compress));
    for (std::size_t i = 0; i < contents.size(); ++i)
      EXPECT_EQ(read_all(reader, "t" + std::to_string(i)), contents[i]) << i;
  }
}

// --- one key twice -------------------------------------------------------------------------------------

TEST(WriterKeys, TheSameTensorFromTwoInputsIsOne) {
  for (const auto access : {Access::immutable, Access::mutable_}) {
    Writer writer;
    const auto content = noise(2 << 20);
    const auto first = put(writer, "w", content, {.access = access, .label = "a"});
    const auto again = put(writer, "w", file_like(content), {.access = access, .label = "b"});
    EXPECT_EQ(first, again);
    const auto reader = round(writer);
    EXPECT_EQ(reader.model().tensors.size(), 1U);
    EXPECT_EQ(reader.model().storages.size(), 1U);
    EXPECT_EQ(reader.layout().segments.size(), 1U);
  }
}

class WriterConflicts : public file_test::Folder {};

TEST_F(WriterConflicts, OfBytesNameBothInputsAndKeepTheOldFile) {
  file_test::write_file(in("m.ptd"), "the old file");
  for (const bool zero : {false, true}) {
    Writer writer;
    auto one = noise(3 << 20), two = one;
    two.back() ^= std::byte{1};
    if (zero) two = Buffer(two.size());
    put(writer, "w", one, {.label = "a.safetensors"});
    put(writer, "w", zero ? zero_source(two.size()) : own_memory(two), {.label = "b.safetensors"});
    for (const unsigned threads : {1U, 7U}) {
      const auto report = writer.write(in("m.ptd"), options_of(false, threads));
      const auto error = error_of(report);
      EXPECT_EQ(rule_of(report), "conflict WRT-4");
      EXPECT_EQ(error.subject, "w");
      EXPECT_NE(error.message.find("a.safetensors"), std::string::npos) << error.message;
      EXPECT_NE(error.message.find("b.safetensors"), std::string::npos) << error.message;
    }
  }
  EXPECT_EQ(file_test::file_text(in("m.ptd")), "the old file");
  EXPECT_EQ(names(), std::vector<std::string>{"m.ptd"});
}

TEST(WriterKeys, ZerosAndNoBytesAgree) {
  Writer writer;
  put(writer, "w", nullptr, {.sizes = {{100}}, .label = "a", .size = 100});
  put(writer, "w", zero_source(100), {.label = "b"});
  put(writer, "w", Buffer(100), {.label = "c"});
  EXPECT_EQ(round(writer).model().contents.size(), 0U);
  put(writer, "w", noise(100), {.label = "d"});
  const auto error = error_of(try_write(writer));
  EXPECT_EQ(error.code, ErrorCode::conflict);
  EXPECT_NE(error.message.find("\"d\""), std::string::npos) << error.message;
}

TEST(WriterKeys, AnyDifferenceIsAConflict) {
  struct Row {
    std::string_view what;
    Put how;
    unsigned bytes = 64;
  };
  const Put base{.dtype = DType::float32, .sizes = {{2, 3}}, .strides = {{3, 1}}, .label = "one"};
  const auto with = [&](auto change) {
    Put how = base;
    how.label = "two";
    change(how);
    return how;
  };
  const Row rows[] = {
      {"dtype", with([](Put& p) { p.dtype = DType::int32; })},
      {"sizes", with([](Put& p) {
         p.sizes = {{3, 2}};
       })},
      {"rank", with([](Put& p) {
         p.sizes = {{2, 3, 1}}, p.strides = {{3, 1, 1}};
       })},
      {"strides", with([](Put& p) {
         p.strides = {{4, 1}};
       })},
      {"offset", with([](Put& p) { p.offset = 1; })},
      {"access", with([](Put& p) { p.access = Access::mutable_; })},
      {"placement", with([](Put& p) { p.placement = Placement::host; })},
      {"storage size", with([](Put&) {}), 68},
      {"metadata", with([](Put& p) {
         p.metadata = {{"k", "v", ValueKind::text}};
       })},
  };
  for (const auto& row : rows) {
    Writer writer;
    put(writer, "w", noise(64), base);
    const auto error = error_of(try_put(writer, "w", own_memory(noise(row.bytes)), row.how));
    EXPECT_EQ(error.code, ErrorCode::conflict) << row.what;
    EXPECT_EQ(error.rule, "WRT-4") << row.what;
    EXPECT_EQ(error.subject, "w");
    EXPECT_NE(error.message.find("\"one\""), std::string::npos) << error.message;
    EXPECT_NE(error.message.find("\"two\""), std::string::npos) << error.message;
  }
}

TEST(WriterKeys, ExternalAgainstStoredIsAConflict) {
  Writer writer;
  put(writer, "w", zero_source(8));
  StorageSpec external;
  external.size = 8;
  external.origin = Origin::external;
  const auto storage = must(writer.add_storage(external));
  EXPECT_EQ(code_of(writer.add_tensor(view_of(storage, "w", 8))), "conflict");
}

TEST(WriterKeys, SchemesAndLogicalSizesCount) {
  Writer writer;
  const auto add = [&](std::string scheme, Sizes logical) {
    const auto storage = must(writer.add_storage(storage_of(own_memory(noise(144)))));
    auto tensor = view_of(storage, "q", 144);
    tensor.scheme = std::move(scheme);
    tensor.logical_sizes = std::move(logical);
    return writer.add_tensor(std::move(tensor));
  };
  must(add("ggml.q4_K", {256}));
  must(add("ggml.q4_K", {256}));
  EXPECT_EQ(code_of(add("ggml.q4_0", {256})), "conflict");
  EXPECT_EQ(code_of(add("ggml.q4_K", {16, 16})), "conflict");
  EXPECT_EQ(code_of(add("", {})), "conflict");
}

// C077.
TEST(WriterKeys, StridesOfSingletonsMeanNothing) {
  Writer writer;
  const auto content = noise(72);
  const Sizes sizes{8, 1, 3, 3};
  put(writer, "w", content, {.sizes = sizes, .strides = {{9, 1, 3, 1}}, .label = "a"});
  put(writer, "w", content, {.sizes = sizes, .strides = {{9, 9, 3, 1}}, .label = "b"});
  put(writer, "w", content, {.sizes = sizes, .strides = {{9, std::uint64_t{1} << 63U, 3, 1}}, .label = "c"});
  const auto reader = round(writer);
  EXPECT_EQ(reader.model().tensors.size(), 1U);
  EXPECT_EQ(read_all(reader, "w"), content);
}

TEST(WriterKeys, AlternatingInputsAgreeOnManyTensors) {
  Writer writer;
  for (const auto* label : {"a", "b", "c"})
    for (unsigned i = 0; i < 200; ++i)
      put(writer, "t" + std::to_string(i), noise(100, i / 2),
          {.access = i % 3 == 0 ? Access::mutable_ : Access::immutable, .label = label});
  const auto reader = round(writer);
  EXPECT_EQ(reader.model().tensors.size(), 200U);
  EXPECT_EQ(reader.model().contents.size(), 100U);
}

// --- who aliases whom ----------------------------------------------------------------------------------

// Adds tensors k and v of one input, in one storage or in two.
Result<TensorId> add_pair(Writer& writer, const std::string& label, bool aliased,
                          Access access = Access::mutable_) {
  const auto content = noise(16);
  const Put how{.access = access, .label = label};
  PTD_LET(first, writer.add_storage(storage_of(own_memory(content), how)));
  PTD_LET(second, writer.add_storage(storage_of(own_memory(content), how)));
  PTD_TRY(writer.add_tensor(view_of(first, "k", 16, how)));
  const auto v = writer.add_tensor(view_of(aliased ? first : second, "v", 16, how));
  if (!v || !aliased) return v;
  return writer.add_tensor(view_of(second, "spare of " + label, 16, how));
}

TEST(WriterAliases, OfMutableStoragesMustAgree) {
  for (const bool first : {false, true})
    for (const bool second : {false, true}) {
      Writer writer;
      must(add_pair(writer, "a", first));
      const auto added = add_pair(writer, "b", second);
      EXPECT_EQ(code_of(added), first == second ? "ok" : "conflict") << first << second;
      if (!added) continue;
      const auto reader = round(writer);
      EXPECT_EQ(storage_of_tensor(reader, "k") == storage_of_tensor(reader, "v"), first);
    }
}

TEST(WriterAliases, OfThreeInputsMustAgree) {
  Writer writer;
  must(add_pair(writer, "a", false));
  must(add_pair(writer, "b", false));
  const auto error = error_of(add_pair(writer, "c", true));
  EXPECT_EQ(error.code, ErrorCode::conflict);
  EXPECT_EQ(error.subject, "v");
  EXPECT_NE(error.message.find("\"c\""), std::string::npos) << error.message;
}

// Where no input keeps two memories apart, and one says that they are one, they are; whoever comes first.
TEST(WriterAliases, OfOneInputJoinWhatOthersHavePartOf) {
  const auto content = noise(16);
  const auto add = [&](Writer& writer, const std::string& label,
                       std::initializer_list<const char*> names_of_tensors) {
    const Put how{.access = Access::mutable_, .label = label};
    const auto storage = must(writer.add_storage(storage_of(own_memory(content), how)));
    std::string result = "ok";
    for (const auto* name : names_of_tensors)
      if (const auto added = writer.add_tensor(view_of(storage, name, 16, how)); !added)
        result = code_of(added);
    return result;
  };
  for (int order = 0; order < 3; ++order) {
    Writer writer;
    EXPECT_EQ(order == 0 ? add(writer, "both", {"k", "v"}) : "ok", "ok");
    EXPECT_EQ(add(writer, "only k", {"k"}), "ok");
    EXPECT_EQ(order == 1 ? add(writer, "both", {"k", "v"}) : "ok", "ok");
    EXPECT_EQ(add(writer, "only v", {"v"}), "ok");
    ASSERT_EQ(order == 2 ? add(writer, "both", {"k", "v"}) : "ok", "ok") << "added last";
    const auto reader = round(writer);
    EXPECT_EQ(reader.model().storages.size(), 1U);
  }
}

TEST(WriterAliases, OfImmutableStoragesDoNotMatter) {
  for (const bool first : {false, true}) {
    Writer writer;
    must(add_pair(writer, "a", first, Access::immutable));
    must(add_pair(writer, "b", !first, Access::immutable));
    const auto reader = round(writer);
    EXPECT_EQ(reader.model().storages.size(), 1U);
  }
}

TEST(WriterAliases, TwoViewsOfOneMutableStorageStayOne) {
  Writer writer;
  const auto storage = must(writer.add_storage(storage_of(zero_source(64), {.access = Access::mutable_})));
  must(writer.add_tensor(view_of(storage, "all", 64)));
  must(writer.add_tensor(view_of(storage, "half", 64, {.sizes = {{32}}, .offset = 32})));
  const auto reader = round(writer);
  EXPECT_EQ(storage_of_tensor(reader, "all"), storage_of_tensor(reader, "half"));
}

// --- owners --------------------------------------------------------------------------------------------

// C064.
TEST(WriterOwners, MethodsHaveConstantsOfTheirOwn) {
  struct Row {
    std::string_view what;
    Buffer one, two;
    bool shared;
  };
  for (const auto& [what, one, two, shared] : {Row{"another size", noise(16, 1), noise(20, 1), false},
                                               Row{"other bytes", noise(16, 1), noise(16, 2), false},
                                               Row{"the same", noise(16, 1), noise(16, 1), true}}) {
    Writer writer;
    const auto prefill = must(writer.add_method("prefill")), decode = must(writer.add_method("decode"));
    must(writer.bind(prefill, put(writer, "_tensor_constant2", one, {.owner = OwnerSpec::method(prefill)})));
    must(writer.bind(decode, put(writer, "_tensor_constant2", two, {.owner = OwnerSpec::method(decode)})));
    const auto reader = round(writer);
    EXPECT_EQ(reader.model().tensors.size(), 2U);
    const auto in_prefill =
        *reader.model().find_in_method(*reader.model().find_method("prefill"), "_tensor_constant2");
    const auto in_decode =
        *reader.model().find_in_method(*reader.model().find_method("decode"), "_tensor_constant2");
    EXPECT_EQ(read_all(reader, in_prefill), one) << what;
    EXPECT_EQ(read_all(reader, in_decode), two) << what;
    EXPECT_EQ(reader.model().tensors[in_prefill].storage == reader.model().tensors[in_decode].storage, shared)
        << what;
  }
}

TEST(WriterOwners, LibrariesHaveConstantsOfTheirOwn) {
  Writer writer;
  const auto method = must(writer.add_method("m"));
  for (unsigned i = 0; i < 2; ++i) {
    const auto library = must(writer.add_library({"lib" + std::to_string(i), {}, {}}));
    must(writer.bind(method, library));
    must(writer.bind(method, put(writer, "constant", noise(16, i), {.owner = OwnerSpec::library(library)})));
  }
  put(writer, "constant", noise(16, 9));
  const auto reader = round(writer);
  EXPECT_EQ(reader.model().tensors.size(), 3U);
  EXPECT_EQ(read_all(reader, "constant", {OwnerKind::library, 1}), noise(16, 1));
}

TEST(WriterOwners, AMethodsTensorMayRepeatTheModels) {
  for (const bool same : {true, false}) {
    Writer writer;
    const auto method = must(writer.add_method("m")), other = must(writer.add_method("other"));
    const auto own = put(writer, "w", noise(64), {.owner = OwnerSpec::method(method)});
    must(writer.bind(method, own));
    must(writer.bind(other, put(writer, "w", noise(64, same ? 1 : 2))));
    const auto report = try_write(writer);
    EXPECT_EQ(rule_of(report), same ? "ok" : "content-conflict BND-3");
    if (same) {
      EXPECT_EQ(round(writer).model().contents.size(), 1U);
    } else {
      EXPECT_EQ(report.error().subject, "w");
    }
  }
}

TEST(WriterOwners, AMethodCannotBindBothItsOwnAndTheModels) {
  Writer writer;
  const auto method = must(writer.add_method("m"));
  must(writer.bind(method, put(writer, "w", noise(64), {.owner = OwnerSpec::method(method)})));
  must(writer.bind(method, put(writer, "w", noise(64))));
  EXPECT_EQ(rule_of(try_write(writer)), "binding BND-2");
}

TEST(WriterOwners, AMethodBindsOnlyWhatIsItsOwn) {
  Writer writer;
  const auto one = must(writer.add_method("one")), two = must(writer.add_method("two"));
  must(writer.bind(two, put(writer, "w", noise(64), {.owner = OwnerSpec::method(one)})));
  EXPECT_EQ(rule_of(try_write(writer)), "binding BND-1");

  Writer with_library;
  const auto method = must(with_library.add_method("m"));
  const auto library = must(with_library.add_library({"lib", {}, {}}));
  must(with_library.bind(method, put(with_library, "w", noise(64), {.owner = OwnerSpec::library(library)})));
  EXPECT_EQ(rule_of(try_write(with_library)), "binding BND-1");
  must(with_library.bind(method, library));
  EXPECT_EQ(rule_of(try_write(with_library)), "ok");
}

TEST(WriterOwners, RulesThatNeedNoBytesAreCheckedBeforeAnyIsRead) {
  Writer writer;
  const auto one = must(writer.add_method("one")), two = must(writer.add_method("two"));
  must(writer.bind(two, put(writer, "w", broken_at(0, noise(64)), {.owner = OwnerSpec::method(one)})));
  EXPECT_EQ(code_of(try_write(writer)), "binding");
}

// --- what cannot be ------------------------------------------------------------------------------------

TEST(WriterNames, MustBeNames) {
  const std::string long_name(1024, 'x');
  const std::string bad[] = {"",         std::string("a\0b", 3), "\xFF",
                             "\xC0\xAF", "\xED\xA0\x80",         "\xF4\x90\x80\x80",
                             "\xE2\x82", long_name + "x"};
  for (const auto& name : bad) {
    Writer writer;
    EXPECT_EQ(rule_of(try_put(writer, name, own_memory(noise(4)))), "name NAM-1") << escaped(name);
    EXPECT_EQ(rule_of(writer.add_method(name)), "name NAM-1");
    EXPECT_EQ(rule_of(writer.add_library({name, {}, {}})), "name NAM-1");
    EXPECT_EQ(rule_of(writer.add_blob({name, nullptr, 0, "", {}})), "name NAM-1");
    EXPECT_EQ(rule_of(writer.add_metadata({name, "", ValueKind::text})), "name NAM-1");
    EXPECT_EQ(rule_of(writer.add_blob({"b", nullptr, 0, name, {}})), name.empty() ? "ok" : "name NAM-1");
  }
  for (const std::string good : {"a", "__metadata__", "\xF4\x8F\xBF\xBF", "a\x1B[2J\n", long_name.c_str()}) {
    Writer writer;
    put(writer, good, noise(4));
    must(writer.add_method(good));
    must(writer.add_library({good, {}, {}}));
    must(writer.add_blob({good, nullptr, 0, good, {}}));
    must(writer.add_metadata({good, "", ValueKind::text}));
    const auto reader = round(writer);
    EXPECT_EQ(reader.model().tensors[0].name, good);
    EXPECT_EQ(reader.model().methods[0].name, good);
    EXPECT_EQ(reader.model().libraries[0].name, good);
    EXPECT_EQ(reader.model().blobs[0].name, good);
    EXPECT_EQ(reader.model().blobs[0].media_type, good);
    EXPECT_EQ(reader.model().metadata[0].key, good);
  }
}

// C005: what an error says is fit for a terminal.
TEST(WriterNames, AreEscapedInErrors) {
  Writer writer;
  put(writer, "evil\x1B[2J", noise(4));
  const auto error = error_of(try_put(writer, "evil\x1B[2J", own_memory(noise(8))));
  EXPECT_EQ(error.subject, "evil\x1B[2J");
  EXPECT_EQ(error.to_string().find('\x1B'), std::string::npos) << error.to_string();
  put(writer, "label", noise(4), {.label = "a\x1B[2J"});
  const auto other = error_of(try_put(writer, "label", own_memory(noise(8)), {.label = "b\x1B[2J"}));
  EXPECT_EQ(other.message.find('\x1B'), std::string::npos) << "Error::message: control characters escaped";
}

TEST(WriterViews, MustLieInTheirStorage) {
  constexpr std::uint64_t top = std::uint64_t{1} << 63U, large = std::uint64_t{1} << 62U;
  struct Row {
    std::string_view what;
    Put how;
    std::string_view result;
  };
  const Row rows[] = {
      {"all", {.dtype = DType::float32, .sizes = {{4}}}, "ok"},
      {"one too many", {.dtype = DType::float32, .sizes = {{5}}}, "view-bounds VIE-4"},
      {"offset", {.dtype = DType::float32, .sizes = {{4}}, .offset = 1}, "view-bounds VIE-4"},
      {"offset that overflows",
       {.dtype = DType::float32, .sizes = {{4}}, .offset = top},
       "view-bounds VIE-4"},
      {"stride", {.dtype = DType::float32, .sizes = {{2}}, .strides = {{4}}}, "view-bounds VIE-4"},
      {"stride that overflows",
       {.dtype = DType::float32, .sizes = {{3}}, .strides = {{top}}},
       "view-bounds VIE-4"},
      {"broadcast", {.dtype = DType::float32, .sizes = {{1000, 4}}, .strides = {{0, 1}}}, "ok"},
      {"broadcast beyond 2^60",
       {.dtype = DType::float32, .sizes = {{std::uint64_t{1} << 59U, 4}}, .strides = {{0, 1}}},
       "view-bounds VIE-3"},
      {"sizes that overflow", {.sizes = {{large, 8}}, .strides = {{0, 0}}}, "view-bounds VIE-3"},
      {"scalar", {.dtype = DType::float32, .sizes = {Sizes{}}, .offset = 3}, "ok"},
      {"scalar behind the end",
       {.dtype = DType::float32, .sizes = {Sizes{}}, .offset = 4},
       "view-bounds VIE-4"},
      {"too few strides", {.sizes = {{2, 2}}, .strides = {{1}}}, "view-shape VIE-2"},
      {"too many strides", {.sizes = {{2}}, .strides = {{1, 1}}}, "view-shape VIE-2"},
      // C022, C023: empty views hold nothing, and lie anywhere up to the end.
      {"empty", {.dtype = DType::float32, .sizes = {{0}}}, "ok"},
      {"empty at the end", {.dtype = DType::float32, .sizes = {{2, 0}}, .offset = 4}, "ok"},
      {"empty behind the end",
       {.dtype = DType::float32, .sizes = {{0, 5}}, .offset = 5},
       "view-bounds VIE-4"},
      {"empty of huge sizes", {.sizes = {{0, large}}, .strides = {{large, 1}}}, "ok"},
      {"empty of huge sizes, turned",
       {.sizes = {{large, 0}}, .strides = {{~std::uint64_t{0}, ~std::uint64_t{0}}}},
       "ok"},
      {"empty of several", {.sizes = {{large, large, 0, 0}}}, "ok"},
      {"singletons of any stride", {.sizes = {{1, 16, 1}}, .strides = {{top, 1, ~std::uint64_t{0}}}}, "ok"},
      // C049.
      {"packed", {.dtype = DType::float4_e2m1fn, .sizes = {{2, 8}}}, "ok"},
      {"packed, odd rows", {.dtype = DType::float4_e2m1fn, .sizes = {{2, 7}}}, "ok"},
      {"packed, one too many", {.dtype = DType::float4_e2m1fn, .sizes = {{33}}}, "view-bounds VIE-4"},
      {"packed, inside a byte",
       {.dtype = DType::float4_e2m1fn, .sizes = {{2}}, .offset = 1},
       "sub-byte SUB-1"},
      {"packed, empty, inside a byte",
       {.dtype = DType::float4_e2m1fn, .sizes = {{0}}, .offset = 1},
       "sub-byte SUB-1"},
      {"packed with gaps", {.dtype = DType::uint4, .sizes = {{2, 2}}, .strides = {{4, 1}}}, "sub-byte SUB-2"},
      {"packed and turned",
       {.dtype = DType::uint4, .sizes = {{2, 4}}, .strides = {{1, 2}}},
       "sub-byte SUB-2"},
      {"packed scalar", {.dtype = DType::uint4, .sizes = {Sizes{}}, .offset = 2}, "ok"},
      {"rank 64", {.sizes = Sizes(64, 1)}, "ok"},
      {"rank 65", {.sizes = Sizes(65, 1)}, "limit VIE-1"},
      {"dtype 0",
       {.dtype = static_cast<DType>(0), .sizes = {{1}}, .strides = {{1}}},
       "unlisted-number TEN-2"},
      {"dtype 39",
       {.dtype = static_cast<DType>(39), .sizes = {{1}}, .strides = {{1}}},
       "unlisted-number TEN-2"},
  };
  for (const auto& row : rows) {
    Writer writer;
    const auto storage = must(
        writer.add_storage(storage_of(own_memory(bytes({1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7})))));
    TensorSpec tensor = is_dtype(static_cast<std::uint64_t>(row.how.dtype))
                            ? view_of(storage, "t", 16, row.how)
                            : TensorSpec();
    if (tensor.name.empty()) {
      tensor.name = "t";
      tensor.dtype = row.how.dtype;
      tensor.storage = storage;
      tensor.sizes = tensor.strides = {1};
    }
    const auto added = writer.add_tensor(tensor);
    EXPECT_EQ(rule_of(added), row.result) << row.what;
    if (!added) {
      EXPECT_EQ(added.error().subject, "t");
      continue;
    }
    const auto reader = round(writer);
    EXPECT_EQ(Sizes(reader.model().tensors[0].sizes.begin(), reader.model().tensors[0].sizes.end()),
              tensor.sizes)
        << row.what;
  }
}

// C083, C037, C025: what has one element, or none, keeps its rank.
TEST(WriterViews, RankIsKept) {
  Writer writer;
  put(writer, "[]", noise(4), {.dtype = DType::float32, .sizes = {Sizes{}}});
  put(writer, "[1]", noise(4), {.dtype = DType::float32, .sizes = {{1}}});
  put(writer, "[1,1,1]", noise(4), {.dtype = DType::float32, .sizes = {{1, 1, 1}}});
  put(writer, "[5,1]", noise(20), {.dtype = DType::float32, .sizes = {{5, 1}}});
  put(writer, "[0]", nullptr, {.sizes = {{0}}});
  put(writer, "[0,5]", nullptr, {.sizes = {{0, 5}}});
  put(writer, "nibble", bytes({9}), {.dtype = DType::uint4, .sizes = {Sizes{}}});
  const auto reader = round(writer);
  EXPECT_EQ(tensor_of(reader, "[]").sizes.size(), 0U);
  EXPECT_EQ(tensor_of(reader, "[1]").sizes.size(), 1U);
  EXPECT_EQ(tensor_of(reader, "[1,1,1]").sizes.size(), 3U);
  EXPECT_EQ(tensor_of(reader, "[5,1]").sizes.size(), 2U);
  EXPECT_EQ(tensor_of(reader, "[0]").sizes.size(), 1U);
  EXPECT_EQ(tensor_of(reader, "[0,5]").sizes[1], 5U);
  EXPECT_EQ(element_count(tensor_of(reader, "[]")), 1U);
  EXPECT_EQ(read_all(reader, "nibble"), bytes({9}));
  EXPECT_EQ(read_all(reader, "[0]"), Buffer());
  EXPECT_EQ(reader.model().storages[storage_of_tensor(reader, "[0]")].size, 0U);
}

// C010.
TEST(WriterViews, StoragesAreAligned) {
  Writer writer;
  put(writer, "a", noise(3));
  put(writer, "b", noise(16), {.dtype = DType::float32});
  put(writer, "c", noise(16), {.dtype = DType::float64});
  put(writer, "d", noise(16, 2), {.dtype = DType::complex128});
  put(writer, "large", noise(128 * 1024));
  put(writer, "e", noise(128 * 1024 - 1));
  const auto reader = round(writer);
  for (const auto& segment : reader.layout().segments) {
    EXPECT_EQ(segment.offset % segment.alignment(), 0U);
    EXPECT_EQ(segment.offset % 256, 0U);
  }
  EXPECT_EQ(reader.segment_of(content_of_tensor(reader, "large")).offset % 4096, 0U);
}

// WRT-1, C050: what a writer leaves behind obeys all rules, those of verify too.
TEST(WriterViews, PadBitsMustBeZero) {
  struct Row {
    Buffer bytes;
    DType dtype;
    std::uint64_t elements, offset;
    std::string_view result;
  };
  Buffer large = noise((2 << 20) + 1), large_bad = large;  // the last byte is in a piece of its own
  large.back() = std::byte{0x0F};
  large_bad.back() = std::byte{0x1F};
  const Row rows[] = {{bytes({0x21, 0x43, 0x05}), DType::uint4, 5, 0, "ok"},
                      {bytes({0x21, 0x43, 0x15}), DType::uint4, 5, 0, "pad-bits SUB-3"},
                      {bytes({0x21, 0x43, 0x15}), DType::uint4, 6, 0, "ok"},
                      {bytes({0x21, 0x43, 0x15}), DType::uint4, 0, 4, "ok"},
                      {bytes({0x21, 0x43, 0x15}), DType::uint4, 1, 2, "pad-bits SUB-3"},
                      {bytes({0xD1, 0xD8}), DType::uint3, 5, 0, "pad-bits SUB-3"},
                      {large, DType::uint4, (4 << 20) + 1, 0, "ok"},
                      {large_bad, DType::uint4, (4 << 20) + 1, 0, "pad-bits SUB-3"}};
  for (const auto& row : rows) {
    Writer writer;
    const Put how{.dtype = row.dtype, .sizes = {{row.elements}}, .offset = row.offset};
    const auto storage = must(writer.add_storage(storage_of(own_memory(row.bytes))));
    must(writer.add_tensor(view_of(storage, "bytes", row.bytes.size())));
    must(writer.add_tensor(view_of(storage, "packed", row.bytes.size(), how)));
    const auto report = try_write(writer);
    EXPECT_EQ(rule_of(report), row.result) << (&row - rows);
    EXPECT_EQ(report ? "packed" : report.error().subject, "packed");
    if (report) must(round(writer).verify());
  }
}

// C079: bytes that are not there are not made up.
TEST(WriterRefuses, StoragesThatAreTooSmall) {
  Writer writer;
  for (const std::uint64_t size : {0, 15}) {
    const auto storage = must(writer.add_storage(storage_of(own_memory(noise(size)))));
    const auto added =
        writer.add_tensor(view_of(storage, "t", size, {.dtype = DType::float32, .sizes = {{4}}}));
    EXPECT_EQ(rule_of(added), "view-bounds VIE-4");
  }
}

TEST(WriterRefuses, StoragesThatCannotBe) {
  Writer writer;
  const auto refused = [&](auto change) {
    StorageSpec spec = storage_of(own_memory(noise(8)));
    change(spec);
    return rule_of(writer.add_storage(std::move(spec)));
  };
  EXPECT_EQ(refused([](StorageSpec&) {}), "ok");
  EXPECT_EQ(refused([](StorageSpec& s) { s.size = 7; }), "size STO-3");
  EXPECT_EQ(refused([](StorageSpec& s) { s.size = std::uint64_t{1} << 60U; }), "ok");
  EXPECT_EQ(refused([](StorageSpec& s) { s.size = (std::uint64_t{1} << 60U) + 1; }), "size STO-1");
  EXPECT_EQ(refused([](StorageSpec& s) { s.origin = Origin::external; }), "external STO-5");
  EXPECT_EQ(refused([](StorageSpec& s) { s.origin = Origin::external, s.content = nullptr; }), "ok");
  EXPECT_EQ(refused([](StorageSpec& s) { s.access = Access{0}; }), "unlisted-number STO-4");
  EXPECT_EQ(refused([](StorageSpec& s) { s.access = Access{3}; }), "unlisted-number STO-4");
  EXPECT_EQ(refused([](StorageSpec& s) { s.origin = Origin{3}; }), "unlisted-number STO-4");
  EXPECT_EQ(refused([](StorageSpec& s) { s.placement = Placement{4}; }), "unlisted-number STO-4");
}

TEST(WriterRefuses, IdsOfNothing) {
  Writer writer;
  const auto method = must(writer.add_method("m"));
  put(writer, "t", noise(4));
  EXPECT_EQ(code_of(writer.add_tensor(view_of(StorageId{1}, "u", 4))), "argument");
  EXPECT_EQ(code_of(writer.bind(method, TensorId{1})), "argument");
  EXPECT_EQ(code_of(writer.bind(MethodId{1}, TensorId{0})), "argument");
  EXPECT_EQ(code_of(writer.bind(method, LibraryId{0})), "argument");
  EXPECT_EQ(code_of(writer.bind(method, BlobId{0})), "argument");
  EXPECT_EQ(code_of(writer.add_library({"l", {{true, BlobId{0}, 0, 0, VariantKind::regular, ""}}, {}})),
            "argument");
  EXPECT_EQ(code_of(try_put(writer, "v", own_memory(noise(4)), {.owner = OwnerSpec::method(MethodId{1})})),
            "argument");
  EXPECT_EQ(code_of(try_put(writer, "v", own_memory(noise(4)), {.owner = OwnerSpec::library(LibraryId{0})})),
            "argument");
  EXPECT_EQ(code_of(try_put(writer, "v", own_memory(noise(4)), {.owner = {OwnerKind::model, 1}})),
            "argument");
  EXPECT_EQ(code_of(try_put(writer, "v", own_memory(noise(4)), {.owner = {OwnerKind{4}, 0}})), "argument");
}

TEST(WriterRefuses, AStorageThatNoTensorUses) {
  Writer writer;
  put(writer, "t", noise(4));
  must(writer.add_storage(storage_of(own_memory(noise(8)), {.label = "lonely"})));
  const auto report = try_write(writer);
  EXPECT_EQ(code_of(report), "argument");
  EXPECT_EQ(report.error().subject, "lonely");
}

// A tensor that was refused leaves its storage unused.
TEST(WriterRefuses, TheStorageOfARefusedTensor) {
  Writer writer;
  put(writer, "t", noise(4));
  EXPECT_EQ(code_of(try_put(writer, "t", own_memory(noise(8)), {.label = "second"})), "conflict");
  const auto report = try_write(writer);
  EXPECT_EQ(code_of(report), "argument") << report.error().to_string();
  EXPECT_EQ(report.error().subject, "second");
}

TEST(WriterRefuses, DuplicateNamesAndKeys) {
  Writer writer;
  const std::vector<PairSpec> twice{
      {"k", "1", ValueKind::text}, {"j", "", ValueKind::text}, {"k", "2", ValueKind::text}};
  must(writer.add_blob({"b", nullptr, 0, "", {}}));
  EXPECT_EQ(rule_of(writer.add_blob({"b", own_memory(noise(4)), 0, "", {}})), "duplicate NAM-2");
  EXPECT_EQ(rule_of(writer.add_blob({"c", nullptr, 0, "", twice})), "duplicate MET-4");
  must(writer.add_library({"l", {}, {}}));
  EXPECT_EQ(rule_of(writer.add_library({"l", {}, {}})), "duplicate NAM-2");
  EXPECT_EQ(rule_of(writer.add_library({"m", {}, twice})), "duplicate MET-4");
  must(writer.add_metadata({"k", "1", ValueKind::text}));
  EXPECT_EQ(rule_of(writer.add_metadata({"k", "1", ValueKind::text})), "duplicate MET-4");
  const auto method = must(writer.add_method("m", {{"k", "1", ValueKind::text}}));
  EXPECT_EQ(must(writer.add_method("m", {{"j", "1", ValueKind::text}})), method);
  EXPECT_EQ(must(writer.add_method("m", {{"k", "1", ValueKind::text}})), method);
  EXPECT_EQ(rule_of(writer.add_method("m", {{"i", "1", ValueKind::text}, {"k", "2", ValueKind::text}})),
            "duplicate MET-4");
  auto tensor = view_of(must(writer.add_storage(storage_of(own_memory(noise(4))))), "t", 4);
  tensor.metadata = twice;
  EXPECT_EQ(rule_of(writer.add_tensor(tensor)), "duplicate MET-4");
  tensor.metadata.pop_back();
  must(writer.add_tensor(tensor));

  const auto reader = round(writer);
  EXPECT_EQ(reader.model().blobs.size(), 1U);
  EXPECT_EQ(reader.model().libraries.size(), 1U);
  EXPECT_EQ(reader.model().metadata.size(), 1U);
  ASSERT_EQ(reader.model().methods.at(0).metadata.size(), 2U);
  EXPECT_EQ(reader.model().methods[0].metadata[1].value, "1");
}

TEST(WriterRefuses, AMethodThatIsRefusedIsNotAdded) {
  Writer writer;
  EXPECT_EQ(code_of(writer.add_method("m", {{"", "", ValueKind::text}})), "name");
  EXPECT_EQ(round(writer).model().methods.size(), 0U);
}

TEST(WriterRefuses, MetadataThatCannotBe) {
  Writer writer;
  EXPECT_EQ(rule_of(writer.add_metadata({"a", "\xFF", ValueKind::text})), "metadata MET-3");
  EXPECT_EQ(rule_of(writer.add_metadata({"a", "\xFF", ValueKind::json})), "metadata MET-3");
  EXPECT_EQ(rule_of(writer.add_metadata({"a", "", ValueKind{4}})), "unlisted-number MET-1");
  EXPECT_EQ(rule_of(writer.add_metadata({"a", std::string((16 << 20) + 1, 'x'), ValueKind::bytes})),
            "limit MET-2");
  must(writer.add_metadata({"a", "\xFF", ValueKind::bytes}));
  must(writer.add_metadata({"b", std::string(16 << 20, 'x'), ValueKind::text}));
  must(writer.add_metadata({"c", std::string("\0", 1), ValueKind::text}));
  const auto reader = round(writer);
  EXPECT_EQ(reader.model().metadata[0].value, "\xFF");
  EXPECT_EQ(reader.model().metadata[1].value.size(), 16U << 20U);
  EXPECT_EQ(reader.model().metadata[2].value, std::string_view("\0", 1));
}

TEST(WriterRefuses, VariantsThatCannotBe) {
  struct Row {
    std::string_view what;
    std::vector<VariantSpec> variants;
    std::string_view result;
  };
  constexpr auto regular = VariantKind::regular, fallback = VariantKind::fallback;
  const VariantSpec sm90{false, {}, 90, 0, regular, ""}, any{};
  const Row rows[] = {
      {"one for anything", {any}, "ok"},
      {"two, one for anything", {any, sm90}, "variant LIB-3"},
      {"ptx over sm", {{false, {}, 80, 90, regular, ""}}, "variant LIB-3"},
      {"sm and target", {{false, {}, 90, 0, regular, "gfx942"}}, "variant LIB-3"},
      {"fallback without ptx", {{false, {}, 90, 0, fallback, ""}}, "variant LIB-3"},
      {"twice", {sm90, sm90}, "duplicate LIB-4"},
      {"two fallbacks",
       {{false, {}, 90, 90, fallback, ""}, {false, {}, 90, 80, fallback, ""}},
       "variant LIB-5"},
      {"kind 3", {{false, {}, 90, 0, VariantKind{3}, ""}}, "unlisted-number LIB-2"},
      {"bad target", {{false, {}, 0, 0, regular, "\xFF"}}, "name NAM-1"},
      {"257", std::vector<VariantSpec>(257, sm90), "limit LIM-1"},
  };
  for (const auto& row : rows) {
    Writer writer;
    const auto added = writer.add_library({"l", row.variants, {}});
    EXPECT_EQ(added ? rule_of(try_write(writer)) : rule_of(added), row.result) << row.what;
  }
}

TEST(WriterRefuses, MoreThanTheLimits) {
  Writer writer;
  for (std::uint64_t i = 0; i < limits::max_methods; ++i) must(writer.add_method("m" + std::to_string(i)));
  EXPECT_EQ(rule_of(writer.add_method("one more")), "limit LIM-1");
  must(writer.add_method("m0"));
  for (std::uint64_t i = 0; i < limits::max_libraries; ++i)
    must(writer.add_library({"l" + std::to_string(i), {}, {}}));
  EXPECT_EQ(rule_of(writer.add_library({"one more", {}, {}})), "limit LIM-1");
  for (std::uint64_t i = 0; i < limits::max_blobs; ++i)
    must(writer.add_blob({"b" + std::to_string(i), nullptr, 0, "", {}}));
  EXPECT_EQ(rule_of(writer.add_blob({"one more", nullptr, 0, "", {}})), "limit LIM-1");
  const auto reader = round(writer);
  EXPECT_EQ(reader.model().methods.size(), 4096U);
  EXPECT_EQ(reader.model().libraries.size(), 4096U);
  EXPECT_EQ(reader.model().blobs.size(), 65'536U);
}

TEST(WriterRefuses, MorePairsThanTheLimit) {
  std::vector<PairSpec> pairs;
  for (std::uint64_t i = 0; i < limits::max_pairs; ++i)
    pairs.push_back({std::to_string(i), "", ValueKind::text});
  Writer writer;
  must(writer.add_blob({"b", nullptr, 0, "", std::move(pairs)}));
  EXPECT_EQ(code_of(try_write(writer)), "ok");
  must(writer.add_metadata({"k", "", ValueKind::text}));
  EXPECT_EQ(rule_of(try_write(writer)), "limit LIM-1");
}

// C001: what is written by default is what every reader must take, and the error says how much too much it
// was.
TEST(WriterRefuses, AManifestOverTheLimit) {
  EXPECT_EQ(WriteOptions().max_message_bytes, limits::required_message_bytes);
  EXPECT_LE(WriteOptions().max_message_bytes, OpenOptions().max_message_bytes);
  const auto make = [](SourcePtr content) {
    Writer writer;
    put(writer, "w", std::move(content));
    must(writer.add_metadata({"k", std::string(100'000, 'x'), ValueKind::text}));
    return writer;
  };
  auto options = options_of(false);
  options.max_message_bytes = 100'000;
  auto refused = make(broken_at(0, noise(4)));  // before any byte is read
  const auto error = error_of(try_write(refused, options));
  EXPECT_EQ(error.code, ErrorCode::limit);
  EXPECT_NE(error.message.find("limit of 100000"), std::string::npos) << error.message;
  auto writer = make(own_memory(noise(4)));
  options.max_message_bytes = 102'000;
  const auto file = written(writer, options);
  const auto header = must(wire::parse_header(Bytes(file).first(80), file.size(), limits::max_message_bytes));
  options.max_message_bytes = header.model_size - 1;
  EXPECT_EQ(code_of(try_write(writer, options)), "limit");
  options.max_message_bytes = ~std::uint64_t{0};
  EXPECT_EQ(written(writer, options), file);
}

TEST(WriterRefuses, ChunkSizesOutsideTheirRange) {
  Writer writer;
  put(writer, "w", noise(100'000));
  for (const unsigned chunk_log2 : {0U, 13U, 25U, 64U, ~0U})
    EXPECT_EQ(rule_of(try_write(writer, options_of(false, 1, chunk_log2))), "argument LAY-5") << chunk_log2;
  for (unsigned chunk_log2 = 14; chunk_log2 <= 24; ++chunk_log2)
    EXPECT_EQ(round(writer, options_of(true, 0, chunk_log2)).layout().segments[0].chunk_log2, chunk_log2);
}

// --- what a failure leaves behind ----------------------------------------------------------------------

class WriterFiles : public file_test::Folder {
 protected:
  [[nodiscard]] static Buffer content() { return noise(5 << 20, 3); }

  // A model of several pieces, the same each time.
  static void fill(Writer& writer) {
    put(writer, "a", file_like(content()));
    put(writer, "b", soft(100'000));
    must(writer.add_blob({"blob", own_memory(noise(1000)), 0, "", {}}));
  }

  void expect_only_the_old_file() const {
    EXPECT_EQ(file_test::file_text(in("m.ptd")), "the old file");
    EXPECT_EQ(names(), std::vector<std::string>{"m.ptd"});
  }
  void make_old_file() const { file_test::write_file(in("m.ptd"), "the old file"); }
};

TEST_F(WriterFiles, MemoryAndFileAreTheSame) {
  for (const bool compress : {false, true}) {
    Writer writer;
    fill(writer);
    const auto report = must(writer.write(in("m.ptd"), options_of(compress)));
    const auto text = file_test::file_text(in("m.ptd"));
    EXPECT_EQ(bytes_of(text), written(writer, options_of(compress)));
    EXPECT_EQ(report.file_bytes, text.size());
    EXPECT_EQ(names(), std::vector<std::string>{"m.ptd"});
  }
}

TEST_F(WriterFiles, AnEmptyModel) {
  Writer writer;
  const auto file = written(writer);
  EXPECT_EQ(file.size(), 112U);
  const auto reader = opened(file);
  EXPECT_EQ(must(reader.verify()).chunks, 0U);
  EXPECT_EQ(reader.model().tensors.size(), 0U);
}

TEST_F(WriterFiles, ASourceThatFailsLeavesTheTarget) {
  make_old_file();
  for (const unsigned threads : {1U, 7U})
    for (const bool compress : {false, true}) {
      Writer writer;
      fill(writer);
      put(writer, "broken", broken_at(3 << 20, content()));
      put(writer, "behind", file_like(content()));
      const auto report = writer.write(in("m.ptd"), options_of(compress, threads));
      EXPECT_EQ(code_of(report), "io");
      EXPECT_NE(error_of(report).message.find("the disk failed"), std::string::npos);
      expect_only_the_old_file();
      EXPECT_EQ(code_of(try_write(writer, options_of(compress, threads))), "io");
    }
}

TEST_F(WriterFiles, TheFirstFailureIsTheOneReported) {
  for (const unsigned threads : {1U, 7U}) {
    Writer writer;
    for (int i = 0; i < 5; ++i)
      put(writer, "t" + std::to_string(i), broken_at((1 << 20) + i, noise(4 << 20, i)));
    EXPECT_EQ(error_of(try_write(writer, options_of(false, threads))).offset, 1U << 20U);
  }
}

TEST_F(WriterFiles, CancellingLeavesTheTarget) {
  make_old_file();
  for (const unsigned threads : {1U, 7U})
    for (const int calls : {0, 1, 3}) {
      Writer writer;
      fill(writer);
      int left = calls;
      const auto report =
          writer.write(in("m.ptd"), options_of(true, threads, 16, [&](auto, auto) { return left-- > 0; }));
      EXPECT_EQ(code_of(report), "cancelled");
      expect_only_the_old_file();
    }
}

TEST_F(WriterFiles, ProgressCountsAllInputOnce) {
  for (const unsigned threads : {1U, 7U}) {
    Writer writer;
    fill(writer);
    put(writer, "a", one_way(content()));  // read to be compared
    std::uint64_t last = 0, total = 0;
    bool ascending = true;
    must(writer.write(in("m.ptd"), options_of(false, threads, 16, [&](std::uint64_t done, std::uint64_t all) {
                        ascending = ascending && done > last && (total == 0 || total == all);
                        last = done;
                        total = all;
                        return true;
                      })));
    EXPECT_TRUE(ascending);
    EXPECT_EQ(last, total);
    EXPECT_EQ(total, 2 * content().size() + 100'000 + 1000);
  }
}

TEST_F(WriterFiles, AWriterCanBeUsedAgain) {
  Writer clean;
  fill(clean);
  const auto expected = written(clean);
  EXPECT_EQ(written(clean), expected);

  Writer writer;
  fill(writer);
  EXPECT_EQ(code_of(writer.write(in("no/such/folder/m.ptd"))), "io");
  EXPECT_EQ(code_of(try_write(writer, options_of(false, 2, 16, [](auto, auto) { return false; }))),
            "cancelled");
  EXPECT_EQ(code_of(try_write(writer, options_of(false, 0, 1))), "argument");
  EXPECT_EQ(written(writer), expected);
  put(writer, "more", noise(10));
  EXPECT_EQ(round(writer).model().tensors.size(), 3U);
}

TEST_F(WriterFiles, ASourceThatFailsOnceMayWorkLater) {
  auto failures = std::make_shared<std::atomic<int>>(1);
  const auto good = content();
  Writer writer;
  put(writer, "t",
      std::make_shared<FunctionSource>(
          good.size(), [failures, good](std::uint64_t offset, MutableBytes to) -> Result<void> {
            if (failures->fetch_sub(1) > 0) return fail(ErrorCode::io, "", "try again");
            std::ranges::copy(Bytes(good).subspan(offset, to.size()), to.begin());
            return {};
          }));
  EXPECT_EQ(code_of(try_write(writer)), "io");
  EXPECT_EQ(read_all(round(writer), "t"), good);
}

TEST_F(WriterFiles, SequentialSourcesAreReadFrontToBack) {
  for (const unsigned threads : {1U, 2U, 7U})
    for (const bool compress : {false, true}) {
      Writer writer;
      for (unsigned i = 0; i < 4; ++i) {
        put(writer, "s" + std::to_string(i), one_way(noise((3 << 20) + i, i)));
        put(writer, "r" + std::to_string(i), file_like(noise((2 << 20) + i, 10 + i)));
      }
      const auto reader = round(writer, options_of(compress, threads));
      for (unsigned i = 0; i < 4; ++i) {
        EXPECT_EQ(read_all(reader, "s" + std::to_string(i)), noise((3 << 20) + i, i));
        EXPECT_EQ(read_all(reader, "r" + std::to_string(i)), noise((2 << 20) + i, 10 + i));
      }
    }
}

// A model read from a file and written back over it, while the file is open.
TEST_F(WriterFiles, AFileCanBeRewrittenOntoItself) {
  for (const auto access : {FileAccess::positional, FileAccess::mapped}) {
    Writer writer;
    fill(writer);
    must(writer.write(in("m.ptd")));
    const auto before = file_test::file_text(in("m.ptd"));
    const auto old = must(Reader::open(in("m.ptd"), {access, limits::max_message_bytes}));

    Writer same = copy_of(old);
    must(same.write(in("m.ptd")));
    EXPECT_EQ(file_test::file_text(in("m.ptd")), before);

    Writer smaller = copy_of(old);
    const auto report = must(smaller.write(in("m.ptd"), options_of(true)));
    EXPECT_LT(report.file_bytes, before.size());
    const auto now = must(Reader::open(in("m.ptd"), {access, limits::max_message_bytes}));
    must(now.verify());
    EXPECT_EQ(now.model_id(), old.model_id());
    EXPECT_EQ(read_all(now, "a"), content());
    EXPECT_EQ(read_all(old, "a"), content());
    must(old.verify());

    Writer back = copy_of(now);
    must(back.write(in("m.ptd")));
    EXPECT_EQ(file_test::file_text(in("m.ptd")), before);
    EXPECT_EQ(names(), std::vector<std::string>{"m.ptd"});
  }
}

// C020: no room on the disk, for the payload or for what follows it.
TEST_F(WriterFiles, AFullDiskLeavesTheTarget) {
  make_old_file();
  for (const rlim_t most : {rlim_t{4096}, rlim_t{3 << 20}, rlim_t{(5 << 20) + 200'000}})
    for (const unsigned threads : {1U, 7U}) {
      const int code = file_test::in_child([&] {
        std::signal(SIGXFSZ, SIG_IGN);
        const rlimit limit{most, most};
        ::setrlimit(RLIMIT_FSIZE, &limit);
        Writer writer;
        fill(writer);
        put(writer, "a", file_like(content()));     // compared with, not stored
        put(writer, "twin", file_like(content()));  // taken back
        const auto report = writer.write(in("m.ptd"), options_of(false, threads));
        return !report && report.error().code == ErrorCode::io ? 0 : 1;
      });
      EXPECT_EQ(code, 0) << most;
      expect_only_the_old_file();
    }
}

TEST_F(WriterFiles, AKilledWriterLeavesAWholeFile) {
  Writer first;
  put(first, "t", noise(1000));
  must(first.write(in("m.ptd")));
  const auto old = opened(bytes_of(file_test::file_text(in("m.ptd")))).model_id();
  Writer second;
  fill(second);
  const auto next = must([&] {
                      Buffer file;
                      return second.write(file);
                    }())
                        .model_id;
  for (int i = 0; i < 20; ++i) {
    const auto child = file_test::start_child([&] {
      Writer writer;
      fill(writer);
      return writer.write(in("m.ptd")) ? 0 : 1;
    });
    ::usleep(static_cast<useconds_t>(i * 2500));
    ::kill(child, SIGKILL);
    file_test::wait_for(child);
    const auto reader = must(Reader::open(in("m.ptd")));
    must(reader.verify());
    EXPECT_TRUE(reader.model_id() == old || reader.model_id() == next);
  }
}

// C107.
TEST_F(WriterFiles, OfTwoWritersOneWins) {
  std::set<Digest> ids;
  for (unsigned i = 0; i < 2; ++i) {
    Writer writer;
    put(writer, "t", noise(200'000, i));
    Buffer file;
    ids.insert(must(writer.write(file)).model_id);
  }
  for (int round = 0; round < 30; ++round) {
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < 2; ++i)
      threads.emplace_back([&, i] {
        Writer writer;
        put(writer, "t", noise(200'000, i));
        const auto report = writer.write(in("m.ptd"), options_of(false, 2));
        EXPECT_TRUE(report);
      });
    for (auto& thread : threads) thread.join();
    const auto reader = must(Reader::open(in("m.ptd")));
    must(reader.verify());
    EXPECT_TRUE(ids.contains(reader.model_id()));
  }
  EXPECT_EQ(names(), std::vector<std::string>{"m.ptd"});
}

// --- what is kept beside the output ----------------------------------------------------------------------

// Lists of hashes are in memory, and in a file once they are long; nothing tells the two apart.
TEST_F(WriterFiles, LongLogsSpill) {
  Buffer target;
  const auto file = must(writer::file_output(in("m.ptd")));
  const auto memory = writer::memory_output(target);
  for (auto* output : {file.get(), memory.get()}) {
    writer::ByteLog log(*output);
    Buffer expected;
    std::mt19937 random(1);
    for (int i = 0; i < 60; ++i) {
      const auto more = noise(random() % 1'000'000, i);
      must(log.append(more));
      expected.insert(expected.end(), more.begin(), more.end());
      if (i % 7 == 3) {
        expected.resize(expected.size() - random() % (expected.size() / 3 + 1));
        must(log.truncate(expected.size()));
      }
      ASSERT_EQ(log.size(), expected.size());
      const auto begin = random() % (expected.size() + 1);
      Buffer part(random() % (expected.size() - begin + 1));
      must(log.read(begin, part));
      ASSERT_EQ(part, slice(expected, begin, part.size()));
    }
    EXPECT_GT(expected.size(), 10U << 20U);
    must(log.truncate(0));
    EXPECT_EQ(log.size(), 0U);
  }
  EXPECT_EQ(names().size(), 1U) << "only the output's temporary file has a name";
}

// An output that runs out of memory in the middle of a write that a later piece waits for.
class Exhausted final : public writer::Output {
 public:
  explicit Exhausted(std::uint64_t from) : from_(from) {}
  Result<void> write(std::uint64_t offset, Bytes) override {
    if (offset < from_) return {};
    ::usleep(200'000);
    throw std::bad_alloc();
  }
  Result<void> truncate(std::uint64_t) override { return {}; }
  Result<void> commit(std::uint64_t) override { return {}; }
  Result<std::unique_ptr<file::Spool>> make_spool() override { return nullptr; }

 private:
  std::uint64_t from_;
};

TEST(WriterStreams, AnExceptionWhileWritingIsAnErrorAndNoDeadlock) {
  const int code = file_test::in_child([] {
    ::alarm(10);
    const auto content = own_memory(noise(3 << 20));
    writer::Plan plan;
    plan.units.resize(2);  // the second is taken back as soon as it is known to be the first again
    for (auto& unit : plan.units) unit.source = content;
    Exhausted output(3 << 20);
    writer::Streamed streamed(output);
    const auto done = writer::stream_units(plan, options_of(false, 4), output, streamed);
    return !done && done.error().code == ErrorCode::no_memory ? 0 : 1;
  });
  EXPECT_EQ(code, 0) << "14 would be the alarm";
}

// --- how it is stored ----------------------------------------------------------------------------------

TEST(WriterEncodings, FollowTheDType) {
  struct Row {
    DType dtype;
    Encoding encoding;
  };
  Writer writer;
  const Row rows[] = {{DType::uint8, Encoding::zstd},
                      {DType::bfloat16, Encoding::zstd_rotated2},
                      {DType::float32, Encoding::zstd_rotated4},
                      {DType::int64, Encoding::zstd_planes8},
                      {DType::float16, Encoding::zstd_planes2},
                      {DType::int32, Encoding::zstd_planes4},
                      {DType::complex32, Encoding::zstd_planes2},
                      {DType::complex64, Encoding::zstd_planes4},
                      {DType::complex128, Encoding::zstd_planes8},
                      {DType::uint4, Encoding::zstd}};
  for (std::size_t i = 0; i < std::size(rows); ++i)
    put(writer, std::to_string(i), soft(40'000, i), {.dtype = rows[i].dtype});
  put(writer, "incompressible", noise(40'000, 50), {.dtype = DType::float32});
  put(writer, "odd", soft(40'003, 51), {.dtype = DType::float32, .sizes = {{10'000}}});
  const auto reader = round(writer, options_of(true));
  for (std::size_t i = 0; i < std::size(rows); ++i)
    EXPECT_EQ(reader.segment_of(content_of_tensor(reader, std::to_string(i))).encoding, rows[i].encoding)
        << i;
  EXPECT_EQ(reader.segment_of(content_of_tensor(reader, "incompressible")).encoding, Encoding::raw);
  EXPECT_EQ(reader.segment_of(content_of_tensor(reader, "odd")).encoding, Encoding::zstd);
}

// Blobs, then storages by the methods that bind them [WRT-11].
TEST(WriterEncodings, SegmentsAreOrderedByMethods) {
  Writer writer;
  const auto b = must(writer.add_method("b")), a = must(writer.add_method("a"));
  const auto add = [&](const std::string& name, std::uint64_t seed, std::initializer_list<MethodId> methods) {
    const auto tensor = put(writer, name, noise(100, seed));
    for (const auto method : methods) must(writer.bind(method, tensor));
  };
  add("nobody", 1, {});
  add("both", 2, {b, a});
  add("only b", 3, {b});
  add("only a", 4, {a});
  add("a too", 5, {a});
  must(writer.add_blob({"blob", own_memory(noise(100, 6)), 0, "", {}}));
  const auto reader = round(writer);
  const auto place = [&](std::string_view name) {
    return reader.segment_of(content_of_tensor(reader, name)).offset;
  };
  const std::vector<std::uint64_t> order{reader.segment_of(reader.model().blobs[0].content).offset,
                                         place("only a"),
                                         place("a too"),
                                         place("both"),
                                         place("only b"),
                                         place("nobody")};
  EXPECT_TRUE(std::ranges::is_sorted(order));
}

// A content that is known to be shared before it is read lies where all its methods together want it
// [WRT-11].
TEST(WriterEncodings, WhatStoragesShareIsOrderedByTheMethodsOfAll) {
  Writer writer;
  const auto a = must(writer.add_method("a")), b = must(writer.add_method("b"));
  const auto shared = own_memory(noise(100, 1));
  const auto both = put(writer, "first of both", noise(100, 2));
  must(writer.bind(a, both));
  must(writer.bind(b, both));
  must(writer.bind(a, put(writer, "of a", shared)));
  Put how;
  how.placement = Placement::device;  // so that the storages stay two
  must(writer.bind(b, put(writer, "of b", shared, how)));
  const auto reader = round(writer);
  EXPECT_LT(reader.segment_of(content_of_tensor(reader, "first of both")).offset,
            reader.segment_of(content_of_tensor(reader, "of a")).offset);
}

}  // namespace
}  // namespace ptd
