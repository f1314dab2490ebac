// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "file/atomic_file.hpp"

#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <sys/mount.h>

#include <cstring>
#include <thread>

#include "file_fixture.hpp"

namespace ptd::file {
namespace {

using file_test::as_bytes;
using file_test::file_text;
using file_test::in_child;
using file_test::mode_of;
using file_test::start_child;
using file_test::wait_for;
using file_test::write_file;
using std::filesystem::path;

using Names = std::vector<std::string>;

constexpr uid_t nobody = 65534;
constexpr int not_possible_here = 77;

class AtomicFileTest : public file_test::Folder {};

// Writes `text` to `target` from creation to commit.
Result<void> put(const path& target, std::string_view text) {
  PTD_LET(file, AtomicFile::create(target));
  PTD_TRY(file.write(0, as_bytes(text)));
  return file.commit(text.size());
}

ErrorCode put_error(const path& target) {
  const auto done = put(target, "new");
  return done ? ErrorCode::internal : done.error().code;
}

// Lets go of root, so that permissions count.
bool become_nobody() {
  if (::geteuid() != 0) return true;
  return ::setgroups(0, nullptr) == 0 && ::setegid(nobody) == 0 && ::seteuid(nobody) == 0;
}

TEST_F(AtomicFileTest, AppearsWholeAtCommit) {
  auto file = AtomicFile::create(in("f"));
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->write(6, as_bytes("world")));
  ASSERT_TRUE(file->write(0, as_bytes("hello")));
  EXPECT_FALSE(std::filesystem::exists(in("f")));
  ASSERT_TRUE(file->commit(11));
  EXPECT_EQ(file_text(in("f")), std::string("hello\0world", 11));
  EXPECT_EQ(names(), Names{"f"});
}

TEST_F(AtomicFileTest, ReplacesOnlyAtCommit) {
  write_file(in("f"), "old");
  auto file = AtomicFile::create(in("f"));
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->write(0, as_bytes("new bytes")));
  EXPECT_EQ(file_text(in("f")), "old");
  ASSERT_TRUE(file->commit(9));
  EXPECT_EQ(file_text(in("f")), "new bytes");
  EXPECT_EQ(names(), Names{"f"});
}

TEST_F(AtomicFileTest, HasTheSizeThatCommitSays) {
  for (const std::uint64_t size : {0U, 3U, 5U, 9U}) {
    auto file = AtomicFile::create(in("f"));
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->write(0, as_bytes("12345")));
    ASSERT_TRUE(file->commit(size));
    EXPECT_EQ(file_text(in("f")), std::string("12345\0\0\0\0", 9).substr(0, size));
  }
}

TEST_F(AtomicFileTest, LeavesNothingWithoutCommit) {
  write_file(in("f"), "old");
  for (const auto& target : {in("f"), in("fresh")}) {
    auto file = AtomicFile::create(target);
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->write(0, as_bytes("new")));
    EXPECT_EQ(names().size(), 2U);
  }
  EXPECT_EQ(names(), Names{"f"});
  EXPECT_EQ(file_text(in("f")), "old");
}

TEST_F(AtomicFileTest, NamesItsTemporaryAfterTheTarget) {
  const auto expect_temporary = [&](const std::string& target, const std::string& stem) {
    const auto file = AtomicFile::create(in(target));
    ASSERT_TRUE(file);
    const auto found = names();
    ASSERT_EQ(found.size(), 1U);
    EXPECT_TRUE(found[0].starts_with("." + stem + ".")) << found[0];
    EXPECT_TRUE(found[0].ends_with(".tmp")) << found[0];
    EXPECT_EQ(found[0].size(), stem.size() + 22) << found[0];
  };
  expect_temporary("model.ptd", "model.ptd");
  expect_temporary(std::string(255, 'n'), std::string(100, 'n'));
  // Cut between characters, of which byte 100 is the second of one.
  std::string accents(1, 'x');
  for (int i = 0; i < 60; ++i) accents += "\xC3\xA9";
  expect_temporary(accents, accents.substr(0, 99));
}

TEST_F(AtomicFileTest, WritesTheLongestName) {
  ASSERT_TRUE(put(in(std::string(255, 'n')), "text"));
  EXPECT_EQ(file_text(in(std::string(255, 'n'))), "text");
  EXPECT_EQ(put_error(in(std::string(256, 'n'))), ErrorCode::io);
}

TEST_F(AtomicFileTest, ReadsBackAndCuts) {
  auto file = AtomicFile::create(in("f"));
  ASSERT_TRUE(file);
  std::string text(4, '?');
  const auto room = std::as_writable_bytes(std::span(text));
  ASSERT_TRUE(file->write(2, as_bytes("abcdef")));
  ASSERT_TRUE(file->read(4, room));
  EXPECT_EQ(text, "cdef");
  EXPECT_FALSE(file->read(5, room));
  ASSERT_TRUE(file->truncate(4));
  EXPECT_FALSE(file->read(4, room));
  ASSERT_TRUE(file->write(7, as_bytes("z")));
  ASSERT_TRUE(file->read(4, room));
  EXPECT_EQ(text, std::string("\0\0\0z", 4));
  ASSERT_TRUE(file->commit(8));
  EXPECT_EQ(file_text(in("f")), std::string("\0\0ab\0\0\0z", 8));
}

TEST_F(AtomicFileTest, TakesWritesFromSeveralThreads) {
  auto file = AtomicFile::create(in("f"));
  ASSERT_TRUE(file);
  constexpr std::size_t piece = 1000;
  std::vector<std::thread> threads;
  std::vector<int> done(8);
  for (std::size_t t = 0; t < done.size(); ++t)
    threads.emplace_back([&, t] {
      const std::string text(piece, static_cast<char>('a' + t));
      done[t] = file->write(t * piece, as_bytes(text)) ? 1 : 0;
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(done, std::vector<int>(8, 1));
  ASSERT_TRUE(file->commit(8 * piece));
  const auto text = file_text(in("f"));
  for (std::size_t i = 0; i < text.size(); ++i) ASSERT_EQ(text[i], static_cast<char>('a' + i / piece));
}

TEST_F(AtomicFileTest, ReachesBeyondFourGibibytes) {
  constexpr std::uint64_t place = (1ULL << 32U) + 5;
  auto file = AtomicFile::create(in("f"));
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->write(place, as_bytes("far")));
  ASSERT_TRUE(file->commit(place + 3));
  const auto opened = open_file(in("f"));
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->identity.size, place + 3);
  EXPECT_EQ(file_test::read_text(*opened->source, place, 3), "far");
  EXPECT_EQ(file_test::read_text(*opened->source, 5, 3), std::string(3, '\0'));
}

TEST_F(AtomicFileTest, RefusesSizesThatNoFileHas) {
  auto file = AtomicFile::create(in("f"));
  ASSERT_TRUE(file);
  constexpr auto huge = ~std::uint64_t{0};
  EXPECT_EQ(file->write(huge, as_bytes("x")).error().code, ErrorCode::io);
  EXPECT_EQ(file->truncate(huge).error().code, ErrorCode::io);
  EXPECT_EQ(file->commit(huge).error().code, ErrorCode::io);
  EXPECT_EQ(names(), Names{});
}

TEST_F(AtomicFileTest, IsDoneAfterCommit) {
  auto file = AtomicFile::create(in("f"));
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->commit(0));
  EXPECT_EQ(file->write(0, as_bytes("x")).error().code, ErrorCode::argument);
  EXPECT_EQ(file->truncate(0).error().code, ErrorCode::argument);
  EXPECT_EQ(file->read(0, {}).error().code, ErrorCode::argument);
  EXPECT_EQ(file->commit(0).error().code, ErrorCode::argument);
  EXPECT_EQ(file_text(in("f")), "");
}

TEST_F(AtomicFileTest, Moves) {
  auto first = AtomicFile::create(in("f"));
  auto second = AtomicFile::create(in("g"));
  ASSERT_TRUE(first && second);
  ASSERT_TRUE(first->write(0, as_bytes("f")));
  AtomicFile moved(std::move(*first));
  EXPECT_EQ(first->commit(1).error().code, ErrorCode::argument);
  *second = std::move(moved);
  EXPECT_EQ(names().size(), 1U) << "the file that was assigned over is given up";
  ASSERT_TRUE(second->commit(1));
  EXPECT_EQ(names(), Names{"f"});
}

// --- what may be a target --------------------------------------------------------------------------

TEST_F(AtomicFileTest, RefusesWhatIsNoRegularFile) {
  ASSERT_EQ(::mkfifo(in("pipe").c_str(), 0600), 0);
  std::filesystem::create_directory(in("dir"));
  for (const auto& target : {in("pipe"), in("dir"), in("dir/"), in("."), path("/dev/null")}) {
    const auto file = AtomicFile::create(target);
    ASSERT_FALSE(file) << target;
    EXPECT_EQ(file.error().code, ErrorCode::io);
    EXPECT_EQ(file.error().subject, target.native());
    EXPECT_NE(file.error().message.find("not a regular file"), std::string::npos);
  }
  EXPECT_EQ(names(), (Names{"dir", "pipe"}));
}

TEST_F(AtomicFileTest, RefusesWhatNamesNoFile) {
  for (const auto& target : {path(""), in("missing/"), in("f").concat(std::string("\0g", 2))}) {
    const auto file = AtomicFile::create(target);
    ASSERT_FALSE(file) << target;
    EXPECT_EQ(file.error().code, ErrorCode::argument);
  }
}

TEST_F(AtomicFileTest, AsksForTheDirectory) {
  const auto file = AtomicFile::create(in("missing/f"));
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, ErrorCode::io);
  EXPECT_EQ(file.error().subject, in("missing").native());
  EXPECT_NE(file.error().message.find("check that the directory exists"), std::string::npos);
}

TEST_F(AtomicFileTest, RefusesAReadOnlyFile) {
  write_file(in("f"), "old");
  std::filesystem::permissions(folder(), std::filesystem::perms::all);
  ASSERT_EQ(::chmod(in("f").c_str(), 0444), 0);
  const auto code = in_child([&] {
    if (!become_nobody()) return 9;
    const auto file = AtomicFile::create(in("f"));
    if (file || file.error().code != ErrorCode::io) return 1;
    return file.error().message.find("permission") == std::string::npos ? 2 : 0;
  });
  EXPECT_EQ(code, 0);
  EXPECT_EQ(file_text(in("f")), "old");
  EXPECT_EQ(names(), Names{"f"});
}

TEST_F(AtomicFileTest, NamesADirectoryThatMayNotBeWritten) {
  ASSERT_EQ(::chmod(folder().c_str(), 0555), 0);
  const auto code = in_child([&] {
    if (!become_nobody()) return 9;
    const auto file = AtomicFile::create(in("f"));
    if (file || file.error().code != ErrorCode::io) return 1;
    return file.error().message.find(std::strerror(EACCES)) == std::string::npos ? 2 : 0;
  });
  EXPECT_EQ(code, 0);
}

TEST_F(AtomicFileTest, KeepsALink) {
  std::filesystem::create_directory(in("dir"));
  write_file(in("dir/f"), "old");
  std::filesystem::create_symlink("dir/second", in("first"));
  std::filesystem::create_symlink("f", in("dir/second"));
  ASSERT_TRUE(put(in("first"), "new"));
  EXPECT_TRUE(std::filesystem::is_symlink(in("first")));
  EXPECT_TRUE(std::filesystem::is_symlink(in("dir/second")));
  EXPECT_FALSE(std::filesystem::is_symlink(in("dir/f")));
  EXPECT_EQ(file_text(in("dir/f")), "new");
  EXPECT_EQ(names(), (Names{"dir", "first"}));
}

TEST_F(AtomicFileTest, CreatesWhatADanglingLinkNames) {
  std::filesystem::create_directory(in("dir"));
  std::filesystem::create_symlink(in("dir/f"), in("link"));
  ASSERT_TRUE(put(in("link"), "new"));
  EXPECT_TRUE(std::filesystem::is_symlink(in("link")));
  EXPECT_EQ(file_text(in("dir/f")), "new");
  std::filesystem::create_symlink("missing/f", in("lost"));
  EXPECT_EQ(put_error(in("lost")), ErrorCode::io);
  std::filesystem::create_symlink("loop", in("loop"));
  EXPECT_EQ(put_error(in("loop")), ErrorCode::io);
}

TEST_F(AtomicFileTest, ResolvesLinksAsTheSystemDoes) {
  // "up/../f" is not "f" where "up" is a link to elsewhere.
  std::filesystem::create_directories(in("a/b"));
  std::filesystem::create_symlink("a/b", in("up"));
  std::filesystem::create_symlink("../f", in("a/b/link"));
  ASSERT_TRUE(put(in("up/link"), "new"));
  EXPECT_EQ(file_text(in("a/f")), "new");
  EXPECT_FALSE(std::filesystem::exists(in("f")));
}

TEST_F(AtomicFileTest, DoesNotDependOnTheCurrentDirectory) {
  const auto code = in_child([&] {
    if (::chdir(folder().c_str()) != 0) return 9;
    auto file = AtomicFile::create("f");
    if (!file || ::chdir("/") != 0) return 1;
    return file->commit(0) ? 0 : 2;
  });
  EXPECT_EQ(code, 0);
  EXPECT_EQ(names(), Names{"f"});
}

// --- permissions -----------------------------------------------------------------------------------

TEST_F(AtomicFileTest, ObeysTheUmask) {
  for (const auto& [mask, mode] : {std::pair<mode_t, mode_t>{022, 0644}, {077, 0600}, {0, 0666}, {0777, 0}}) {
    const auto code = in_child([&, mask = mask] {
      ::umask(mask);
      return put(in("f"), "text") ? 0 : 1;
    });
    EXPECT_EQ(code, 0);
    EXPECT_EQ(mode_of(in("f")), mode);
    std::filesystem::remove(in("f"));
  }
}

TEST_F(AtomicFileTest, KeepsTheOldMode) {
  for (const mode_t mode : {0640U, 0600U, 0666U, 0755U}) {
    write_file(in("f"), "old");
    ASSERT_EQ(::chmod(in("f").c_str(), mode), 0);
    ASSERT_TRUE(put(in("f"), "new"));
    EXPECT_EQ(mode_of(in("f")), mode);
  }
}

TEST_F(AtomicFileTest, DropsSetIdBits) {
  write_file(in("f"), "old");
  ASSERT_EQ(::chmod(in("f").c_str(), 06755), 0);
  ASSERT_TRUE(put(in("f"), "new"));
  EXPECT_EQ(mode_of(in("f")), 0755U);
}

TEST_F(AtomicFileTest, ShowsAReplacementToNoOneElse) {
  write_file(in("f"), "old");
  ASSERT_EQ(::chmod(in("f").c_str(), 0644), 0);
  const auto file = AtomicFile::create(in("f"));
  ASSERT_TRUE(file);
  EXPECT_EQ(mode_of(in(names()[0])), 0600U);
}

TEST_F(AtomicFileTest, TakesTheModeOfNow) {
  auto file = AtomicFile::create(in("f"));
  ASSERT_TRUE(file);
  write_file(in("f"), "someone else's");
  ASSERT_EQ(::chmod(in("f").c_str(), 0600), 0);
  ASSERT_TRUE(file->commit(0));
  EXPECT_EQ(mode_of(in("f")), 0600U);
}

TEST_F(AtomicFileTest, KeepsTheModeOfAFileThatWasRemoved) {
  write_file(in("f"), "old");
  ASSERT_EQ(::chmod(in("f").c_str(), 0604), 0);
  auto file = AtomicFile::create(in("f"));
  ASSERT_TRUE(file);
  std::filesystem::remove(in("f"));
  ASSERT_TRUE(file->commit(0));
  EXPECT_EQ(mode_of(in("f")), 0604U);
}

TEST_F(AtomicFileTest, KeepsTheOwnerWhereItMay) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root gives files away";
  write_file(in("f"), "old");
  ASSERT_EQ(::chown(in("f").c_str(), 1234, 2345), 0);
  ASSERT_EQ(::chmod(in("f").c_str(), 0640), 0);
  ASSERT_TRUE(put(in("f"), "new"));
  struct stat status {};
  ASSERT_EQ(::stat(in("f").c_str(), &status), 0);
  EXPECT_EQ(status.st_uid, 1234U);
  EXPECT_EQ(status.st_gid, 2345U);
  EXPECT_EQ(status.st_mode & 07777U, 0640U);
}

TEST_F(AtomicFileTest, GivesNoRightsToAnotherGroup) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root sets this up";
  std::filesystem::permissions(folder(), std::filesystem::perms::all);
  for (const auto& [mode, kept] :
       {std::pair<mode_t, mode_t>{0660, 0600}, {0664, 0644}, {0666, 0666}, {0606, 0606}}) {
    write_file(in("f"), "old");
    ASSERT_EQ(::chown(in("f").c_str(), nobody, 2345), 0);
    ASSERT_EQ(::chmod(in("f").c_str(), mode), 0);
    EXPECT_EQ(in_child([&] { return become_nobody() && put(in("f"), "new") ? 0 : 1; }), 0);
    EXPECT_EQ(file_text(in("f")), "new");
    EXPECT_EQ(mode_of(in("f")), kept) << std::oct << mode;
    std::filesystem::remove(in("f"));
  }
}

// --- failures --------------------------------------------------------------------------------------

TEST_F(AtomicFileTest, LeavesTheTargetWhereTheFileGrowsTooLarge) {
  write_file(in("f"), "old");
  const auto code = in_child([&] {
    if (!file_test::limit_file_size(1 << 20)) return 9;
    auto file = AtomicFile::create(in("f"));
    if (!file) return 1;
    const std::vector<std::byte> bytes(4 << 20, std::byte{1});
    const auto written = file->write(0, bytes);
    if (written || written.error().code != ErrorCode::io) return 2;
    if (written.error().offset != 1U << 20 || written.error().subject != in("f").native()) return 3;
    if (written.error().message.find("ulimit -f") == std::string::npos) return 4;
    return file->commit(4 << 20) ? 5 : 0;
  });
  EXPECT_EQ(code, 0);
  EXPECT_EQ(file_text(in("f")), "old");
  EXPECT_EQ(names(), Names{"f"});
}

// A file system of this process alone, so that it can be filled.
bool mount_small(const path& where, unsigned long flags) {
  constexpr unsigned long everything_below = MS_REC | MS_PRIVATE;
  return ::unshare(CLONE_NEWNS) == 0 && ::mount("none", "/", nullptr, everything_below, nullptr) == 0 &&
         ::mount("none", where.c_str(), "tmpfs", flags, "size=1m") == 0;
}

TEST_F(AtomicFileTest, LeavesTheTargetWhereTheDiskIsFull) {
  const auto code = in_child([&] {
    if (!mount_small(folder(), 0)) return not_possible_here;
    write_file(in("f"), "old");
    {
      auto file = AtomicFile::create(in("f"));
      if (!file) return 1;
      const std::vector<std::byte> bytes(4 << 20, std::byte{1});
      const auto written = file->write(0, bytes);
      if (written || written.error().code != ErrorCode::io) return 2;
      if (written.error().message.find(std::strerror(ENOSPC)) == std::string::npos) return 3;
      if (written.error().message.find("free space") == std::string::npos) return 4;
    }
    return file_text(in("f")) == "old" && names() == Names{"f"} ? 0 : 5;
  });
  if (code == not_possible_here) GTEST_SKIP() << "may not mount";
  EXPECT_EQ(code, 0);
}

TEST_F(AtomicFileTest, NamesAReadOnlyFileSystem) {
  const auto code = in_child([&] {
    if (!mount_small(folder(), MS_RDONLY)) return not_possible_here;
    const auto file = AtomicFile::create(in("f"));
    if (file || file.error().code != ErrorCode::io) return 1;
    return file.error().message.find("read-only") == std::string::npos ? 2 : 0;
  });
  if (code == not_possible_here) GTEST_SKIP() << "may not mount";
  EXPECT_EQ(code, 0);
}

TEST_F(AtomicFileTest, LeavesADirectoryThatTookTheTargetsPlace) {
  write_file(in("f"), "old");
  auto file = AtomicFile::create(in("f"));
  ASSERT_TRUE(file);
  std::filesystem::remove(in("f"));
  std::filesystem::create_directory(in("f"));
  write_file(in("f/child"), "kept");
  const auto committed = file->commit(0);
  ASSERT_FALSE(committed);
  EXPECT_EQ(committed.error().code, ErrorCode::io);
  EXPECT_EQ(committed.error().subject, in("f").native());
  EXPECT_EQ(names(), Names{"f"});
  EXPECT_EQ(file_text(in("f/child")), "kept");
}

TEST_F(AtomicFileTest, LeavesAPipeThatTookTheTargetsPlace) {
  auto file = AtomicFile::create(in("f"));
  ASSERT_TRUE(file);
  ASSERT_EQ(::mkfifo(in("f").c_str(), 0600), 0);
  EXPECT_EQ(file->commit(0).error().code, ErrorCode::io);
  EXPECT_TRUE(std::filesystem::is_fifo(in("f")));
  EXPECT_EQ(names(), Names{"f"});
}

TEST_F(AtomicFileTest, LeavesTheTargetWhereTheRenameFails) {
  write_file(in("f"), "old");
  auto file = AtomicFile::create(in("f"));
  ASSERT_TRUE(file);
  std::filesystem::remove(in(names()[0]));
  const auto committed = file->commit(0);
  ASSERT_FALSE(committed);
  EXPECT_EQ(committed.error().code, ErrorCode::io);
  EXPECT_NE(committed.error().message.find(std::strerror(ENOENT)), std::string::npos);
  EXPECT_EQ(file->write(0, {}).error().code, ErrorCode::argument);
  EXPECT_EQ(file_text(in("f")), "old");
  EXPECT_EQ(names(), Names{"f"});
}

TEST_F(AtomicFileTest, FailsWhereTheDirectoryIsGone) {
  std::filesystem::create_directory(in("dir"));
  auto file = AtomicFile::create(in("dir/f"));
  ASSERT_TRUE(file);
  std::filesystem::remove_all(in("dir"));
  EXPECT_EQ(file->commit(0).error().code, ErrorCode::io);
  EXPECT_EQ(names(), Names{});
}

TEST_F(AtomicFileTest, FollowsADirectoryThatMoves) {
  std::filesystem::create_directory(in("dir"));
  auto file = AtomicFile::create(in("dir/f"));
  ASSERT_TRUE(file);
  std::filesystem::rename(in("dir"), in("moved"));
  ASSERT_TRUE(file->commit(0));
  EXPECT_TRUE(std::filesystem::exists(in("moved/f")));
}

// --- other processes -------------------------------------------------------------------------------

TEST_F(AtomicFileTest, LeavesOldBytesToThoseWhoHoldThem) {
  write_file(in("f"), "old bytes");
  const auto positional = open_file(in("f"));
  const auto mapped = open_file(in("f"), FileAccess::mapped);
  ASSERT_TRUE(positional && mapped);
  ASSERT_TRUE(put(in("f"), "NEW"));
  EXPECT_EQ(file_test::read_text(*positional->source, 0, 9), "old bytes");
  EXPECT_EQ(std::memcmp(mapped->source->in_memory().data(), "old bytes", 9), 0);
  EXPECT_NE(open_file(in("f"))->identity, positional->identity);
}

TEST_F(AtomicFileTest, SurvivesItsProcessBeingKilled) {
  write_file(in("f"), "old");
  int ready[2] = {};
  ASSERT_EQ(::pipe(ready), 0);
  const auto child = start_child([&] {
    auto file = AtomicFile::create(in("f"));
    if (!file || !file->write(0, as_bytes("half of the new bytes"))) return 1;
    if (::write(ready[1], "r", 1) != 1) return 2;
    for (std::uint64_t offset = 0;; ++offset)
      if (!file->write(offset % 1000, as_bytes("more"))) return 3;
  });
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  ::kill(child, SIGKILL);
  EXPECT_EQ(wait_for(child), -SIGKILL);
  ::close(ready[0]);
  ::close(ready[1]);
  EXPECT_EQ(file_text(in("f")), "old");
  const auto left = names();
  ASSERT_EQ(left.size(), 2U);
  EXPECT_TRUE(left[0].starts_with(".f.") && left[0].ends_with(".tmp")) << left[0];
  ASSERT_TRUE(put(in("f"), "new"));
  EXPECT_EQ(file_text(in("f")), "new");
}

TEST_F(AtomicFileTest, IsWholeWhoeverWritesIt) {
  const std::string texts[2] = {std::string(100'000, 'a'), std::string(70'001, 'b')};
  write_file(in("f"), texts[0]);
  pid_t children[2] = {};
  for (std::size_t c = 0; c < 2; ++c)
    children[c] = start_child([&] {
      for (int i = 0; i < 100; ++i)
        if (!put(in("f"), texts[c])) return 1;
      return 0;
    });
  int status = 0;
  int looks = 0;
  for (; ::waitpid(children[0], &status, WNOHANG) == 0; ++looks) {
    const auto text = file_text(in("f"));
    ASSERT_TRUE(text == texts[0] || text == texts[1]) << text.size();
  }
  EXPECT_EQ(status, 0);
  EXPECT_EQ(wait_for(children[1]), 0);
  EXPECT_GT(looks, 0);
  const auto text = file_text(in("f"));
  EXPECT_TRUE(text == texts[0] || text == texts[1]);
  EXPECT_EQ(names(), Names{"f"});
}

}  // namespace
}  // namespace ptd::file
