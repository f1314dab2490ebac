// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// GPUDirect Storage: whatever the machine has, the probe says so.
#include <gmock/gmock.h>

#include "cuda/gds.hpp"
#include "tests/file_fixture.hpp"

namespace ptd::cuda {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class CudaGds : public file_test::Folder {};

TEST_F(CudaGds, TheProbeSaysWhatIsThereAndSaysItAgain) {
  const auto probe = probe_gds();
  EXPECT_THAT(probe.text, StartsWith("GPUDirect Storage is "));
  EXPECT_EQ(probe.text, probe_gds().text);
}

TEST_F(CudaGds, WithoutItNoFileOpens) {
  const auto probe = probe_gds();
  if (probe.mode != GdsMode::absent) GTEST_SKIP() << probe.text;
  file_test::write_file(in("f"), "some bytes");
  const auto file = GdsFile::open(in("f"));
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, ErrorCode::device);
  EXPECT_THAT(file.error().message, HasSubstr("not to be had"));
}

}  // namespace
}  // namespace ptd::cuda
