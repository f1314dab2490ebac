// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Opening by every way, failing devices, later minor versions, lookups, lifetimes, and calls that cannot be
// meant.
#include <gtest/gtest.h>

#include <thread>

#include "tests/write_samples.hpp"

namespace ptd {
namespace {

using namespace write_test;

constexpr auto message_limit = limits::max_message_bytes;

// Tensors of several chunks and kinds, a blob, a method that binds some of it.
Writer sample() {
  Writer writer;
  const auto method = must(writer.add_method("forward", {{"k", "v", ValueKind::text}}));
  must(writer.bind(method, put(writer, "weight", soft(200'000), {.dtype = DType::bfloat16})));
  must(writer.bind(method, put(writer, "noise", noise(70'001, 2))));
  must(writer.bind(method, put(writer, "turned", soft(9'600, 3),
                               {.dtype = DType::float32, .sizes = {{60, 40}}, .strides = {{1, 60}}})));
  put(writer, "packed", bytes({0x21, 0x43, 0x05}), {.dtype = DType::uint4, .sizes = {{5}}});
  put(writer, "state", soft(50, 4), {.access = Access::mutable_, .size = 400});
  put(writer, "zeros", zero_source(1000));
  must(writer.add_blob({"blob", own_memory(soft(33'000, 5)), 33'100, "text/plain", {}}));
  return writer;
}

Buffer sample_file(bool compress, unsigned chunk_log2 = 14) {
  auto writer = sample();
  return written(writer, options_of(compress, 0, chunk_log2));
}

class ReaderFiles : public file_test::Folder {
 protected:
  void save(const Buffer& file, std::string_view name = "m.ptd") const {
    file_test::write_file(in(name), {reinterpret_cast<const char*>(file.data()), file.size()});
  }
  [[nodiscard]] Reader open(FileAccess access = FileAccess::positional,
                            std::string_view name = "m.ptd") const {
    return must(Reader::open(in(name), {access, message_limit}));
  }
};

// --- ways to open --------------------------------------------------------------------------------------

TEST_F(ReaderFiles, PositionalMappedAndMemoryAgree) {
  for (const bool compress : {false, true}) {
    const auto file = sample_file(compress);
    save(file);
    const Reader readers[] = {open(), open(FileAccess::mapped), opened(file),
                              must(Reader::open(file_like(file)))};
    EXPECT_EQ(readers[0].file().access, FileAccess::positional);
    EXPECT_EQ(readers[1].file().access, FileAccess::mapped) << readers[1].file().fallback;
    EXPECT_EQ(readers[0].file().identity, readers[1].file().identity);
    EXPECT_EQ(readers[0].file().identity.size, file.size());
    EXPECT_EQ(readers[2].file().identity, FileIdentity());
    for (const auto& reader : readers) {
      EXPECT_EQ(reader.file_size(), file.size());
      EXPECT_EQ(reader.model_id(), readers[0].model_id());
      EXPECT_EQ(must(reader.verify()).stored_bytes, must(readers[0].verify()).stored_bytes);
      for (std::uint32_t i = 0; i < reader.model().tensors.size(); ++i)
        for (const unsigned threads : {1U, 7U})
          EXPECT_EQ(read_all(reader, i, {true, threads}), read_all(readers[0], i))
              << reader.model().tensors[i].name;
      Buffer blob(33'100);
      must(reader.read_blob(0, 0, blob));
      EXPECT_EQ(slice(blob, 0, 33'000), soft(33'000, 5));
    }
    EXPECT_EQ(read_all(readers[0], "weight"), soft(200'000));
    EXPECT_EQ(read_all(readers[1], "noise"), noise(70'001, 2));
  }
}

// C103: nothing is mapped where there is nothing.
TEST_F(ReaderFiles, AnEmptyFileIsTooShort) {
  save({});
  for (const auto access : {FileAccess::positional, FileAccess::mapped})
    EXPECT_EQ(code_of(Reader::open(in("m.ptd"), {access, message_limit})), "too-short");
}

TEST_F(ReaderFiles, WhatIsNoFileIsAnError) {
  EXPECT_EQ(code_of(Reader::open(in("absent"))), "io");
  EXPECT_EQ(code_of(Reader::open(folder())), "io");
  file_test::write_file(in("text"), "hello");
  EXPECT_EQ(code_of(Reader::open(in("text"))), "not-ptd");
  EXPECT_EQ(code_of(Reader::open(one_way(sample_file(false)))), "argument");
}

// C103: a storage of no bytes, alone or at the end of a file.
TEST_F(ReaderFiles, EmptyStoragesAreRead) {
  Writer writer;
  put(writer, "empty", nullptr, {.sizes = {{0}}});
  put(writer, "empty too", Buffer(), {.sizes = {{0, 7}}});
  for (const bool more : {false, true}) {
    if (more) put(writer, "page", noise(4096));
    save(written(writer));
    for (const auto access : {FileAccess::positional, FileAccess::mapped}) {
      const auto reader = open(access);
      EXPECT_EQ(read_all(reader, "empty"), Buffer());
      EXPECT_EQ(must(reader.read_storage(tensor_of(reader, "empty").storage, 0, {})).chunks, 0U);
      EXPECT_EQ(must(reader.verify()).segments, more ? 1U : 0U);
    }
  }
}

// C019: who has a file open keeps it.
TEST_F(ReaderFiles, AnOpenFileOutlivesItsReplacement) {
  for (const auto access : {FileAccess::positional, FileAccess::mapped}) {
    Writer one, two;
    put(one, "t", noise(100'000, 1));
    put(two, "t", noise(100'000, 2));
    must(one.write(in("m.ptd")));
    const auto old = open(access);
    must(two.write(in("m.ptd")));
    EXPECT_EQ(read_all(old, "t"), noise(100'000, 1));
    EXPECT_EQ(read_all(open(access), "t"), noise(100'000, 2));
    EXPECT_NE(old.file().identity, open(access).file().identity);
    std::filesystem::remove(in("m.ptd"));
    EXPECT_EQ(read_all(old, "t"), noise(100'000, 1));
    must(old.verify());
  }
}

// --- devices that fail (C013, C014, C079) --------------------------------------------------------------

TEST_F(ReaderFiles, AFileCutAfterItWasOpenedIsAnErrorAndNoSignal) {
  for (const bool compress : {false, true}) {
    save(sample_file(compress));
    const auto reader = open();
    const auto& segment =
        reader.segment_of(reader.model().storages[tensor_of(reader, "noise").storage].content);
    std::filesystem::resize_file(in("m.ptd"), segment.offset + segment.stored_size - 1);
    Buffer out(70'001);
    const auto read = reader.read_tensor(index_of(reader, "noise"), out);
    EXPECT_EQ(code_of(read), "io");
    EXPECT_NE(error_of(read).to_string().find(in("m.ptd").native()), std::string::npos)
        << error_of(read).to_string();
    EXPECT_EQ(code_of(reader.verify()), "io");
    EXPECT_EQ(code_of(Reader::open(in("m.ptd"))), "truncated");
  }
}

TEST_F(ReaderFiles, FilesCutAtTheirSeamsDoNotOpen) {
  const auto file = sample_file(true, 14);
  const auto layout = opened(file).layout();
  std::vector<std::uint64_t> cuts{file.size() - 1, file.size() - 4095, file.size() - 4096, 80};
  for (const auto& segment : layout.segments)
    for (const auto seam : {segment.offset, segment.offset + segment.stored_size, segment.table_offset})
      cuts.push_back(seam);
  for (const auto cut : cuts) {
    save(slice(file, 0, cut));
    for (const auto access : {FileAccess::positional, FileAccess::mapped})
      EXPECT_EQ(code_of(Reader::open(in("m.ptd"), {access, message_limit})), "truncated") << cut;
  }
}

TEST(ReaderSources, FailuresPassThrough) {
  const auto file = sample_file(true);
  const auto whole_file = opened(file);
  const auto header = must(wire::parse_header(Bytes(file).first(80), file.size(), message_limit));
  const auto& target =
      whole_file.segment_of(whole_file.model().storages[tensor_of(whole_file, "weight").storage].content);
  std::mt19937 random(1);
  for (std::uint64_t bad = 0; bad < file.size(); bad += 1 + random() % 600) {
    const auto reader = Reader::open(broken_at(bad, file));
    const bool needed_to_open = bad < 80 || bad >= header.layout_offset;
    ASSERT_EQ(code_of(reader), needed_to_open ? "io" : "ok") << bad;
    if (needed_to_open) {
      EXPECT_NE(reader.error().message.find("the disk failed"), std::string::npos);
      continue;
    }
    const auto verified = reader->verify();
    ASSERT_EQ(code_of(verified), "io") << bad;
    EXPECT_NE(verified.error().message.find("the disk failed"), std::string::npos);
    const bool in_table = bad >= target.table_offset && bad < target.table_offset + 24 * target.chunks;
    const bool in_segment = bad >= target.offset && bad < target.offset + target.stored_size;
    Buffer out(200'000);
    const auto read = reader->read_tensor(index_of(*reader, "weight"), out);
    ASSERT_EQ(code_of(read), in_table || in_segment ? "io" : "ok") << bad;
    if (!read) {
      EXPECT_NE(read.error().message.find("the disk failed"), std::string::npos);
      EXPECT_EQ(read.error().offset, bad);
    } else {
      ASSERT_EQ(out, soft(200'000));
    }
  }
}

// A failure leaves nothing behind that a later read would take for good.
TEST(ReaderSources, ThatFailOnceWorkLater) {
  const auto file = sample_file(false);
  auto failing = std::make_shared<std::atomic<bool>>(false);
  const auto reader = must(Reader::open(std::make_shared<FunctionSource>(
      file.size(), [=](std::uint64_t offset, MutableBytes to) -> Result<void> {
        if (*failing) return fail(ErrorCode::io, "", "not now");
        std::ranges::copy(Bytes(file).subspan(offset, to.size()), to.begin());
        return {};
      })));
  Buffer out(70'001);
  *failing = true;
  EXPECT_EQ(code_of(reader.read_tensor(index_of(reader, "noise"), out)), "io");
  *failing = false;
  must(reader.read_tensor(index_of(reader, "noise"), out));
  EXPECT_EQ(out, noise(70'001, 2));
}

// --- versions and features -----------------------------------------------------------------------------

TEST(ReaderVersions, FeatureBits) {
  FileEdit edit(sample_file(false));
  edit.header.optional_features = 0x8000'0000'0000'0005;
  const auto reader = opened(edit.finish());
  EXPECT_EQ(reader.optional_features(), 0x8000'0000'0000'0005U);
  must(reader.verify());
  EXPECT_EQ(read_all(reader, "noise"), noise(70'001, 2));
  for (const unsigned bit : {0U, 31U, 32U, 63U}) {
    edit.header.required_features = std::uint64_t{1} << bit;
    const auto refused = Reader::open(own_memory(edit.finish()));
    EXPECT_EQ(rule_of(refused), "required-feature HDR-7");
    EXPECT_NE(refused.error().message.find("bit " + std::to_string(bit)), std::string::npos)
        << refused.error().message;
  }
}

TEST(ReaderVersions, OtherMajorVersionsAreRefused) {
  for (const auto major : {std::uint16_t{0}, std::uint16_t{2}, std::uint16_t{0xFFFF}}) {
    FileEdit edit(sample_file(false));
    edit.header.major = edit.model.major = edit.layout.major = major;
    const auto refused = Reader::open(own_memory(edit.finish()));
    EXPECT_EQ(rule_of(refused), "major-version HDR-5");
    EXPECT_NE(refused.error().message.find(std::to_string(major) + ".0"), std::string::npos);
    EXPECT_NE(refused.error().message.find("1."), std::string::npos);
  }
}

// A file of a later minor version: a data word at the end of the layout's root, a pointer to some bytes at
// the end of the model's.
FileEdit later_minor(std::uint16_t minor) {
  auto writer = sample();
  must(writer.add_metadata({"k", "v", ValueKind::text}));  // so that the root has all its pointers
  FileEdit edit(written(writer, options_of(false, 0, 14)));
  edit.header.minor = edit.model.minor = edit.layout.minor = minor;
  return edit;
}

Buffer with_unknown_fields(const FileEdit& edit) {
  auto layout = must(wire::encode_layout(edit.layout)), model = must(wire::encode_model(edit.model));
  // Word 0 of a message is the pointer to its root: data words in bits 32 to 47, pointers in bits 48 to 63.
  EXPECT_EQ(layout[0], std::uint64_t{1} << 32U | std::uint64_t{1} << 48U);
  layout[0] += std::uint64_t{1} << 32U;
  layout.insert(layout.begin() + 2, 0xABCD);
  EXPECT_EQ(model[0], std::uint64_t{1} << 32U | std::uint64_t{7} << 48U);
  model[0] += std::uint64_t{1} << 48U;
  constexpr std::size_t first_pointer = 2, unknown = first_pointer + 7;
  for (std::size_t i = first_pointer; i < unknown; ++i)
    if (model[i] != 0) model[i] += 4;  // one word further on
  model.insert(model.begin() + unknown, 0);
  model[unknown] =
      (model.size() - unknown - 1) << 2U | 1U | std::uint64_t{2} << 32U | std::uint64_t{5} << 35U;
  model.push_back(0x6F'6C6C'6568);  // "hello"
  return edit.finish(layout, model);
}

TEST(ReaderVersions, LaterMinorVersionsAreRead) {
  for (const auto minor : {std::uint16_t{1}, std::uint16_t{0xFFFF}}) {
    const auto plain = opened(later_minor(minor).finish());
    EXPECT_EQ(plain.model().minor, minor);
    EXPECT_EQ(must(plain.verify()).unknown_bytes, 0U);
    EXPECT_EQ(read_all(plain, "weight"), soft(200'000));

    const auto reader = opened(with_unknown_fields(later_minor(minor)));
    EXPECT_EQ(must(reader.verify()).unknown_bytes, 8U + 16U);
    EXPECT_EQ(reader.model().tensors.size(), plain.model().tensors.size());
    EXPECT_EQ(reader.model().metadata.size(), 1U);
    EXPECT_EQ(read_all(reader, "weight"), soft(200'000));
    EXPECT_NE(reader.model_id(), plain.model_id());
  }
}

TEST(ReaderVersions, FieldsThatAVersionDoesNotHaveAreRefused) {
  EXPECT_EQ(rule_of(Reader::open(own_memory(with_unknown_fields(later_minor(0))))), "encoding ENC-12");
}

TEST(ReaderVersions, MustAgree) {
  auto edit = later_minor(1);
  edit.model.minor = 0;
  EXPECT_EQ(rule_of(Reader::open(own_memory(edit.finish()))), "version-mismatch VER-1");
  edit.model.minor = 1;
  edit.layout.minor = 0;
  EXPECT_EQ(rule_of(Reader::open(own_memory(edit.finish()))), "version-mismatch LAY-1");
}

TEST(ReaderLimits, OfMessagesAreTheCallers) {
  const auto file = sample_file(false);
  const auto header = must(wire::parse_header(Bytes(file).first(80), file.size(), message_limit));
  const auto largest = std::max(header.layout_size, header.model_size);
  EXPECT_EQ(code_of(Reader::open(own_memory(file), {FileAccess::positional, largest})), "ok");
  const auto refused = Reader::open(own_memory(file), {FileAccess::positional, largest - 1});
  EXPECT_EQ(rule_of(refused), "reader-limit LIM-2");
  EXPECT_NE(refused.error().message.find(std::to_string(largest - 1)), std::string::npos)
      << refused.error().message;
  EXPECT_NE(refused.error().message.find(std::to_string(largest)), std::string::npos)
      << refused.error().message;
}

// --- lookups (C088) ------------------------------------------------------------------------------------

TEST(ReaderLookups, FromManyThreads) {
  constexpr std::uint32_t tensors = 1000;
  Writer writer;
  const auto method = must(writer.add_method("m"));
  for (std::uint32_t i = 0; i < tensors; ++i) {
    Buffer content(16);
    wire::store(MutableBytes(content), 0, std::uint64_t{i} + 1);
    must(writer.bind(method, put(writer, "layer." + std::to_string(i), content)));
  }
  const auto reader = opened(written(writer, options_of(true)));
  std::atomic<std::uint32_t> failures = 0, lookups = 0;
  std::vector<std::thread> threads;
  for (unsigned thread = 0; thread < 16; ++thread)
    threads.emplace_back([&, thread] {
      const Reader mine = reader;
      std::mt19937 random(thread);
      for (int i = 0; i < 6250; ++i, ++lookups) {
        const auto number = random() % tensors;
        const auto name = "layer." + std::to_string(number);
        const auto found = mine.model().find_tensor({}, name);
        const auto in_method = mine.model().find_in_method(0, name);
        if (!found || found != in_method || mine.model().tensors[*found].name != name) ++failures;
        if (i % 16 != 0) continue;
        Buffer content(16);
        const auto read = mine.read_tensor(*found, content, {true, 1});
        if (!read || wire::load<std::uint64_t>(content, 0) != number + 1) ++failures;
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(failures, 0U);
  EXPECT_EQ(lookups, 100'000U);
}

TEST(ReaderLookups, ReadsOfOneTensorByManyThreads) {
  const auto reader = opened(sample_file(true));
  std::atomic<int> failures = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 8; ++thread)
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 10; ++i) {
        Buffer out(200'000);
        if (!reader.read_tensor(index_of(reader, "weight"), out,
                                {true, 1U + static_cast<unsigned>(thread) % 3}) ||
            out != soft(200'000))
          ++failures;
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
}

TEST(ReaderLookups, FindWhatThereIsAndNothingElse) {
  Writer writer;
  const auto one = must(writer.add_method("one")), two = must(writer.add_method("two"));
  const auto own = put(writer, "w", noise(8), {.owner = OwnerSpec::method(one)});
  const auto shared = put(writer, "w", noise(8));
  const auto unbound = put(writer, "u", noise(9));
  must(writer.bind(one, own));
  must(writer.bind(two, shared));
  static_cast<void>(unbound);
  must(writer.add_library({"l", {}, {}}));
  must(writer.add_blob({"b", nullptr, 0, "", {}}));
  const auto reader = opened(written(writer));
  const auto& model = reader.model();
  EXPECT_EQ(model.find_method("two"), 1U);
  EXPECT_EQ(model.find_method("tw"), std::nullopt);
  EXPECT_EQ(model.find_method("twoo"), std::nullopt);
  EXPECT_EQ(model.find_library("l"), 0U);
  EXPECT_EQ(model.find_library(""), std::nullopt);
  EXPECT_EQ(model.find_blob("b"), 0U);
  EXPECT_EQ(model.find_blob("c"), std::nullopt);
  EXPECT_EQ(model.find_tensor({}, "u"), 0U);
  EXPECT_EQ(model.find_tensor({}, "w"), 1U);
  EXPECT_EQ(model.find_tensor({OwnerKind::method, 0}, "w"), 2U);
  EXPECT_EQ(model.find_tensor({OwnerKind::method, 1}, "w"), std::nullopt);
  EXPECT_EQ(model.find_tensor({OwnerKind::library, 0}, "w"), std::nullopt);
  EXPECT_EQ(model.find_in_method(0, "w"), 2U);
  EXPECT_EQ(model.find_in_method(1, "w"), 1U);
  EXPECT_EQ(model.find_in_method(0, "u"), std::nullopt);
  EXPECT_EQ(model.tensors[1].storage, model.tensors[2].storage);
}

// --- calls that cannot be meant ------------------------------------------------------------------------

TEST(ReaderArguments, OutsideTheirRangeAreErrors) {
  Writer writer = sample();
  StorageSpec external;
  external.size = 100;
  external.origin = Origin::external;
  must(writer.add_tensor(view_of(must(writer.add_storage(external)), "external", 100)));
  const auto reader = opened(written(writer));
  const auto& model = reader.model();
  const auto tensors = static_cast<std::uint32_t>(model.tensors.size()),
             storages = static_cast<std::uint32_t>(model.storages.size()),
             contents = static_cast<std::uint32_t>(model.contents.size());
  Buffer out(100);
  const auto weight = index_of(reader, "weight");
  for (const auto index : {tensors, no_index}) {
    EXPECT_EQ(code_of(reader.read_tensor(index, out)), "argument");
    EXPECT_EQ(code_of(reader.read_region(index, {}, out)), "argument");
  }
  for (const auto index : {storages, no_index})
    EXPECT_EQ(code_of(reader.read_storage(index, 0, out)), "argument");
  for (const auto index : {contents, no_index})
    EXPECT_EQ(code_of(reader.read_content(index, 0, out)), "argument");
  for (const auto index : {1U, no_index}) EXPECT_EQ(code_of(reader.read_blob(index, 0, out)), "argument");
  Buffer exact(200'000), less(199'999), more(200'001);
  EXPECT_EQ(code_of(reader.read_tensor(weight, exact)), "ok");
  EXPECT_EQ(code_of(reader.read_tensor(weight, less)), "argument");
  EXPECT_EQ(code_of(reader.read_tensor(weight, more)), "argument");
  EXPECT_EQ(reader.read_tensor(weight, less).error().subject, "weight");

  const auto storage = model.tensors[weight].storage, content = model.storages[storage].content;
  constexpr std::uint64_t most = ~std::uint64_t{0};
  struct Row {
    std::uint64_t offset;
    std::size_t size;
    std::string_view result;
  };
  for (const auto& [offset, size, result] :
       {Row{0, 100, "ok"}, Row{199'900, 100, "ok"}, Row{200'000, 0, "ok"}, Row{199'901, 100, "argument"},
        Row{200'001, 0, "argument"}, Row{most, 100, "argument"}, Row{most, 0, "argument"},
        Row{most - 99, 100, "argument"}}) {
    const auto part = MutableBytes(out).first(size);
    EXPECT_EQ(code_of(reader.read_storage(storage, offset, part)), result) << offset;
    EXPECT_EQ(code_of(reader.read_content(content, offset, part)), result) << offset;
  }
  EXPECT_EQ(code_of(reader.read_blob(0, 33'000, out)), "ok");
  EXPECT_EQ(code_of(reader.read_blob(0, 33'001, out)), "argument");

  const auto outside = tensor_of(reader, "external").storage;
  const Slice all{0, 100, 1};
  EXPECT_EQ(code_of(reader.read_storage(outside, 0, out)), "argument");
  EXPECT_EQ(code_of(reader.read_tensor(index_of(reader, "external"), out)), "argument");
  EXPECT_EQ(code_of(reader.read_region(index_of(reader, "external"), {&all, 1}, out)), "argument");
}

TEST(ReaderRanges, OfContentsAndStorages) {
  std::mt19937 random(3);
  for (const bool compress : {false, true}) {
    Writer writer;
    put(writer, "t", soft(150'000, 6), {.size = 180'000});
    auto expected = soft(150'000, 6);
    expected.resize(180'000);
    const auto reader = opened(written(writer, options_of(compress, 0, 14)));
    for (int i = 0; i < 400; ++i) {
      std::uint64_t begin = random() % 180'001, end = random() % 180'001;
      if (i % 5 == 0) begin &= ~std::uint64_t{16'383};
      if (i % 7 == 0) end &= ~std::uint64_t{16'383};
      if (begin > end) std::swap(begin, end);
      Buffer out(end - begin, std::byte{0xA5});
      const auto report =
          must(reader.read_storage(0, begin, out, {i % 3 != 0, 1U + static_cast<unsigned>(i) % 4}));
      ASSERT_EQ(out, slice(expected, begin, end - begin)) << begin << " to " << end;
      EXPECT_EQ(report.wanted_bytes, out.size());
      const auto held_end = std::min<std::uint64_t>(end, 150'000);
      EXPECT_EQ(report.chunks, begin < held_end ? (held_end - 1) / 16'384 - begin / 16'384 + 1 : 0U);
    }
  }
}

// --- lifetimes (C044, C073) ----------------------------------------------------------------------------

TEST_F(ReaderFiles, WhatAReaderGaveOutOutlivesIt) {
  for (const auto access : {FileAccess::positional, FileAccess::mapped}) {
    save(sample_file(true));
    SourcePtr source;
    std::optional<Reader> copy;
    Buffer first(200'000);
    {
      const auto reader = open(access);
      const auto weight = index_of(reader, "weight");
      source = reader.content_source(reader.model().storages[reader.model().tensors[weight].storage].content);
      must(reader.read_tensor(weight, first));
      Buffer other(70'001);
      must(reader.read_tensor(index_of(reader, "noise"), other));
      copy = reader;
    }
    std::filesystem::remove(in("m.ptd"));
    EXPECT_EQ(first, soft(200'000));
    const Tensor& view = tensor_of(*copy, "turned");
    EXPECT_EQ(view.name, "turned");
    EXPECT_EQ(view.strides[1], 60U);
    EXPECT_EQ(read_all(*copy, "noise"), noise(70'001, 2));
    copy.reset();
    EXPECT_EQ(source->size(), 200'000U);
    EXPECT_EQ(source->label(), in("m.ptd").native());
    Buffer part(1000);
    must(source->read(150'000, part));
    EXPECT_EQ(part, slice(soft(200'000), 150'000, 1000));
  }
}

TEST(ReaderSources, OfContentsAreCheckedAsTheyAreRead) {
  auto file = sample_file(false);
  const auto whole_file = opened(file);
  const auto content = whole_file.model().storages[tensor_of(whole_file, "noise").storage].content;
  file[whole_file.segment_of(content).offset + 20'000] ^= std::byte{1};
  const auto source = opened(file).content_source(content);
  Buffer out(100);
  EXPECT_EQ(code_of(source->read(0, out)), "ok");
  EXPECT_EQ(code_of(source->read(16'384, out)), "chunk-data");
  Writer writer;
  put(writer, "t", source);
  Buffer target;
  EXPECT_EQ(code_of(writer.write(target)), "chunk-data");
}

TEST(ReaderSources, OfContentsEndWhereTheContentEnds) {
  const auto reader = opened(sample_file(false));
  const auto source = reader.content_source(0);
  Buffer one(1);
  EXPECT_EQ(code_of(source->read(source->size() - 1, one)), "ok");
  // ByteSource: reading past the end is an `io` error that says so.
  for (const auto offset : {source->size(), ~std::uint64_t{0}})
    EXPECT_EQ(code_of(source->read(offset, one)), "io");
}

}  // namespace
}  // namespace ptd
