// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// What verify counts, what it says of damage, and that it looks at the file and not at what was read before.
#include <gtest/gtest.h>

#include "tests/write_samples.hpp"

namespace ptd {
namespace {

using namespace write_test;

struct Damaged {
  Buffer file;
  Layout layout;
};

// Three tensors and a blob of several chunks each, in this order: blob, a, b, c.
Buffer three_tensors(bool compress) {
  Writer writer;
  must(writer.add_blob({"blob", own_memory(soft(50'000, 9)), 0, "", {}}));
  put(writer, "a", soft(40'000, 1), {.dtype = DType::bfloat16});
  put(writer, "b", soft(3 << 20, 2));
  put(writer, "c", noise(40'001, 3));
  put(writer, "view of b", zero_source(10));
  return written(writer, options_of(compress, 0, 14));
}

Error verify_error(const Buffer& file, unsigned threads = 0) {
  return error_of(must(Reader::open(borrow_memory(file))).verify({threads, {}}));
}

const Segment& segment_of(const Reader& reader, std::string_view name) {
  return reader.segment_of(reader.model().storages[tensor_of(reader, name).storage].content);
}

// C041: a verification says what it looked at.
TEST(Verify, CountsWhatItChecked) {
  for (const bool compress : {false, true}) {
    const auto file = three_tensors(compress);
    const auto reader = opened(file);
    std::uint64_t stored = 0;
    for (const auto& segment : reader.layout().segments) stored += segment.stored_size;
    for (const unsigned threads : {0U, 1U, 7U}) {
      const auto report = must(reader.verify({threads, {}}));
      EXPECT_EQ(report.file_bytes, file.size());
      EXPECT_EQ(report.raw_bytes, 50'000U + 40'000 + (3 << 20) + 40'001);
      EXPECT_EQ(report.stored_bytes, stored);
      EXPECT_EQ(report.segments, 4U);
      EXPECT_EQ(report.chunks, 4U + 3 + 192 + 3);
      EXPECT_EQ(report.tensors, 4U);
      EXPECT_EQ(report.unknown_bytes, 0U);
    }
  }
  Writer nothing;
  const auto report = must(opened(written(nothing)).verify());
  EXPECT_EQ(report.file_bytes, 112U);
  EXPECT_EQ(report.raw_bytes + report.stored_bytes + report.segments + report.chunks + report.tensors, 0U);
}

TEST(Verify, ReportsProgress) {
  const auto reader = opened(three_tensors(true));
  for (const unsigned threads : {1U, 7U}) {
    std::uint64_t last = 0, total = 0;
    bool ascending = true;
    const auto report = must(reader.verify({threads, [&](std::uint64_t done, std::uint64_t all) {
                                              ascending =
                                                  ascending && done > last && (total == 0 || total == all);
                                              last = done;
                                              total = all;
                                              return true;
                                            }}));
    EXPECT_TRUE(ascending);
    EXPECT_EQ(last, total);
    EXPECT_EQ(total, report.raw_bytes);
    for (const int calls : {0, 2}) {
      int left = calls;
      EXPECT_EQ(code_of(reader.verify({threads, [&](auto, auto) { return left-- > 0; }})), "cancelled");
    }
  }
}

TEST(Verify, NamesTheTensorOfADamagedChunk) {
  for (const bool compress : {false, true})
    for (const std::string name : {"a", "b", "c"}) {
      auto file = three_tensors(compress);
      const auto segment = segment_of(opened(file), name);
      const auto at = segment.offset + segment.stored_size - 1;
      file[at] ^= std::byte{1};
      const auto error = verify_error(file);
      EXPECT_EQ(error.code, is_coded(segment.encoding) ? ErrorCode::stored_hash : ErrorCode::chunk_data);
      EXPECT_EQ(error.subject, name);
      ASSERT_TRUE(error.offset);
      EXPECT_GE(*error.offset, segment.offset) << "the error's place is the chunk's";
      EXPECT_LE(*error.offset, at);
      EXPECT_NE(error.message.find("chunk " + std::to_string(segment.chunks - 1)), std::string::npos)
          << error.message;
    }
}

TEST(Verify, NamesTheTensorOfADamagedTable) {
  for (const std::string name : {"a", "b", "c"}) {
    auto file = three_tensors(true);
    const auto segment = segment_of(opened(file), name);
    file[segment.table_offset + 5] ^= std::byte{1};
    const auto error = verify_error(file);
    EXPECT_EQ(error.code, ErrorCode::table_hash);
    EXPECT_EQ(error.offset, segment.table_offset);
    EXPECT_EQ(error.subject, name);
  }
}

TEST(Verify, NamesTheBlobOfADamagedChunk) {
  auto file = three_tensors(false);
  file[opened(file).segment_of(opened(file).model().blobs[0].content).offset] ^= std::byte{1};
  EXPECT_EQ(verify_error(file).code, ErrorCode::chunk_data);
  EXPECT_EQ(verify_error(file).subject, "blob");
}

TEST(Verify, DamagedPaddingIsNobodys) {
  auto file = three_tensors(false);
  const auto segment = segment_of(opened(file), "b");
  file[segment.offset - 1] = std::byte{1};
  const auto error = verify_error(file);
  EXPECT_EQ(error.code, ErrorCode::padding);
  EXPECT_EQ(error.offset, segment.offset - 1);
  EXPECT_EQ(error.subject, "");
}

// Whatever the number of threads, and however fast each finds its fault.
TEST(Verify, GivesTheFirstOfSeveralFaults) {
  for (const bool compress : {false, true}) {
    auto file = three_tensors(compress);
    const auto reader = opened(file);
    const auto& b = segment_of(reader, "b");
    const auto damage = [&](std::string_view name) {
      const auto& segment = segment_of(reader, name);
      file[segment.offset + segment.stored_size - 1] ^= std::byte{1};
    };
    damage("c");
    damage("b");
    file[b.offset + b.stored_size / 2] ^= std::byte{1};
    for (int round = 0; round < 10; ++round) {
      const auto one = verify_error(file, 1), many = verify_error(file, 7);
      EXPECT_EQ(one.to_string(), many.to_string());
      EXPECT_EQ(one.subject, "b");
      EXPECT_LT(*one.offset, b.offset + b.stored_size / 2 + 1);
    }
    damage("a");
    EXPECT_EQ(verify_error(file, 7).subject, "a");
    EXPECT_EQ(verify_error(file, 7).to_string(), verify_error(file, 1).to_string());
  }
}

class VerifyFiles : public file_test::Folder {
 protected:
  void flip(std::uint64_t at) const {
    std::fstream file(in("m.ptd"), std::ios::binary | std::ios::in | std::ios::out);
    file.seekg(static_cast<std::streamoff>(at));
    const auto byte = file.get();
    file.seekp(static_cast<std::streamoff>(at));
    file.put(static_cast<char>(byte ^ 4));
  }
};

// C041: damage that comes after everything was opened, read and verified.
TEST_F(VerifyFiles, LookAtTheFileAgain) {
  for (const auto access : {FileAccess::positional, FileAccess::mapped})
    for (const bool compress : {false, true}) {
      const auto bytes = three_tensors(compress);
      file_test::write_file(in("m.ptd"), {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
      const auto reader = must(Reader::open(in("m.ptd"), {access, limits::max_message_bytes}));
      EXPECT_EQ(read_all(reader, "b"), soft(3 << 20, 2));
      must(reader.verify());
      const auto segment = segment_of(reader, "b");
      flip(segment.offset + 100'000);
      EXPECT_EQ(code_of(reader.verify()), compress ? "stored-hash" : "chunk-data");
      Buffer out(3 << 20);
      EXPECT_NE(code_of(reader.read_tensor(index_of(reader, "b"), out)), "ok");
      flip(segment.offset + 100'000);
      must(reader.verify());
      flip(segment.table_offset);
      EXPECT_EQ(code_of(reader.verify()), "table-hash");
      flip(segment.table_offset);
      flip(segment.offset - 1);
      EXPECT_EQ(code_of(reader.verify()), "padding");
    }
}

// Pad bits are the file's business only where the file has the bytes.
TEST(Verify, PadBitsOfExternalStoragesAndZerosAreFine) {
  Writer writer;
  StorageSpec external;
  external.size = 3;
  external.origin = Origin::external;
  must(writer.add_tensor(
      view_of(must(writer.add_storage(external)), "external", 3, {.dtype = DType::uint4, .sizes = {{5}}})));
  put(writer, "zeros", zero_source(3), {.dtype = DType::uint4, .sizes = {{5}}});
  put(writer, "behind", bytes({1, 2}), {.dtype = DType::uint4, .sizes = {{1}}, .offset = 4, .size = 3});
  EXPECT_EQ(must(opened(written(writer)).verify()).tensors, 3U);
}

}  // namespace
}  // namespace ptd
