// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Payloads of ExecuTorch's CUDA backend: every digit, and what must be refused.
#include "foreign/cuda_payload.hpp"

#include "tests/executorch_samples.hpp"

namespace ptd::foreign {
namespace {

using enum ErrorCode;

Result<CudaManifest> read(std::string_view payload) { return parse_cuda_manifest(bytes_of(payload)); }

const std::string digits = "012345";

std::vector<SampleVariant> variants_of(char digit) {
  return {{digit == '4' || digit == '5' ? 90U : 0U, 0, 0, "so"}};
}
std::string good(char digit) {
  auto second = weight("v", {4}, 16);
  second.group = 1;
  return manifest(digit, {SampleEntry{}, second}, variants_of(digit));
}

TEST(CudaManifest, EveryDigit) {
  for (const char digit : digits) {
    SCOPED_TRACE(digit);
    const auto read_back = must(read(good(digit)));
    EXPECT_EQ(read_back.digit, digit);
    ASSERT_EQ(read_back.variants.size(), 1U);
    EXPECT_EQ(read_back.variants[0].library_key, "so");
    ASSERT_EQ(read_back.entries.size(), 2U);
    const auto& entry = read_back.entries[0];
    EXPECT_EQ(entry.fqn, "w");
    EXPECT_EQ(entry.storage_key, "cuda_fqn_weight:cuda:w");
    EXPECT_EQ(entry.storage_bytes, 24U);
    EXPECT_EQ(entry.scalar_type, 6);
    EXPECT_EQ(entry.device, CudaDevice::cuda);
    EXPECT_EQ(entry.sizes, (std::vector<std::uint64_t>{2, 3}));
    EXPECT_EQ(entry.strides, (std::vector<std::uint64_t>{3, 1}));
    EXPECT_EQ(entry.group.has_value(), digit == '1' || digit == '2');
    EXPECT_EQ(entry.is_shareable.has_value(), digit == '1' || digit == '2');
  }
}

TEST(CudaManifest, EveryCutAndEveryByteMoreIsRefused) {
  for (const char digit : digits) {
    const auto whole = good(digit);
    for (std::size_t size = 0; size < whole.size(); ++size)
      ASSERT_TRUE(!read(whole.substr(0, size)) && read(whole.substr(0, size)).error().code == foreign_input)
          << digit << " " << size;
    EXPECT_TRUE(refuses(read(whole + '\0'), foreign_input, "", "1 bytes follow"));
  }
}

TEST(CudaManifest, AnyWrongByteIsSafe) {
  for (const char digit : digits) {
    const auto whole = good(digit);
    for (std::size_t at = 0; at < whole.size(); ++at)
      for (int value = 0; value < 256; ++value) {
        auto damaged = whole;
        damaged[at] = static_cast<char>(value);
        const auto file = read(damaged);
        ASSERT_TRUE(!file || file->entries.size() <= 2U);
      }
  }
}

TEST(CudaManifest, OtherDigitsAreRefusedByName) {
  for (const char digit : {'6', '9', 'x'}) {
    auto payload = good('0');
    payload[9] = digit;
    EXPECT_TRUE(refuses(read(payload), unsupported_input, "", std::string("ETCUDAFQN") + digit));
  }
  EXPECT_TRUE(refuses(read("ETCUDAFQ"), foreign_input, "", "does not begin"));
  EXPECT_TRUE(refuses(read("ETCUDAFQN"), foreign_input, "", "does not begin"));
}

TEST(CudaManifest, CountsAreCheckedBeforeAnythingIsMade) {
  for (const char digit : digits) {
    auto payload = manifest(digit, {}, variants_of(digit));
    payload.replace(payload.size() - 4, 4, le(std::uint32_t{0xFFFFFFFF}));
    EXPECT_TRUE(refuses(read(payload), foreign_input, "", "entries"));
    payload.replace(payload.size() - 4, 4, le(std::uint32_t{1}));
    EXPECT_TRUE(refuses(read(payload), foreign_input, "", "entries"));
  }
  EXPECT_TRUE(refuses(read("ETCUDAFQN0" + le(std::uint32_t{0})), foreign_input, "", "no variant"));
  EXPECT_TRUE(refuses(read("ETCUDAFQN0" + le(std::uint32_t{257}) + std::string(8000, '\1')), foreign_input,
                      "", "257 variants"));
  EXPECT_TRUE(
      refuses(read("ETCUDAFQN3" + le(std::uint32_t{0xFFFFFFFF}) + "so"), foreign_input, "", "ends before"));
}

TEST(CudaManifest, VariantsObeyTheirRules) {
  const auto with = [](char digit, const std::vector<SampleVariant>& variants) {
    return read(manifest(digit, {}, variants));
  };
  EXPECT_TRUE(with('0', {{0, 0, 0, "so"}}));
  EXPECT_TRUE(with('0', {{90, 90, 0, "so"}}));
  EXPECT_TRUE(with('0', {{80, 0, 0, "a"}, {90, 0, 0, "b"}, {80, 80, 1, "f"}}));
  EXPECT_TRUE(with('4', {{80, 0, 0, "a"}, {90, 90, 0, "b"}}));
  EXPECT_TRUE(refuses(with('4', {{0, 0, 0, "a"}}), foreign_input, "", "sm 0"));
  EXPECT_TRUE(refuses(with('0', {{0, 0, 0, "a"}, {90, 0, 0, "b"}}), foreign_input, "", "sm 0"));
  EXPECT_TRUE(refuses(with('0', {{80, 90, 0, "a"}}), foreign_input, "", "PTX 90"));
  EXPECT_TRUE(refuses(with('0', {{80, 0, 0, "a"}, {80, 0, 0, "b"}}), foreign_input, "", "twice"));
  EXPECT_TRUE(refuses(with('5', {{80, 0, 0, "a"}, {90, 90, 0, "b"}}), foreign_input, "", "beside"));
  EXPECT_TRUE(refuses(with('5', {{80, 80, 1, "a"}, {90, 90, 1, "b"}}), foreign_input, "", "more than one"));
  EXPECT_TRUE(refuses(with('5', {{80, 0, 1, "a"}}), foreign_input, "", "without PTX"));
  EXPECT_TRUE(refuses(with('0', {{80, 0, 2, "a"}}), foreign_input, "", "flags 2"));
  EXPECT_TRUE(refuses(with('3', {{0, 0, 0, ""}}), foreign_input, "", "empty library key"));
}

TEST(CudaManifest, EntriesObeyTheirRules) {
  const auto with = [](auto change, char digit = '3') {
    SampleEntry entry;
    change(entry);
    return read(manifest(digit, {entry}, variants_of(digit)));
  };
  EXPECT_TRUE(refuses(with([](auto& e) { e.fqn = ""; }), foreign_input, "", "empty FQN"));
  EXPECT_TRUE(refuses(with([](auto& e) { e.key = ""; }), foreign_input, "", "empty storage key"));
  EXPECT_TRUE(refuses(with([](auto& e) { e.offset = -1; }), foreign_input, "", "negative storage offset"));
  EXPECT_TRUE(refuses(with([](auto& e) { e.sizes[0] = -2; }), foreign_input, "", "negative size"));
  EXPECT_TRUE(refuses(with([](auto& e) { e.strides[1] = -1; }), foreign_input, "", "negative stride"));
  EXPECT_TRUE(refuses(with([](auto& e) { e.device = 2; }), foreign_input, "", "device type 2"));
  EXPECT_TRUE(refuses(with([](auto& e) { e.shareable = 2; }, '2'), foreign_input, "", "flag 2"));
  EXPECT_TRUE(refuses(with([](auto& e) { e.sizes.resize(65, 1), e.strides.resize(65, 1); }), foreign_input,
                      "", "65 dimensions"));
  EXPECT_TRUE(with([](auto& e) { e.sizes.clear(), e.strides.clear(); }));
  EXPECT_TRUE(refuses(read(manifest('3', {SampleEntry{}, SampleEntry{}})), foreign_input, "w", "twice"));
}

TEST(CudaManifest, EntriesOfOneGroupAreOneAllocation) {
  SampleEntry a, b = weight("b", {6}, 24);
  b.key = a.key;
  EXPECT_TRUE(read(manifest('2', {a, b})));
  b.bytes = 28;
  EXPECT_TRUE(refuses(read(manifest('2', {a, b})), foreign_input, "b", "shares an allocation with \"w\""));
  b.bytes = 24;
  b.key = "other";
  EXPECT_TRUE(refuses(read(manifest('1', {a, b})), foreign_input, "b", "shares an allocation"));
}

CudaEntry entry_with(std::string fqn, std::string key) {
  CudaEntry entry;
  entry.fqn = std::move(fqn);
  entry.storage_key = std::move(key);
  return entry;
}

// The key decides: a user may call a parameter as the compiler calls its constants.
TEST(CudaManifest, LibraryLocalConstantsAreToldByTheirKey) {
  EXPECT_TRUE(is_library_local(
      entry_with("_tensor_constant0", "cuda_fqn_weight:cuda:0ab_so_blob:_tensor_constant0")));
  EXPECT_FALSE(is_library_local(entry_with("_tensor_constant0", "cuda_fqn_weight:cuda:_tensor_constant0")));
  EXPECT_FALSE(is_library_local(entry_with("a:b", "cuda_fqn_weight:cuda:a:b")));
  EXPECT_TRUE(is_library_local(entry_with("b", "cuda_fqn_weight:cuda:a:b")));
  EXPECT_FALSE(is_library_local(entry_with("b", "cuda_fqn_weight:cpu:a:b")));
  EXPECT_FALSE(is_library_local(entry_with("b", "cuda_fqn_weight:cuda::b")));
  auto grouped = entry_with("_tensor_constant0", std::string(64, '0') + "_cuda_weight_storage");
  grouped.group = 0;
  EXPECT_TRUE(is_library_local(grouped));
}

TEST(CudaKeyList, TwoKeys) {
  const auto keys = must(parse_cuda_key_list(bytes_of("a_so_blob\nb_weights_blob")));
  EXPECT_EQ(keys.library_key, "a_so_blob");
  EXPECT_EQ(keys.weights_key, "b_weights_blob");
  EXPECT_TRUE(parse_cuda_key_list(bytes_of("a\nb\n")));
  for (const auto* bad : {"", "a", "a\n", "\nb", "a\nb\nc", "\n"})
    EXPECT_TRUE(refuses(parse_cuda_key_list(bytes_of(bad)), foreign_input, "", "two keys")) << bad;
}

}  // namespace
}  // namespace ptd::foreign
