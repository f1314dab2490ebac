// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <thread>

#include "file_fixture.hpp"

namespace ptd {
namespace {

using file_test::file_text;
using file_test::in_child;
using file_test::read_text;
using file_test::write_file;

class OpenFile : public file_test::Folder {};

class OpenFileEitherWay : public file_test::Folder, public testing::WithParamInterface<FileAccess> {};

INSTANTIATE_TEST_SUITE_P(Access, OpenFileEitherWay,
                         testing::Values(FileAccess::positional, FileAccess::mapped));

TEST_P(OpenFileEitherWay, ReadsAnyRange) {
  write_file(in("f"), "0123456789");
  const auto opened = open_file(in("f"), GetParam());
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->access, GetParam());
  EXPECT_EQ(opened->fallback, "");
  const auto& source = *opened->source;
  EXPECT_EQ(source.size(), 10U);
  EXPECT_EQ(source.label(), in("f").native());
  EXPECT_FALSE(source.sequential());
  for (std::size_t begin = 0; begin <= 10; ++begin)
    for (std::size_t size = 0; begin + size <= 10; ++size)
      EXPECT_EQ(read_text(source, begin, size), std::string("0123456789").substr(begin, size));
}

TEST_P(OpenFileEitherWay, RefusesToReadPastTheEnd) {
  write_file(in("f"), "0123456789");
  const auto opened = open_file(in("f"), GetParam());
  ASSERT_TRUE(opened);
  std::byte room[2] = {};
  for (const auto offset :
       {std::uint64_t{9}, std::uint64_t{10}, std::uint64_t{1} << 63U, ~std::uint64_t{0}}) {
    const auto read = opened->source->read(offset, room);
    ASSERT_FALSE(read) << offset;
    EXPECT_EQ(read.error().code, ErrorCode::io);
    EXPECT_EQ(read.error().offset, offset);
    EXPECT_EQ(read.error().subject, in("f").native());
    EXPECT_NE(read.error().message.find("past the end"), std::string::npos);
  }
}

TEST_P(OpenFileEitherWay, NoticesThatAFileWasCut) {
  write_file(in("f"), "0123456789");
  const auto opened = open_file(in("f"), GetParam());
  ASSERT_TRUE(opened);
  std::filesystem::resize_file(in("f"), 4);
  EXPECT_EQ(read_text(*opened->source, 0, 4), "0123");
  std::byte room[8] = {};
  const auto read = opened->source->read(1, room);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::io);
  EXPECT_EQ(read.error().offset, 4U);
  EXPECT_EQ(read.error().subject, in("f").native());
  EXPECT_NE(read.error().message.find("became shorter while it was read"), std::string::npos);
}

TEST_P(OpenFileEitherWay, TakesAnEmptyFile) {
  write_file(in("f"), "");
  const auto opened = open_file(in("f"), GetParam());
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->access, GetParam());
  EXPECT_EQ(opened->fallback, "");
  EXPECT_EQ(opened->source->size(), 0U);
  EXPECT_TRUE(opened->source->in_memory().empty());
  EXPECT_TRUE(opened->source->read(0, {}));
  std::byte room[1] = {};
  EXPECT_FALSE(opened->source->read(0, room));
}

TEST_P(OpenFileEitherWay, ReachesBeyondFourGibibytes) {
  constexpr std::uint64_t places[] = {(1ULL << 31U) - 1, (1ULL << 31U) + 7, (1ULL << 32U) - 2,
                                      (1ULL << 32U) + 7};
  {
    const int fd = ::open(in("f").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    ASSERT_GE(fd, 0);
    for (const auto place : places) {
      const auto text = std::to_string(place);
      ASSERT_EQ(::pwrite(fd, text.data(), 4, static_cast<off_t>(place)), 4);
    }
    ::close(fd);
  }
  const auto opened = open_file(in("f"), GetParam());
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->access, GetParam());
  EXPECT_EQ(opened->source->size(), places[3] + 4);
  for (const auto place : places) {
    const auto expected = '\0' + std::to_string(place).substr(0, 4);
    EXPECT_EQ(read_text(*opened->source, place - 1, 5), expected);
    if (GetParam() == FileAccess::positional) continue;
    const auto mapped = opened->source->in_memory().subspan(place - 1, 5);
    EXPECT_EQ(std::memcmp(mapped.data(), expected.data(), 5), 0);
  }
}

TEST_P(OpenFileEitherWay, KeepsAFileThatIsUnlinkedOrReplaced) {
  write_file(in("f"), "old bytes");
  const auto opened = open_file(in("f"), GetParam());
  ASSERT_TRUE(opened);
  write_file(in("g"), "new bytes");
  std::filesystem::rename(in("g"), in("f"));
  EXPECT_EQ(read_text(*opened->source, 0, 9), "old bytes");
  std::filesystem::remove(in("f"));
  EXPECT_EQ(read_text(*opened->source, 0, 9), "old bytes");
}

TEST_P(OpenFileEitherWay, MayBeReadFromSeveralThreads) {
  std::string text(1 << 20, '\0');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * 7 % 251);
  write_file(in("f"), text);
  const auto opened = open_file(in("f"), GetParam());
  ASSERT_TRUE(opened);
  std::vector<int> wrong(4);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < wrong.size(); ++t)
    threads.emplace_back([&, t] {
      for (std::size_t at = t; at + 1000 <= text.size(); at += 4000)
        wrong[t] += read_text(*opened->source, at, 1000) == text.substr(at, 1000) ? 0 : 1;
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4));
}

TEST_F(OpenFile, ShowsMappedBytesOnly) {
  write_file(in("f"), "mapped bytes");
  const auto mapped = open_file(in("f"), FileAccess::mapped);
  ASSERT_TRUE(mapped);
  const auto bytes = mapped->source->in_memory();
  ASSERT_EQ(bytes.size(), 12U);
  EXPECT_EQ(std::memcmp(bytes.data(), "mapped bytes", 12), 0);
  const auto positional = open_file(in("f"));
  ASSERT_TRUE(positional);
  EXPECT_TRUE(positional->source->in_memory().empty());
}

// Opens `path`, which must be refused, where waiting for ever would fail the test. 0: refused as said.
int refused(const std::filesystem::path& path, ErrorCode code, std::string_view part) {
  return in_child([&] {
    const auto opened = open_file(path, FileAccess::mapped);
    if (opened) return 1;
    if (opened.error().code != code) return 2;
    if (opened.error().subject != path.native()) return 3;
    return opened.error().message.find(part) == std::string::npos ? 4 : 0;
  });
}

TEST_F(OpenFile, RefusesADirectory) { EXPECT_EQ(refused(folder(), ErrorCode::io, "a directory"), 0); }

TEST_F(OpenFile, RefusesAPipe) {
  ASSERT_EQ(::mkfifo(in("pipe").c_str(), 0600), 0);
  EXPECT_EQ(refused(in("pipe"), ErrorCode::io, "a pipe"), 0);
}

TEST_F(OpenFile, RefusesADevice) { EXPECT_EQ(refused("/dev/zero", ErrorCode::io, "a device"), 0); }

TEST_F(OpenFile, RefusesASocket) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const auto path = in("socket").native();
  ASSERT_LT(path.size(), sizeof address.sun_path);
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(refused(path, ErrorCode::io, "a socket"), 0);
  ::close(fd);
}

TEST_F(OpenFile, KnowsWhatIsMissing) {
  EXPECT_EQ(refused(in("missing"), ErrorCode::io, "no file"), 0);
  EXPECT_EQ(refused(in("missing/file"), ErrorCode::io, "no file"), 0);
  EXPECT_EQ(refused("", ErrorCode::io, "no file"), 0);
  write_file(in("f"), "");
  EXPECT_EQ(refused(in("f/file"), ErrorCode::io, "no file"), 0);
  std::filesystem::create_symlink("missing", in("link"));
  EXPECT_EQ(refused(in("link"), ErrorCode::io, "no file"), 0);
}

TEST_F(OpenFile, NamesOtherErrors) {
  std::filesystem::create_symlink("loop", in("loop"));
  EXPECT_EQ(refused(in("loop"), ErrorCode::io, std::strerror(ELOOP)), 0);
  EXPECT_EQ(refused(in(std::string(300, 'n')), ErrorCode::io, std::strerror(ENAMETOOLONG)), 0);
}

TEST_F(OpenFile, NamesMissingPermission) {
  write_file(in("f"), "secret");
  std::filesystem::permissions(in("f"), std::filesystem::perms::none);
  std::filesystem::permissions(folder(), std::filesystem::perms::all);
  const auto code = in_child([&] {
    if (::geteuid() == 0 && ::seteuid(65534) != 0) return 9;
    const auto opened = open_file(in("f"));
    if (opened) return 1;
    if (opened.error().code != ErrorCode::io) return 2;
    return opened.error().message.find("permission") == std::string::npos ? 3 : 0;
  });
  EXPECT_EQ(code, 0);
}

TEST_F(OpenFile, RefusesAPathThatTheSystemWouldCut) {
  write_file(in("f"), "another file");
  const auto opened = open_file(in("f").native() + std::string("\0.ptd", 5));
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::argument);
}

TEST_F(OpenFile, FollowsLinks) {
  write_file(in("f"), "linked");
  std::filesystem::create_symlink("f", in("link"));
  const auto opened = open_file(in("link"));
  ASSERT_TRUE(opened);
  EXPECT_EQ(read_text(*opened->source, 0, 6), "linked");
  const auto direct = open_file(in("f"));
  ASSERT_TRUE(direct);
  EXPECT_EQ(opened->identity, direct->identity);
}

TEST_F(OpenFile, ClosesWithItsLastOwner) {
  write_file(in("f"), "bytes");
  const auto open_files = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  };
  const auto is_mapped = [&] {
    return file_text("/proc/self/maps").find(in("f").native()) != std::string::npos;
  };
  const auto before = open_files();
  for (const auto access : {FileAccess::positional, FileAccess::mapped}) {
    auto opened = open_file(in("f"), access);
    ASSERT_TRUE(opened);
    EXPECT_EQ(open_files(), before + 1);
    EXPECT_EQ(is_mapped(), access == FileAccess::mapped);
    opened->source.reset();
    EXPECT_EQ(open_files(), before);
    EXPECT_FALSE(is_mapped());
  }
  EXPECT_FALSE(open_file(folder()));
  EXPECT_EQ(open_files(), before);
}

TEST_F(OpenFile, IsNotInheritedByPrograms) {
  write_file(in("f"), "bytes");
  const auto opened = open_file(in("f"));
  ASSERT_TRUE(opened);
  const auto leaked = in_child([&] {
    const auto command = "! ls -l /proc/self/fd | grep -q '" + in("f").native() + "'";
    ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    return 9;
  });
  EXPECT_EQ(leaked, 0);
}

TEST_F(OpenFile, FallsBackWhereNothingCanBeMapped) {
  if (file_test::sanitized) GTEST_SKIP() << "sanitizers need the address space";
  constexpr rlim_t terabyte = rlim_t{1} << 40U;
  write_file(in("f"), "first bytes");
  std::filesystem::resize_file(in("f"), terabyte);
  const auto code = in_child([&] {
    const rlimit limit{terabyte / 2, terabyte / 2};
    if (::setrlimit(RLIMIT_AS, &limit) != 0) return 9;
    const auto opened = open_file(in("f"), FileAccess::mapped);
    if (!opened) return 1;
    if (opened->access != FileAccess::positional) return 2;
    if (opened->fallback.find(std::strerror(ENOMEM)) == std::string::npos) return 3;
    if (!opened->source->in_memory().empty()) return 4;
    return read_text(*opened->source, 0, 11) == "first bytes" ? 0 : 5;
  });
  EXPECT_EQ(code, 0);
}

TEST_F(OpenFile, TellsFilesApart) {
  write_file(in("f"), "one");
  const auto identity = [&] { return open_file(in("f"))->identity; };
  const auto first = identity();
  EXPECT_EQ(first.size, 3U);
  EXPECT_EQ(identity(), first);
  const timespec times[2] = {{5, 6}, {7, 8}};
  ASSERT_EQ(::utimensat(AT_FDCWD, in("f").c_str(), times, 0), 0);
  const auto touched = identity();
  EXPECT_EQ(touched.modified_ns, 7'000'000'008);
  EXPECT_EQ(touched.inode, first.inode);
  EXPECT_NE(touched, first);
  write_file(in("g"), "one");
  ASSERT_EQ(::utimensat(AT_FDCWD, in("g").c_str(), times, 0), 0);
  std::filesystem::rename(in("g"), in("f"));
  const auto replaced = identity();
  EXPECT_NE(replaced.inode, touched.inode);
  EXPECT_NE(replaced, touched);
  EXPECT_EQ(replaced.device, touched.device);
}

TEST_F(OpenFile, TakesTimesBeforeTheEpoch) {
  write_file(in("f"), "one");
  const timespec times[2] = {{-5, 0}, {-5, 1}};
  ASSERT_EQ(::utimensat(AT_FDCWD, in("f").c_str(), times, 0), 0);
  const auto opened = open_file(in("f"));
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->identity.modified_ns, -4'999'999'999);
}

}  // namespace
}  // namespace ptd
