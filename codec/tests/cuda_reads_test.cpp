// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Reads past the page cache: they give what is in the file, or say why not.
#include <gmock/gmock.h>

#include "cuda/direct_source.hpp"
#include "tests/file_fixture.hpp"
#include "tests/write_samples.hpp"

namespace ptd::cuda {
namespace {

using testing::HasSubstr;
using namespace write_test;

constexpr std::uint64_t kib = std::uint64_t{1} << 10, mib = kib << 10;

void write(const std::filesystem::path& path, const Buffer& bytes) {
  file_test::write_file(path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

class CudaReads : public file_test::Folder {
 protected:
  /// A new file of these bytes, opened for direct reads; null where there are none.
  DirectFilePtr direct_file(const Buffer& bytes) {
    write(in("f"), bytes);
    auto file = open_direct(must(open_file(in("f"))));
    return file ? *file : nullptr;
  }
};

#define NEEDS_DIRECT_READS(file) \
  if ((file) == nullptr) GTEST_SKIP() << "no direct reads in " << folder()

TEST_F(CudaReads, AFileThatIsCutIsAnErrorThatSaysSo) {
  for (const std::uint64_t left : {std::uint64_t{0}, 64 * kib, 64 * kib + 100}) {
    const auto file = direct_file(noise(mib, 5));
    NEEDS_DIRECT_READS(file);
    std::filesystem::resize_file(in("f"), left);
    Buffer into(mib);
    const auto direct = direct_source(file)->read(0, into);
    ASSERT_FALSE(direct);
    EXPECT_THAT(direct.error().message, HasSubstr("became shorter"));
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

}  // namespace
}  // namespace ptd::cuda
