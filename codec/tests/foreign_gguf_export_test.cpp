// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// GGUF files through a Writer and back: what the command's tests cannot make, above all models that never
// were GGUF files and blobs that only claim to be headers.
#include <gtest/gtest.h>

#include "foreign/gguf.hpp"
#include "foreign/gguf_blob.hpp"
#include "foreign/import.hpp"
#include "tests/foreign_samples.hpp"
#include "tests/gguf_samples.hpp"
#include "tests/write_samples.hpp"

namespace ptd::foreign {
namespace {

using enum ErrorCode;
using namespace gguf_test;
using file_test::file_text;
using file_test::write_file;
using write_test::must;

class GgufFiles : public file_test::Folder {
 protected:
  [[nodiscard]] Result<Reader> imported(const std::string& gguf, const ImportOptions& options = {}) const {
    Writer writer;
    write_file(in("in.gguf"), gguf);
    PTD_TRY(import_file(writer, in("in.gguf"), options));
    return write_test::opened(write_test::written(writer));
  }

  [[nodiscard]] Result<ExportReport> exported(const Reader& reader, const std::string& method = "") const {
    return export_gguf(reader, in("out.gguf"), {method, 1, {}});
  }

  [[nodiscard]] std::string there_and_back(const std::string& gguf) const {
    must(exported(must(imported(gguf))));
    return file_text(in("out.gguf"));
  }

  /// What a model of one tensor becomes.
  [[nodiscard]] Result<ExportReport> exported_one(const TensorSpec& tensor, std::uint64_t bytes) const {
    Writer writer;
    auto spec = tensor;
    spec.storage = must(writer.add_storage(write_test::storage_of(own_memory(write_test::noise(bytes)))));
    if (spec.strides.empty()) spec.strides = contiguous_strides(spec.sizes);
    must(writer.add_tensor(spec));
    return exported(write_test::opened(write_test::written(writer)));
  }
};

TEST_F(GgufFiles, ComeBackByteForByte) {
  EXPECT_EQ(there_and_back(file(sample())), file(sample()));
  EXPECT_EQ(there_and_back(file({})), file({}));
  EXPECT_EQ(there_and_back(head({})), head({}));
  auto parts = sample();
  parts.version = 2;
  parts.pairs.push_back(pair("bad \xFF string", 8, text("\xFF")));
  parts.pairs.push_back(pair("nested", 9, array(9, 1, array(4, 1, u32(5)))));
  parts.data.resize(parts.data.size() - 27);
  EXPECT_EQ(there_and_back(file(parts)), file(parts));
}

TEST_F(GgufFiles, BecomeTensorsInPyTorchsOrder) {
  const auto reader = must(imported(file(sample())));
  const auto& plain = write_test::tensor_of(reader, "f");
  EXPECT_EQ(plain.dtype, DType::float32);
  EXPECT_TRUE(std::ranges::equal(plain.sizes, std::vector<std::uint64_t>{2, 3}));
  const auto& packed = write_test::tensor_of(reader, "q");
  EXPECT_EQ(packed.dtype, DType::uint8);
  EXPECT_EQ(packed.scheme, "ggml.q4_0");
  EXPECT_TRUE(std::ranges::equal(packed.sizes, std::vector<std::uint64_t>{2, 18}));
  EXPECT_TRUE(std::ranges::equal(packed.logical_sizes, std::vector<std::uint64_t>{2, 32}));
  EXPECT_EQ(reader.model().methods.at(0).name, "forward");
}

TEST_F(GgufFiles, PaddingThatIsNotZeroIsNoted) {
  auto parts = sample();
  parts.data[30] = 'x';
  write_file(in("in.gguf"), file(parts));
  Writer writer;
  const auto report = must(import_file(writer, in("in.gguf"), {}));
  ASSERT_EQ(report.notes.size(), 1U);
  EXPECT_NE(report.notes[0].find("1 bytes of padding"), std::string::npos);
}

TEST_F(GgufFiles, SplitsAreTakenOnlyKnowingly) {
  auto parts = sample();
  parts.pairs.push_back(pair("split.count", 2, raw(std::uint16_t{2})));
  EXPECT_TRUE(refuses(imported(file(parts)), unsupported_input, in("in.gguf").string(), "--allow-partial"));
  ImportOptions options;
  options.allow_partial = true;
  EXPECT_TRUE(imported(file(parts), options));
  parts.pairs.back() = pair("split.count", 2, raw(std::uint16_t{1}));
  EXPECT_TRUE(imported(file(parts)));
}

TEST_F(GgufFiles, StateIsMarkedAndSaidToBeLost) {
  ImportOptions options;
  options.mutable_globs = {"f"};
  const auto reader = must(imported(file(sample()), options));
  const auto& storages = reader.model().storages;
  EXPECT_EQ(storages[write_test::tensor_of(reader, "f").storage].access, Access::mutable_);
  EXPECT_EQ(storages[write_test::tensor_of(reader, "q").storage].access, Access::immutable);
  EXPECT_EQ(must(exported(reader)).notes, std::vector<std::string>{"1 tensors are mutable"});
  EXPECT_EQ(file_text(in("out.gguf")), file(sample()));
}

TEST_F(GgufFiles, TwoMethodsKeepTheirOwn) {
  auto other = sample();
  other.pairs[1] = pair("n", 4, u32(8));
  std::swap(other.tensors[0], other.tensors[2]);
  other.tensors = {tensor("i", {5}, 24, 0), tensor("q", {32, 2}, 2, 32), tensor("f", {3, 2}, 0, 96)};
  other.data = padded(std::string(5, 'i')) + padded(std::string(36, 'q')) + padded(std::string(24, 'f'));
  write_file(in("a.gguf"), file(sample()));
  write_file(in("b.gguf"), file(other));
  Writer writer;
  ImportOptions options;
  options.method = "a";
  must(import_file(writer, in("a.gguf"), options));
  options.method = "b";
  must(import_file(writer, in("b.gguf"), options));
  const auto reader = write_test::opened(write_test::written(writer));
  EXPECT_EQ(reader.model().tensors.size(), 3U);
  must(exported(reader, "a"));
  EXPECT_EQ(file_text(in("out.gguf")), file(sample()));
  must(exported(reader, "b"));
  EXPECT_EQ(file_text(in("out.gguf")), file(other));
  EXPECT_TRUE(refuses(exported(reader), unsupported_input, "", "--method"));
  EXPECT_TRUE(refuses(exported(reader, "c"), not_found, "c", "no method"));
}

TEST_F(GgufFiles, TwoFilesOfOneMethodDoNotBecomeOne) {
  write_file(in("a.gguf"), file(sample()));
  write_file(in("b.gguf"), file({{pair("n", 4, u32(9))}, {tensor("z", {1}, 24, 0)}, padded("z")}));
  Writer writer;
  must(import_file(writer, in("a.gguf"), {}));
  must(import_file(writer, in("b.gguf"), {}));
  const auto reader = write_test::opened(write_test::written(writer));
  EXPECT_TRUE(reader.model().find_blob("gguf/forward/b.gguf"));
  EXPECT_TRUE(refuses(exported(reader, "forward"), unsupported_input, "", "2 GGUF files"));
}

// --- models that were no GGUF files --------------------------------------------------------------------

TEST_F(GgufFiles, AModelOfAnotherFormatIsWritten) {
  Writer writer;
  write_test::put(writer, "b", write_test::bytes_of("0123456789abcdefghijklmn"), {DType::float32, {{2, 3}}});
  write_test::put(writer, "a", write_test::bytes_of("xy"), {DType::bfloat16, write_test::Sizes{}});
  must(writer.add_metadata({"general.architecture", "llama", ValueKind::text}));
  must(writer.add_metadata({"general.alignment", "64", ValueKind::text}));
  must(writer.add_metadata({"n", "7", ValueKind::json}));
  const auto report = must(exported(write_test::opened(write_test::written(writer))));
  EXPECT_EQ(file_text(in("out.gguf")), file({{pair("general.architecture", 8, text("llama"))},
                                             {tensor("a", {}, 30, 0), tensor("b", {3, 2}, 0, 32)},
                                             padded("xy") + padded("0123456789abcdefghijklmn")}));
  ASSERT_EQ(report.notes.size(), 1U);
  EXPECT_EQ(report.notes[0].substr(0, 18), "2 metadata entries");
}

TEST_F(GgufFiles, StridesAreWrittenRowMajor) {
  Writer writer;
  write_test::put(writer, "t", write_test::bytes_of("abcdef"),
                  {DType::int8, write_test::Sizes{2, 3}, write_test::Sizes{1, 2}});
  const auto report = must(exported(write_test::opened(write_test::written(writer))));
  EXPECT_TRUE(file_text(in("out.gguf")).find("acebdf") != std::string::npos);
  EXPECT_EQ(report.notes.at(0), "1 tensors had strides and were written row-major");
}

TEST_F(GgufFiles, WhatGgufCannotSayIsRefused) {
  TensorSpec tensor;
  tensor.name = "t";
  tensor.sizes = {4};
  EXPECT_TRUE(refuses(exported_one(tensor, 4), unsupported_input, "t", "dtype uint8, which GGML lacks"));
  tensor.dtype = DType::int8;
  EXPECT_TRUE(exported_one(tensor, 4));
  tensor.sizes = {1, 1, 1, 1, 4};
  EXPECT_TRUE(refuses(exported_one(tensor, 4), unsupported_input, "t", "4 dimensions"));
  tensor.sizes = {4};
  tensor.name = std::string(63, 'n');
  EXPECT_TRUE(exported_one(tensor, 4));
  tensor.name += 'n';
  EXPECT_TRUE(refuses(exported_one(tensor, 4), unsupported_input, tensor.name, "64 bytes"));
  EXPECT_EQ(names(), std::vector<std::string>{"out.gguf"});
}

TEST_F(GgufFiles, PackedTensorsFitTheirScheme) {
  TensorSpec tensor;
  tensor.name = "t";
  tensor.sizes = {2 * 144};
  tensor.scheme = "ggml.q4_K";
  tensor.logical_sizes = {2, 256};
  EXPECT_TRUE(exported_one(tensor, 288));
  tensor.logical_sizes = {1, 256};
  EXPECT_TRUE(refuses(exported_one(tensor, 288), unsupported_input, "t", "288 bytes"));
  tensor.logical_sizes = {2, 255};
  EXPECT_TRUE(refuses(exported_one(tensor, 288), unsupported_input, "t", "blocks of 256"));
  tensor.logical_sizes = {2, 256};
  tensor.scheme = "mlx.q4";
  EXPECT_TRUE(refuses(exported_one(tensor, 288), unsupported_input, "t", "mlx.q4"));
}

TEST_F(GgufFiles, OneNameOfTwoOwnersIsRefused) {
  Writer writer;
  const auto method = must(writer.add_method("m"));
  write_test::Put how;
  how.dtype = DType::int8;
  write_test::put(writer, "t", write_test::bytes_of("abcd"), how);
  how.owner = OwnerSpec::method(method);
  const auto own = write_test::put(writer, "t", write_test::bytes_of("abcd"), how);
  must(writer.bind(method, own));
  const auto reader = write_test::opened(write_test::written(writer));
  EXPECT_TRUE(refuses(exported(reader), unsupported_input, "t", "GGUF has room for one"));
  EXPECT_TRUE(exported(reader, "m"));
}

// --- blobs from strangers ------------------------------------------------------------------------------

class GgufBlobs : public GgufFiles {
 protected:
  [[nodiscard]] Result<ExportReport> exported_with(const std::string& blob, const std::string& size) const {
    Writer writer;
    BlobSpec spec;
    spec.name = "b";
    spec.content = own_memory(write_test::bytes_of(blob));
    spec.media_type = gguf_blob_type;
    if (!size.empty()) spec.metadata = {{std::string(gguf_size_key), size, ValueKind::text}};
    must(writer.add_blob(spec));
    write_test::Put how;
    how.dtype = DType::int8;
    write_test::put(writer, "t", write_test::bytes_of("abcd"), how);
    return exported(write_test::opened(write_test::written(writer)));
  }
};

TEST_F(GgufBlobs, MustBeHeaders) {
  const auto whole = file(sample()), good = head(sample());
  const auto size = std::to_string(whole.size());
  EXPECT_TRUE(exported_with(good, size));
  EXPECT_TRUE(refuses(exported_with(good, ""), unsupported_input, "b", "how large"));
  EXPECT_TRUE(refuses(exported_with(good, "12"), unsupported_input, "b", "how large"));
  EXPECT_TRUE(refuses(exported_with(good, size + "x"), unsupported_input, "b", "how large"));
  EXPECT_TRUE(refuses(exported_with(good, "99999999999999999999"), unsupported_input, "b", "how large"));
  EXPECT_TRUE(refuses(exported_with(good, std::to_string(good.size())), unsupported_input, "b", "cut short"));
  EXPECT_TRUE(refuses(exported_with(whole, size), unsupported_input, "b", "length"));
  EXPECT_TRUE(refuses(exported_with(good.substr(0, 100), size), unsupported_input, "b", "length"));
  EXPECT_TRUE(refuses(exported_with("nonsense", size), unsupported_input, "b", "begins with"));
}

TEST_F(GgufBlobs, TensorsThatAreGoneOrNewAreNoFault) {
  const auto report = must(exported_with(head(sample()), std::to_string(file(sample()).size())));
  EXPECT_EQ(report.notes.at(0), "3 tensors of the GGUF file are not in the model any more");
  EXPECT_EQ(file_text(in("out.gguf")), file({sample().pairs, {tensor("t", {4}, 24, 0)}, padded("abcd")}));
}

TEST_F(GgufBlobs, EveryChangedByteIsAnErrorOrAFile) {
  const auto good = head(sample());
  const auto size = std::to_string(file(sample()).size());
  for (std::size_t at = 0; at < good.size(); ++at) {
    auto changed = good;
    changed[at] = static_cast<char>(changed[at] ^ 0x41);
    const auto report = exported_with(changed, size);
    if (!report) {
      ASSERT_NE(report.error().code, internal) << report.error().message;
    }
  }
}

}  // namespace
}  // namespace ptd::foreign
