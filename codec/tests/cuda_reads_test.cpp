// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Reads past the page cache: every way to make them gives what is in the file, or says why not.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cstddef>
#include <random>
#include <thread>

#include "cuda/direct_source.hpp"
#include "cuda/feed.hpp"
#include "cuda/inner.hpp"
#include "cuda/piece_window.hpp"
#include "cuda/read_ahead.hpp"
#include "cuda/residency.hpp"
#include "tests/cuda_fake.hpp"
#include "tests/file_fixture.hpp"
#include "tests/write_samples.hpp"

namespace ptd::cuda {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using namespace write_test;

constexpr std::uint64_t kib = std::uint64_t{1} << 10, mib = kib << 10;

void write(const std::filesystem::path& path, const Buffer& bytes) {
  file_test::write_file(path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

/// A reader for whom every read goes wrong, or who gives up at once.
class BrokenReader final : public DeepReader {
 public:
  explicit BrokenReader(bool tries) : tries_(tries) {}
  void run(const DirectFile& /*file*/, ReadQueue& queue) noexcept override {
    while (tries_) {
      const auto read = queue.next(true);
      if (!read) return;
      queue.finish(read->number, 0);
    }
    static_cast<void>(queue.next(true));  // one is never finished
  }

 private:
  bool tries_;
};

struct Way {
  std::string name;
  std::function<DeepReaderPtr()> make;
};

std::vector<Way> ways() {
  std::vector<Way> all{{"threads", [] { return thread_reader(4); }},
                       {"every read fails", [] { return std::make_unique<BrokenReader>(true); }},
                       {"gives up", [] { return std::make_unique<BrokenReader>(false); }}};
  if (ring_reader(8)) all.push_back({"ring", [] { return must(ring_reader(8)); }});
  return all;
}

std::vector<Read> reads(const std::vector<FileRange>& ranges) {
  std::vector<Read> out;
  for (const auto& range : ranges) out.push_back({range, false});
  return out;
}

class CudaReads : public file_test::Folder {
 protected:
  /// A new file of these bytes, opened for direct reads; skips the test where there are none.
  DirectFilePtr direct_file(const Buffer& bytes) {
    write(in("f"), bytes);
    opened_ = must(open_file(in("f")));
    auto file = open_direct(opened_);
    return file ? *file : nullptr;
  }

  SourcePtr ahead(const DirectFilePtr& file, const std::vector<FileRange>& ranges, const Way& way,
                  ReadAheadSize size = {.piece_bytes = 16 * kib, .pieces = 4}) {
    return read_ahead(file, opened_.source, list_reads(reads(ranges), size.piece_bytes), way.make(), size);
  }

  OpenedFile opened_;
};

#define NEEDS_DIRECT_READS(file) \
  if ((file) == nullptr) GTEST_SKIP() << "no direct reads in " << folder()

Buffer slice(const Buffer& bytes, FileRange range) {
  return {bytes.begin() + static_cast<std::ptrdiff_t>(range.begin),
          bytes.begin() + static_cast<std::ptrdiff_t>(range.end)};
}

void expect_same(const ByteSource& source, const Buffer& bytes, FileRange range) {
  Buffer found(range.end - range.begin);
  must(source.read(range.begin, found));
  EXPECT_TRUE(found == slice(bytes, range)) << range.begin << " to " << range.end;
}

std::vector<FileRange> cut(std::uint64_t size, std::uint64_t step) {
  std::vector<FileRange> ranges;
  for (std::uint64_t at = 0; at < size; at += step) ranges.push_back({at, std::min(size, at + step)});
  return ranges;
}

TEST_F(CudaReads, FilesOfAnySizeReadWhole) {
  for (const auto size : {std::uint64_t{1}, std::uint64_t{511}, 4 * kib - 1, 4 * kib, 4 * kib + 1, 16 * kib,
                          256 * kib - 1, mib + 1, 3 * mib + 123}) {
    const auto bytes = noise(size, size);
    const auto file = direct_file(bytes);
    NEEDS_DIRECT_READS(file);
    EXPECT_EQ(file->size, size);
    expect_same(*direct_source(file), bytes, {0, size});
    for (const auto& way : ways()) {
      SCOPED_TRACE(way.name + ", " + std::to_string(size));
      expect_same(*ahead(file, {{0, size}}, way), bytes, {0, size});
      expect_same(*ahead(file, {}, way), bytes, {0, size});
    }
  }
}

TEST_F(CudaReads, AnyOrderOfReadsEndsAndIsRight) {
  const auto bytes = noise(mib + 77, 1);
  const auto file = direct_file(bytes);
  NEEDS_DIRECT_READS(file);
  auto ranges = cut(bytes.size(), 4999);
  for (const auto& way : ways())
    for (const std::size_t pieces : {1U, 3U, 100U}) {
      SCOPED_TRACE(way.name + ", " + std::to_string(pieces));
      const auto backwards = ahead(file, ranges, way, {.piece_bytes = 16 * kib, .pieces = pieces});
      for (auto range = ranges.rbegin(); range != ranges.rend(); ++range)
        expect_same(*backwards, bytes, *range);
      const auto unlike_listed = ahead(file, ranges, way, {.piece_bytes = 16 * kib, .pieces = pieces});
      std::mt19937 random(7);
      for (int i = 0; i < 200; ++i) {
        const auto begin = random() % bytes.size();
        expect_same(*unlike_listed, bytes,
                    {begin, begin + random() % std::min<std::uint64_t>(100'000, bytes.size() - begin)});
      }
    }
}

TEST_F(CudaReads, ManyThreadsShareAWindow) {
  const auto bytes = noise(4 * mib + 1000, 2);
  const auto file = direct_file(bytes);
  NEEDS_DIRECT_READS(file);
  const auto ranges = cut(bytes.size(), 30'011);
  for (const auto& way : ways()) {
    SCOPED_TRACE(way.name);
    const auto source = ahead(file, ranges, way);
    std::atomic<std::size_t> next = 0;
    std::vector<std::jthread> threads;
    for (int i = 0; i < 16; ++i)
      threads.emplace_back([&] {
        for (auto number = next++; number < ranges.size(); number = next++)
          expect_same(*source, bytes, ranges[number]);
      });
  }
}

TEST_F(CudaReads, ASourceMayGoBeforeItIsRead) {
  const auto file = direct_file(noise(mib, 3));
  NEEDS_DIRECT_READS(file);
  for (const auto& way : ways())
    for (const std::size_t pieces : {1U, 64U})
      ASSERT_NE(ahead(file, {{0, mib}}, way, {.piece_bytes = 16 * kib, .pieces = pieces}), nullptr);
}

TEST_F(CudaReads, ReadsPastTheEndAreRefused) {
  const auto file = direct_file(noise(5000, 4));
  NEEDS_DIRECT_READS(file);
  Buffer into(2);
  for (const auto& way : ways())
    EXPECT_THAT(ahead(file, {{0, 5000}}, way)->read(4999, into).error().message, HasSubstr("past the end"));
  EXPECT_THAT(direct_source(file)->read(4999, into).error().message, HasSubstr("past the end"));
}

TEST_F(CudaReads, AFileThatIsCutIsAnErrorThatSaysSo) {
  for (const std::uint64_t left : {std::uint64_t{0}, 64 * kib, 64 * kib + 100}) {
    const auto file = direct_file(noise(mib, 5));
    NEEDS_DIRECT_READS(file);
    std::filesystem::resize_file(in("f"), left);
    Buffer into(mib);
    const auto direct = direct_source(file)->read(0, into);
    ASSERT_FALSE(direct);
    EXPECT_THAT(direct.error().message, HasSubstr("became shorter"));
    for (const auto& way : ways()) {
      SCOPED_TRACE(way.name + ", " + std::to_string(left));
      const auto found = ahead(file, {{0, mib}}, way)->read(0, into);
      ASSERT_FALSE(found);
      EXPECT_EQ(found.error().code, ErrorCode::io);
      EXPECT_THAT(found.error().message, HasSubstr("became shorter"));
    }
  }
}

TEST_F(CudaReads, AnotherOrAChangedFileIsNotTakenForTheOpenedOne) {
  const auto expect_refused = [&](const OpenedFile& opened) {
    const auto direct = open_direct(opened);
    ASSERT_FALSE(direct);
    EXPECT_THAT(direct.error().message, HasSubstr("no longer names the file"));
  };
  NEEDS_DIRECT_READS(direct_file(noise(5000, 6)));
  auto opened = must(open_file(in("f")));
  ASSERT_TRUE(open_direct(opened));
  std::filesystem::last_write_time(in("f"),
                                   std::filesystem::file_time_type::clock::now() + std::chrono::seconds(5));
  expect_refused(opened);
  opened = must(open_file(in("f")));
  ASSERT_TRUE(open_direct(opened));
  write(in("g"), noise(5000, 6));
  std::filesystem::rename(in("g"), in("f"));
  expect_refused(opened);
}

// --- what is read --------------------------------------------------------------------------------------

TEST(CudaReadList, NeighboursShareAPieceAndNoPieceCrossesACell) {
  const std::uint64_t cell = 64 * kib;
  const auto list = list_reads(
      reads({{100, 200}, {256, 1000}, {60 * kib, 70 * kib}, {10 * mib, 10 * mib + 3}, {2000, 3000}}), cell);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> pieces;
  std::vector<std::uint64_t> wanted;
  for (const auto& piece : list.pieces) {
    pieces.emplace_back(piece.range.begin, piece.range.end);
    wanted.push_back(piece.wanted);
    EXPECT_EQ(piece.range.begin / cell, (piece.range.end - 1) / cell);
  }
  EXPECT_THAT(pieces,
              ElementsAre(std::pair(100, 1000), std::pair(60 * kib, 64 * kib), std::pair(64 * kib, 70 * kib),
                          std::pair(10 * mib, 10 * mib + 3), std::pair(2000, 3000)));
  EXPECT_THAT(wanted, ElementsAre(844, 4 * kib, 6 * kib, 3, 1000));
  EXPECT_TRUE(std::ranges::is_sorted(list.parts, {}, [](const Part& part) { return part.range.begin; }));
}

// A load asks for a table, then for its segment, and so on.
TEST(CudaReadList, TablesShareAPieceThoughSegmentsComeBetweenThem) {
  const auto list = list_reads(
      {{{5000, 5016}, true}, {{0, 100}, false}, {{5016, 5032}, true}, {{100, 300}, false}}, 64 * kib);
  ASSERT_EQ(list.pieces.size(), 2U);
  EXPECT_EQ(list.pieces[0].wanted, 32U);
  EXPECT_EQ(list.pieces[1].wanted, 300U);
}

TEST(CudaReadList, EveryWantedByteIsInItsPiece) {
  std::mt19937 random(11);
  std::vector<FileRange> ranges;
  for (std::uint64_t at = 0; at < 20 * mib;) {
    const auto begin = at + random() % (80 * kib), end = begin + random() % (300 * kib);
    ranges.push_back({begin, end});
    at = end;
  }
  std::ranges::shuffle(ranges, random);
  const auto list = list_reads(reads(ranges), 128 * kib);
  std::vector<std::uint64_t> bytes(list.pieces.size());
  for (const auto& part : list.parts) {
    const auto& piece = list.pieces[part.piece].range;
    EXPECT_TRUE(piece.begin <= part.range.begin && part.range.end <= piece.end);
    bytes[part.piece] += part.range.end - part.range.begin;
  }
  for (std::size_t i = 0; i < bytes.size(); ++i) EXPECT_EQ(bytes[i], list.pieces[i].wanted);
}

// --- which way ------------------------------------------------------------------------------------------

class CudaFeeds : public file_test::Folder {
 protected:
  /// 6 MiB of weights in a file, opened mapped.
  Reader model() {
    Writer writer;
    const auto method = must(writer.add_method("forward"));
    for (unsigned i = 0; i < 6; ++i)
      must(writer.bind(method, put(writer, "w" + std::to_string(i), noise(mib, i))));
    write(in("m.ptd"), written(writer, options_of(false)));
    return opened(FileAccess::mapped);
  }

  Reader opened(FileAccess access) { return must(Reader::open(in("m.ptd"), {.access = access})); }

  std::vector<Wanted> wanted_of(const Reader& reader) {
    std::vector<Wanted> wanted;
    for (std::uint32_t i = 0; i < reader.model().storages.size(); ++i)
      wanted.push_back({i, {&room_, i * mib}, true});
    return wanted;
  }

  Room room_;  // nothing is written
};

void expect_every_range(const ByteSource& source, const Reader& reader, const std::vector<Wanted>& wanted) {
  TableStore tables(reader.model().contents.size());
  for (const auto& [range, is_table] : reads_of(reader, tables, wanted)) {
    Buffer found(range.end - range.begin), expected(range.end - range.begin);
    must(source.read(range.begin, found));
    must(reader.file().source->read(range.begin, expected));
    EXPECT_TRUE(found == expected);
  }
}

TEST_F(CudaFeeds, WhereRingsAreRefusedThreadsReadAndItIsSaid) {
  const auto reader = model();
  const auto wanted = wanted_of(reader);
  TableStore tables(reader.model().contents.size());
  const auto feed =
      choose_feed(reader, tables, wanted, ReadPath::direct, [](unsigned) -> Result<DeepReaderPtr> {
        return fail(ErrorCode::io, "", "io_uring was refused for the test");
      });
  if (feed.path != ReadPath::direct) GTEST_SKIP() << "no direct reads in " << folder();
  EXPECT_THAT(feed.notes, ElementsAre("io_uring was refused for the test, so threads read ahead instead"));
  expect_every_range(*feed.source, reader, wanted);
}

TEST_F(CudaFeeds, DirectReadsBringEveryRange) {
  const auto reader = model();
  const auto wanted = wanted_of(reader);
  TableStore tables(reader.model().contents.size());
  const auto feed = choose_feed(reader, tables, wanted, ReadPath::direct);
  expect_every_range(*feed.source, reader, wanted);
}

TEST_F(CudaFeeds, AFileThatWasChangedIsReadThroughTheOneThatWasOpened) {
  const auto reader = model();
  const auto wanted = wanted_of(reader);
  TableStore tables(reader.model().contents.size());
  std::filesystem::rename(in("m.ptd"), in("elsewhere"));
  const auto feed = choose_feed(reader, tables, wanted, ReadPath::direct);
  EXPECT_EQ(feed.path, ReadPath::buffered);
  EXPECT_EQ(feed.notes.size(), 1U);
  expect_every_range(*feed.source, reader, wanted);
}

/// Leaves only the file's first bytes in the page cache. False where that cannot be done.
bool keep_only(const std::filesystem::path& path, std::uint64_t bytes) {
  const file::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (::fsync(file.get()) != 0 || ::posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED) != 0) return false;
  ::posix_fadvise(file.get(), 0, 0, POSIX_FADV_RANDOM);
  Buffer into(bytes);
  return ::pread(file.get(), into.data(), bytes, 0) == static_cast<ssize_t>(bytes);
}

TEST_F(CudaFeeds, WhatIsInThePageCacheIsReadFromThere) {
  static_cast<void>(model());
  ASSERT_TRUE(keep_only(in("m.ptd"), 3 * mib + 100));
  const auto reader = opened(FileAccess::mapped);
  const auto wanted = wanted_of(reader);
  TableStore tables(reader.model().contents.size());
  const auto mapping = reader.file().source->in_memory();
  const auto share = resident_share(mapping, reader, wanted);
  if (share < 0.4 || share > 0.7) GTEST_SKIP() << "the page cache cannot be told what to keep: " << share;
  std::vector<Piece> pieces{
      {.range = {5, 3 * mib}}, {.range = {3 * mib, 4 * mib}}, {.range = {5 * mib, 6 * mib}}};
  mark_resident(mapping, pieces);
  EXPECT_TRUE(pieces[0].is_resident);
  EXPECT_FALSE(pieces[1].is_resident);
  EXPECT_FALSE(pieces[2].is_resident);
  const auto feed = choose_feed(reader, tables, wanted, ReadPath::automatic);
  EXPECT_NE(feed.path, ReadPath::mapped);
  expect_every_range(*feed.source, reader, wanted);
  const auto direct = choose_feed(reader, tables, wanted, ReadPath::direct);
  EXPECT_EQ(feed.path, direct.path);
}

TEST_F(CudaFeeds, WhatIsNotInThePageCacheIsReadDirectlyHoweverTheFileWasOpened) {
  static_cast<void>(model());
  ASSERT_TRUE(keep_only(in("m.ptd"), 3 * mib + 100));
  const auto mapping = opened(FileAccess::mapped);
  const auto share = resident_share(mapping.file().source->in_memory(), mapping, wanted_of(mapping));
  if (share > 0.8) GTEST_SKIP() << "the page cache cannot be told what to keep: " << share;
  const auto reader = opened(FileAccess::positional);
  const auto wanted = wanted_of(reader);
  TableStore tables(reader.model().contents.size());
  const auto direct = choose_feed(reader, tables, wanted, ReadPath::direct);
  const auto feed = choose_feed(reader, tables, wanted, ReadPath::automatic);
  EXPECT_EQ(feed.path, direct.path);
  expect_every_range(*feed.source, reader, wanted);
}

TEST_F(CudaFeeds, WhatIsInThePageCacheWholeIsNotReadFromTheDisk) {
  static_cast<void>(model());
  for (const auto access : {FileAccess::mapped, FileAccess::positional}) {
    const auto reader = opened(access);
    const auto wanted = wanted_of(reader);
    TableStore tables(reader.model().contents.size());
    const auto feed = choose_feed(reader, tables, wanted, ReadPath::automatic);
    EXPECT_EQ(feed.path, access == FileAccess::mapped ? ReadPath::mapped : ReadPath::buffered);
    EXPECT_THAT(feed.notes, IsEmpty());
    expect_every_range(*feed.source, reader, wanted);
  }
}

TEST_F(CudaFeeds, AnotherFileInThePlaceOfTheOneThatWasOpenedSaysNothingOfIt) {
  static_cast<void>(model());
  const auto reader = opened(FileAccess::positional);
  const auto wanted = wanted_of(reader);
  TableStore tables(reader.model().contents.size());
  std::filesystem::copy_file(in("m.ptd"), in("copy"));
  std::filesystem::rename(in("copy"), in("m.ptd"));
  const auto feed = choose_feed(reader, tables, wanted, ReadPath::automatic);
  EXPECT_EQ(feed.path, ReadPath::buffered);
  EXPECT_EQ(feed.notes.size(), 1U);  // a look at the other would have found all of it in the cache
  expect_every_range(*feed.source, reader, wanted);
}

TEST_F(CudaFeeds, ALoadOfAFileThatWasCutFailsAndLeavesNothing) {
  static_cast<void>(model());
  const auto driver = std::make_shared<fake::FakeDriver>();
  const WeightCache cache(
      must(make_cache({.pinned_bytes = 16 * mib, .buffer_bytes = mib, .threads = 4}, driver)));
  const auto opened = must(cache.open(in("m.ptd")));
  std::filesystem::resize_file(in("m.ptd"), 2 * mib + 5);
  LoadRequest request;
  request.path = ReadPath::direct;
  const auto weights = opened.load(request);
  ASSERT_FALSE(weights);
  EXPECT_THAT(weights.error().message, HasSubstr("became shorter"));
  EXPECT_EQ(driver->gpu().used(), 0U);
}

/// As containers do. For the rest of the process.
bool forbid_rings() {
  sock_filter rules[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{static_cast<unsigned short>(std::size(rules)), rules};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

TEST(CudaRing, AContainerThatForbidsRingsIsTold) {
  if (!ring_reader(8)) GTEST_SKIP() << ring_reader(8).error().message;
  const auto outcome = file_test::in_child([] {
    if (!forbid_rings()) return 2;
    const auto ring = ring_reader(8);
    return !ring && ring.error().message.find("Operation not permitted") != std::string::npos ? 0 : 1;
  });
  if (outcome == 2) GTEST_SKIP() << "no seccomp here";
  EXPECT_EQ(outcome, 0);
}

TEST_F(CudaFeeds, TablesThatAreKeptAreNotReadAgain) {
  const auto reader = model();
  const auto wanted = wanted_of(reader);
  TableStore tables(reader.model().contents.size());
  const auto all = reads_of(reader, tables, wanted).size();
  EXPECT_FALSE(tables.has(0));
  const auto table = must(tables.get(0, *reader.file().source, reader.segment_of(0), mib));
  EXPECT_TRUE(tables.has(0));
  EXPECT_EQ(must(tables.get(0, *reader.file().source, reader.segment_of(0), mib)), table);
  EXPECT_EQ(reads_of(reader, tables, wanted).size(), all - 1);
}

}  // namespace
}  // namespace ptd::cuda
