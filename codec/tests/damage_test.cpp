// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Damaged, cut, extended and forged files: every one is refused, with the code that SPEC.md's order of checks
// gives.
#include <gtest/gtest.h>

#include "tests/write_samples.hpp"

namespace ptd {
namespace {

using namespace write_test;

// Several segments with padding of several lengths, two methods, a library, a blob, a mutable storage, a
// sub-byte tensor with pad bits, and, if compressed, coded segments between raw ones.
Buffer small_file(bool compress) {
  Writer writer;
  const auto prefill = must(writer.add_method("prefill", {{"note", "first", ValueKind::text}}));
  const auto decode = must(writer.add_method("decode"));
  const auto library = must(writer.add_library({"kernels", {}, {}}));
  must(writer.bind(decode, library));
  must(writer.bind(prefill, must(writer.add_blob({"tokenizer", own_memory(soft(90)), 0, "text/plain", {}}))));
  const auto both = put(writer, "embed", soft(200, 2), {.dtype = DType::bfloat16});
  must(writer.bind(prefill, both));
  must(writer.bind(decode, both));
  must(writer.bind(prefill, put(writer, "norm", noise(41, 3))));
  must(writer.bind(decode,
                   put(writer, "index", bytes({0x21, 0x43, 0x05}), {.dtype = DType::uint4, .sizes = {{5}}})));
  must(writer.bind(decode, put(writer, "state", noise(16, 4), {.access = Access::mutable_})));
  must(writer.bind(decode, put(writer, "cache", zero_source(4096), {.access = Access::mutable_})));
  must(writer.bind(decode, put(writer, "constant", soft(120, 5),
                               {.dtype = DType::float32, .owner = OwnerSpec::library(library)})));
  must(writer.add_metadata({"made by", "a test", ValueKind::text}));
  FileEdit edit(written(writer, options_of(compress)));
  edit.align({9, 6, 8, 7, 6, 10});
  return edit.finish();
}

// Chunks of 16 KiB, two and a bit, so that damage meets first, middle and last chunks.
Buffer chunked_file(bool compress) {
  Writer writer;
  put(writer, "weight", soft(36'004), {.dtype = DType::float32});
  return written(writer, options_of(compress, 0, 14));
}

struct Range {
  std::uint64_t begin, end;
  std::string_view code;  ///< what a flipped bit in it breaks first
};

std::vector<Range> map_of(const Buffer& file) {
  const auto reader = opened(file);
  const auto header = must(wire::parse_header(Bytes(file).first(80), file.size(), limits::max_message_bytes));
  std::vector<Range> map{{0, 8, "not-ptd"}, {8, 80, "header-hash"}};
  const auto add = [&](std::uint64_t begin, std::uint64_t end, std::string_view code) {
    if (map.back().end < begin) map.push_back({map.back().end, begin, "padding"});
    map.push_back({begin, end, code});
  };
  for (const auto& segment : reader.layout().segments)
    add(segment.offset, segment.offset + segment.stored_size,
        is_coded(segment.encoding) ? "stored-hash" : "chunk-data");
  for (const auto& segment : reader.layout().segments)
    add(segment.table_offset, segment.table_offset + segment.chunks * FileEdit::entry_bytes(segment),
        "table-hash");
  add(header.layout_offset, header.model_offset(), "layout-hash");
  add(header.model_offset(), file.size(), "model-hash");
  return map;
}

class Damage : public testing::TestWithParam<bool> {};

INSTANTIATE_TEST_SUITE_P(Files, Damage, testing::Bool(),
                         [](const auto& row) { return row.param ? "compressed" : "raw"; });

TEST_P(Damage, TheSampleHasEveryKindOfRegion) {
  const auto file = small_file(GetParam());
  ASSERT_EQ(check_code(file), "ok");
  std::vector<std::string_view> codes;
  unsigned paddings = 0;
  for (const auto& range : map_of(file)) {
    codes.push_back(range.code);
    paddings += range.code == "padding" ? 1 : 0;
  }
  EXPECT_EQ(map_of(file).back().end, file.size());
  EXPECT_GE(paddings, 5U);
  for (const std::string_view code :
       {"not-ptd", "header-hash", "padding", "chunk-data", "table-hash", "layout-hash", "model-hash"})
    EXPECT_TRUE(std::ranges::count(codes, code) > 0) << code;
  EXPECT_EQ(std::ranges::count(codes, "stored-hash"), GetParam() ? 2 : 0);
  EXPECT_EQ(check_code(chunked_file(GetParam())), "ok");
  EXPECT_EQ(opened(chunked_file(GetParam())).layout().segments.at(0).chunks, 3U);
  EXPECT_EQ(is_coded(opened(chunked_file(GetParam())).layout().segments.at(0).encoding), GetParam());
}

// C013, C101.
TEST_P(Damage, AFileCutAnywhereDoesNotOpen) {
  const auto file = small_file(GetParam());
  for (std::size_t size = 0; size < file.size(); ++size) {
    const auto cut = Reader::open(borrow_memory(Bytes(file).first(size)));
    ASSERT_EQ(code_of(cut), size < 80 ? "too-short" : "truncated") << size;
    ASSERT_EQ(cut.error().offset, size);
  }
}

TEST_P(Damage, AFileThatGoesOnDoesNotOpen) {
  const auto file = small_file(GetParam());
  for (const std::size_t more : {1, 7, 8, 80, 4096}) {
    for (const auto value : {std::byte{0}, std::byte{0x89}}) {
      Buffer longer = file;
      longer.resize(file.size() + more, value);
      EXPECT_EQ(check_code(longer), "trailing-bytes") << more;
    }
  }
  Buffer twice = file;
  twice.insert(twice.end(), file.begin(), file.end());
  EXPECT_EQ(check_code(twice), "trailing-bytes");
}

TEST_P(Damage, EveryFlippedBitIsFoundAndNamed) {
  auto file = small_file(GetParam());
  for (const auto& [begin, end, code] : map_of(file))
    for (std::uint64_t at = begin; at < end; ++at)
      for (unsigned bit = 0; bit < 8; ++bit) {
        file[at] ^= std::byte{1} << bit;
        ASSERT_EQ(check_code(file), code) << "byte " << at << " bit " << bit;
        file[at] ^= std::byte{1} << bit;
      }
  EXPECT_EQ(check_code(file), "ok");
}

// C095.
TEST_P(Damage, AFlippedBitInAnyByteOfLargeSegmentsIsFound) {
  auto file = chunked_file(GetParam());
  std::mt19937 random(7);
  for (const auto& [begin, end, code] : map_of(file))
    for (std::uint64_t at = begin; at < end; at += 1 + random() % 4) {
      const auto bit = std::byte{1} << random() % 8;
      file[at] ^= bit;
      ASSERT_EQ(check_code(file), code) << "byte " << at;
      file[at] ^= bit;
    }
}

// Reading does not look at stored hashes, so a decoder meets damaged frames; wrong bytes must never come out
// (C095, C106).
TEST(DamagedReads, NeverGiveOtherBytes) {
  auto file = chunked_file(true);
  const auto original = read_all(opened(file), "weight");
  const auto segment = opened(file).layout().segments.at(0);
  std::mt19937 random(8);
  Buffer out(original.size());
  for (std::uint64_t at = 0; at < segment.stored_size; at += 1 + random() % 4) {
    const auto bit = std::byte{1} << random() % 8;
    file[segment.offset + at] ^= bit;
    const auto reader = must(Reader::open(borrow_memory(file)));
    const auto read = reader.read_tensor(0, out, {true, 1});
    if (read) {
      ASSERT_EQ(out, original) << at;
    } else {
      ASSERT_TRUE(code_of(read) == "frame" || code_of(read) == "chunk-data") << at << ": " << code_of(read);
      ASSERT_EQ(read.error().subject, "weight");
    }
    file[segment.offset + at] ^= bit;
  }
}

TEST(DamagedReads, OfAChunkThatIsFineDoNotMindOthers) {
  auto file = chunked_file(false);
  const auto original = read_all(opened(file), "weight");
  const auto segment = opened(file).layout().segments.at(0);
  file[segment.offset + 16'384] ^= std::byte{1};
  const auto reader = must(Reader::open(borrow_memory(file)));
  Buffer out(16'384);
  EXPECT_EQ(code_of(reader.read_storage(0, 0, out)), "ok");
  EXPECT_EQ(out, slice(original, 0, 16'384));
  EXPECT_EQ(rule_of(reader.read_storage(0, 1, out)), "chunk-data CHK-6");
  EXPECT_EQ(code_of(reader.read_storage(0, 1, out, {false, 0})), "ok");
}

// --- the order of checks -------------------------------------------------------------------------------

struct TwoFaults {
  std::string_view name;
  std::function<std::vector<std::uint64_t>(const Layout&)> bytes;  ///< that are flipped
  std::string_view code;
};

class FaultOrder : public testing::TestWithParam<TwoFaults> {};

std::uint64_t tables_of(const Layout& layout) { return layout.segments.front().table_offset; }
const Segment& first_coded(const Layout& layout) {
  return *std::ranges::find_if(layout.segments,
                               [](const Segment& segment) { return is_coded(segment.encoding); });
}

INSTANTIATE_TEST_SUITE_P(
    Pairs, FaultOrder,
    testing::Values(TwoFaults{"padding_before_its_table",
                              [](const Layout& l) {
                                return std::vector{l.segments[0].offset - 1, l.segments[0].table_offset};
                              },
                              "padding"},
                    TwoFaults{"table_before_its_chunks",
                              [](const Layout& l) {
                                return std::vector{l.segments[0].offset, l.segments[0].table_offset};
                              },
                              "table-hash"},
                    TwoFaults{"chunks_before_the_next_padding",
                              [](const Layout& l) {
                                return std::vector{l.segments[1].offset, l.segments[2].offset - 1};
                              },
                              "chunk-data"},
                    TwoFaults{"chunks_before_the_next_table",
                              [](const Layout& l) {
                                return std::vector{l.segments[1].offset, l.segments[2].table_offset};
                              },
                              "chunk-data"},
                    TwoFaults{"next_padding_before_later_tables",
                              [](const Layout& l) {
                                return std::vector{l.segments[2].offset - 1, l.segments[4].table_offset};
                              },
                              "padding"},
                    TwoFaults{"segments_before_the_last_padding",
                              [](const Layout& l) {
                                return std::vector{l.segments.back().offset, tables_of(l) - 1};
                              },
                              "chunk-data"},
                    TwoFaults{"coded_chunks_before_the_last_padding",
                              [](const Layout& l) {
                                return std::vector{first_coded(l).offset, tables_of(l) - 1};
                              },
                              "stored-hash"},
                    TwoFaults{"magic_before_all",
                              [](const Layout& l) {
                                return std::vector<std::uint64_t>{0, 8, l.segments[0].offset};
                              },
                              "not-ptd"},
                    TwoFaults{"layout_before_model",
                              [](const Layout& l) {
                                const auto& s = l.segments.back();
                                return std::vector{
                                    s.table_offset + s.chunks * FileEdit::entry_bytes(s) + 8,
                                    s.table_offset + s.chunks * FileEdit::entry_bytes(s) + 400};
                              },
                              "layout-hash"}),
    [](const auto& row) { return std::string(row.param.name); });

TEST_P(FaultOrder, TheFirstFaultInTheOrderIsNamed) {
  auto file = small_file(true);
  const auto layout = opened(file).layout();
  // The sample must be as the table of faults takes it to be.
  ASSERT_EQ(layout.segments.size(), 6U);
  ASSERT_FALSE(is_coded(layout.segments[1].encoding));
  ASSERT_FALSE(is_coded(layout.segments.back().encoding));
  ASSERT_LT(layout.segments.back().offset + layout.segments.back().stored_size, tables_of(layout));
  for (const auto at : GetParam().bytes(layout)) file[at] ^= std::byte{0x10};
  for (const unsigned threads : {1U, 7U}) EXPECT_EQ(check_code(file, threads), GetParam().code);
}

// --- forged files: every hash on the way to the fault is right -----------------------------------------

// One coded segment of three chunks.
FileEdit coded() { return FileEdit(chunked_file(true)); }
FileEdit raw() { return FileEdit(chunked_file(false)); }

// Verify and a checked read agree on what a bad table, frame or chunk is.
void expect_both(const FileEdit& edit, std::string_view code, std::string_view rule) {
  const auto reader = opened(edit.finish());
  const auto expected = std::string(code) + " " + std::string(rule);
  EXPECT_EQ(rule_of(reader.verify()), expected);
  Buffer out(36'004);
  EXPECT_EQ(rule_of(reader.read_tensor(0, out)), expected);
}

// C106.
TEST(Forged, StoredSizesThatCannotBe) {
  const std::uint64_t top = std::uint64_t{1} << 63U;
  for (const std::uint64_t wrong :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{16'385}, top, ~std::uint64_t{0}}) {
    auto edit = coded();
    edit.set_entry(edit.layout.segments[0], 1, 2, wrong);
    edit.rehash_tables();
    expect_both(edit, "chunk-table", "CHK-2");
  }
}

// Nothing cannot stand for a chunk, even where the sum is right.
TEST(Forged, StoredSizesOfNothing) {
  auto edit = coded();
  const auto& segment = edit.layout.segments[0];
  edit.set_entry(segment, 0, 2, edit.entry(segment, 0, 2) + edit.entry(segment, 1, 2));
  edit.set_entry(segment, 1, 2, 0);
  edit.rehash_tables();
  expect_both(edit, "chunk-table", "CHK-2");
}

TEST(Forged, StoredSizesThatMissTheSegmentsSize) {
  auto edit = coded();
  const auto& segment = edit.layout.segments[0];
  edit.set_entry(segment, 2, 2, edit.entry(segment, 2, 2) + 1);
  edit.rehash_tables();
  expect_both(edit, "chunk-table", "CHK-2");
}

// Sizes that agree in all but say another border between two chunks: both chunks' stored bytes are others.
TEST(Forged, AnotherBorderBetweenChunks) {
  auto edit = coded();
  const auto& segment = edit.layout.segments[0];
  edit.set_entry(segment, 0, 2, edit.entry(segment, 0, 2) - 1);
  edit.set_entry(segment, 1, 2, edit.entry(segment, 1, 2) + 1);
  edit.rehash_tables();
  EXPECT_EQ(rule_of(opened(edit.finish()).verify()), "stored-hash CHK-3");
  edit.rehash_chunks();
  edit.rehash_tables();
  expect_both(edit, "frame", "ZST-3");
}

TEST(Forged, FramesOfAnotherForm) {
  struct Row {
    std::size_t at;
    unsigned value;
    std::string_view rule;
  };
  // The header of a chunk of 16,384 bytes is 28 B5 2F FD 60 00 3F, then the first block's header.
  for (const auto& [at, value, rule] :
       {Row{0, 0x29, "ZST-1"}, Row{4, 0x64, "ZST-1"}, Row{5, 1, "ZST-1"}, Row{6, 0x40, "ZST-1"},
        Row{7, 0x06, "ZST-2"}, Row{9, 0xFF, "ZST-2"}}) {
    auto edit = coded();
    edit.chunk(edit.layout.segments[0], 0)[at] = static_cast<std::byte>(value);
    edit.rehash_chunks();
    edit.rehash_tables();
    expect_both(edit, "frame", rule);
  }
}

// C094: what a frame says about its own size or window is never the measure.
TEST(Forged, FramesThatClaimMore) {
  for (const auto& claim :
       {bytes({0x28, 0xB5, 0x2F, 0xFD, 0xE0, 0, 0, 0, 0, 0, 0, 0, 0x10}),  // content size 2^60
        bytes({0x28, 0xB5, 0x2F, 0xFD, 0x00, 0xA8}),                       // window log 31
        bytes({0x50, 0x2A, 0x4D, 0x18, 0x00, 0x01, 0x00, 0x00})}) {        // a skippable frame
    auto edit = coded();
    std::ranges::copy(claim, edit.chunk(edit.layout.segments[0], 0).begin());
    edit.rehash_chunks();
    edit.rehash_tables();
    expect_both(edit, "frame", "ZST-1");
  }
}

TEST(Forged, FramesThatDoNotDecode) {
  auto edit = coded();
  // Behind the headers of frame (7 bytes), block (3) and literals (4) lies a Huffman table.
  const auto chunk = edit.chunk(edit.layout.segments[0], 0);
  std::ranges::fill(chunk.subspan(14, 20), std::byte{0xFF});
  edit.rehash_chunks();
  edit.rehash_tables();
  expect_both(edit, "chunk-data", "CHK-5");
}

TEST(Forged, FramesOfAnotherLength) {
  auto edit = coded();
  // A raw block of all that is left, which is too little.
  const auto chunk = edit.chunk(edit.layout.segments[0], 0);
  const auto number = static_cast<std::uint32_t>(chunk.size() - 10) << 3U | 1U;
  for (unsigned i = 0; i < 3; ++i) chunk[7 + i] = static_cast<std::byte>(number >> (8 * i) & 0xFFU);
  edit.rehash_chunks();
  edit.rehash_tables();
  expect_both(edit, "chunk-data", "CHK-5");
}

TEST(Forged, AWrongRawHash) {
  for (auto edit : {coded(), raw()}) {
    edit.set_entry(edit.layout.segments[0], 2, 0, 1);
    edit.rehash_tables();
    expect_both(edit, "chunk-data", "CHK-6");
  }
}

// Other bytes with right chunk hashes: only the content digest tells, and only verify looks at it.
TEST(Forged, ADigestOfOtherBytes) {
  auto edit = raw();
  edit.stored(edit.layout.segments[0])[20'000] ^= std::byte{1};
  edit.rehash_chunks();
  edit.rehash_tables();
  const auto reader = opened(edit.finish());
  EXPECT_EQ(rule_of(reader.verify()), "content-digest DIG-2");
  EXPECT_EQ(reader.verify().error().subject, "weight");

  for (auto other : {coded(), raw()}) {
    other.model.contents[0].digest[31] ^= std::byte{1};
    EXPECT_EQ(rule_of(opened(other.finish()).verify()), "content-digest DIG-2");
  }
}

TEST(Forged, AContentOfZeros) {
  auto edit = raw();
  std::ranges::fill(edit.stored(edit.layout.segments[0]), std::byte{0});
  edit.rehash_chunks();
  edit.rehash_tables();
  // The digest is wrong too, but comes second.
  EXPECT_EQ(rule_of(opened(edit.finish()).verify()), "zero-content CON-4");
  edit.model.contents[0].digest = segment::content_digest(Buffer(36'004));
  EXPECT_EQ(rule_of(opened(edit.finish()).verify()), "zero-content CON-4");
  EXPECT_EQ(code_of(opened(edit.finish()).verify({7, {}})), "zero-content");
}

TEST(Forged, AContentThatIsZeroInItsFirstMegabytesOnly) {
  Writer writer;
  Buffer content(3 << 20);
  content.back() = std::byte{1};
  put(writer, "late", content);
  EXPECT_EQ(check_code(written(writer)), "ok");
  EXPECT_EQ(check_code(written(writer, options_of(true)), 7), "ok");
}

// C050. A file made for bytes, retold as one of packed elements.
struct PadCase {
  DType dtype;
  std::uint64_t elements;
  Buffer bytes;
  bool good;
};

Buffer packed_file(const PadCase& row, Origin origin = Origin::stored) {
  Writer writer;
  put(writer, "packed", row.bytes);
  FileEdit edit(written(writer));
  const Sizes sizes{row.elements};
  edit.model.tensors[0].dtype = row.dtype;
  edit.model.tensors[0].sizes = sizes;
  edit.model.storages[0].origin = origin;
  return edit.finish();
}

TEST(Forged, PadBits) {
  const PadCase rows[] = {
      {DType::uint4, 5, bytes({0x21, 0x43, 0x05}), true},
      {DType::uint4, 5, bytes({0x21, 0x43, 0x15}), false},
      {DType::uint4, 5, bytes({0x21, 0x43, 0x85}), false},
      {DType::uint4, 6, bytes({0x21, 0x43, 0xF5}), true},
      {DType::uint4, 3, bytes({0x21, 0x43, 0x05}), false},
      {DType::uint4, 1, bytes({0x0F, 0xFF}), true},
      {DType::uint3, 5, bytes({0xD1, 0x58}), true},
      {DType::uint3, 5, bytes({0xD1, 0xD8}), false},
      {DType::uint1, 9, bytes({0xFF, 0x01}), true},
      {DType::uint1, 9, bytes({0xFF, 0x03}), false},
      {DType::int7, 1, bytes({0x7F}), true},
      {DType::int7, 1, bytes({0xFF}), false},
      {DType::float6_e3m2fn, 3, bytes({1, 2, 3}), true},
      {DType::float6_e3m2fn, 3, bytes({1, 2, 4}), false},
      {DType::float4_e2m1fn, 7, bytes({1, 2, 3, 4}), true},
      {DType::float4_e2m1fn, 7, bytes({1, 2, 3, 0x40}), false},
  };
  for (const auto& row : rows) {
    const auto reader = opened(packed_file(row));
    EXPECT_EQ(rule_of(reader.verify()), row.good ? "ok" : "pad-bits SUB-3")
        << dtype_name(row.dtype) << row.elements;
    if (!row.good) {
      EXPECT_EQ(reader.verify().error().subject, "packed");
    }
  }
}

// The last padding is looked at before pad bits are.
TEST(Forged, PadBitsComeLast) {
  auto file = packed_file({DType::uint4, 5, bytes({0x21, 0x43, 0x15}), false});
  ASSERT_EQ(check_code(file), "pad-bits");
  file[opened(file).layout().segments[0].table_offset - 1] = std::byte{1};
  EXPECT_EQ(check_code(file), "padding");
}

}  // namespace
}  // namespace ptd
