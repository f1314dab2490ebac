// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// From a name to a tensor, and from a tensor to a stream of bytes.
#include <gtest/gtest.h>

#include "cli/find_object.hpp"
#include "foreign/copy_out.hpp"
#include "foreign/npy.hpp"
#include "foreign/region_walk.hpp"
#include "tests/cli_samples.hpp"

namespace ptd::cli {
namespace {

// --- names ---------------------------------------------------------------------------------------------

/// "w" belongs to the model, a library and two methods; "alone" to the model; "b" is a blob, "both" as well.
Reader crowded() {
  return model_of([](Writer& w) {
    put(w, "w", noise(8));
    put(w, "alone", noise(4));
    put(w, "both", noise(2));
    put_blob(w, "b", "x");
    put_blob(w, "both", "x");
    const auto library = must(w.add_library({"lib", {}, {}}));
    put(w, "w", noise(8, 2), owned_by(OwnerSpec::library(library)));
    put(w, "constant", noise(8, 3), owned_by(OwnerSpec::library(library)));
    for (const auto* name : {"m1", "m2"}) {
      const auto method = must(w.add_method(name));
      must(w.bind(method, put(w, "w", noise(8), owned_by(OwnerSpec::method(method)))));
    }
    const auto method = must(w.add_method("m3"));
    must(w.bind(method, library));
  });
}

std::string found(const std::string& name, const NameScope& scope = {}) {
  const auto file = crowded();
  const auto result = find_object(file.model(), name, scope);
  if (!result) return result.error().to_string();
  if (result->blob != no_index) return "blob";
  return owner_text(owner_name(file.model(), file.model().tensors[result->tensor].owner));
}

TEST(FindObject, AloneOfItsName) {
  EXPECT_EQ(found("alone"), "the model");
  EXPECT_EQ(found("constant"), "library \"lib\"");
  EXPECT_EQ(found("b"), "blob");
  EXPECT_EQ(found("nothing"),
            "not-found in \"nothing\": the file has neither a tensor nor a blob of this "
            "name; see `ptd info --all`");
}

TEST(FindObject, AnAmbiguousNameListsItsOptions) {
  EXPECT_EQ(
      found("w"),
      "argument in \"w\": 4 objects have this name; choose one of: --model, --library \"lib\", --method "
      "\"m1\", --method \"m2\"");
  EXPECT_EQ(found("both"), "argument in \"both\": 2 objects have this name; choose one of: --model, --blob");
}

TEST(FindObject, EachOptionChooses) {
  EXPECT_EQ(found("w", {.method = {}, .library = {}, .model = true, .blob = false}), "the model");
  EXPECT_EQ(found("w", {.method = {}, .library = "lib", .model = false, .blob = false}), "library \"lib\"");
  EXPECT_EQ(found("w", {.method = "m2", .library = {}, .model = false, .blob = false}), "method \"m2\"");
  EXPECT_EQ(found("both", {.method = {}, .library = {}, .model = false, .blob = true}), "blob");
}

TEST(FindObject, WhatAnOptionDoesNotFind) {
  const auto code = [](const std::string& name, const NameScope& scope) {
    return found(name, scope).substr(0, 9);
  };
  EXPECT_EQ(code("w", {.method = "m3", .library = {}, .model = false, .blob = false}), "not-found");
  EXPECT_EQ(code("w", {.method = "m4", .library = {}, .model = false, .blob = false}), "not-found");
  EXPECT_EQ(code("alone", {.method = {}, .library = "lib", .model = false, .blob = false}), "not-found");
  EXPECT_EQ(code("w", {.method = {}, .library = {}, .model = false, .blob = true}), "not-found");
}

// --- windows -------------------------------------------------------------------------------------------

TEST(RegionWalk, WindowsOfAnySizeGiveTheWholeView) {
  auto how = of_dtype(DType::uint16, {3, 4, 5});
  how.strides = Sizes{1, 15, 3};
  const auto data = noise(120);
  const auto file = model_of([&](Writer& w) { put(w, "w", data, how); });
  const auto& tensor = file.model().tensors[0];
  const auto expected = gather_slowly(tensor, data, whole(tensor.sizes));
  for (std::uint64_t window = 1; window <= 130; ++window) {
    Buffer all;
    foreign::RegionWalk walk(tensor, window);
    do {
      Buffer part(walk.bytes());
      EXPECT_LE(part.size(), std::max<std::uint64_t>(window, 2));
      must(file.read_region(0, walk.region(), part));
      all.insert(all.end(), part.begin(), part.end());
    } while (walk.next());
    EXPECT_EQ(all, expected) << window;
  }
}

Buffer copied(const Reader& file, const std::string& name) {
  Buffer out;
  must(foreign::copy_tensor_out(file, index_of(file, name), 1, [&](Bytes part) -> Result<void> {
    out.insert(out.end(), part.begin(), part.end());
    return {};
  }));
  return out;
}

TEST(CopyOut, ContiguousStridedBroadcastEmptyAndPacked) {
  const auto data = noise(40 << 20);
  const auto file = model_of([&](Writer& w) {
    put(w, "large", data);
    auto how = of_dtype(DType::uint8, {3, 4});
    how.strides = Sizes{1, 3};
    put(w, "turned", noise(12), how);
    how.strides = Sizes{0, 1};
    put(w, "broadcast", noise(4), how);
    put(w, "empty", Buffer(), of_dtype(DType::float32, {0, 3}));
    put(w, "packed", bytes({0x21, 0x43, 0x05}), of_dtype(DType::uint4, {5}));
    put(w, "scalar", noise(8), of_dtype(DType::float64, {}));
  });
  for (std::uint32_t i = 0; i < file.model().tensors.size(); ++i) {
    const auto name = std::string(file.model().tensors[i].name);
    EXPECT_EQ(copied(file, name), read_all(file, i)) << name;
  }
}

TEST(CopyOut, TheSinkCanStopIt) {
  const auto file = model_of([](Writer& w) { put(w, "w", noise(8)); });
  EXPECT_EQ(code_of(foreign::copy_tensor_out(
                file, 0, 1, [](Bytes) -> Result<void> { return fail(ErrorCode::io, "", "full"); })),
            "io");
  EXPECT_EQ(code_of(foreign::copy_tensor_out(file, 1, 1, [](Bytes) -> Result<void> { return {}; })),
            "argument");
}

// --- .npy ----------------------------------------------------------------------------------------------

std::string header_of(DType dtype, Sizes sizes) {
  Tensor tensor;
  tensor.name = "w";
  tensor.dtype = dtype;
  tensor.sizes = sizes;
  return must(foreign::npy_header(tensor));
}

TEST(Npy, HeadersEndOnA64thByteWithANewline) {
  for (std::size_t rank = 0; rank <= 64; ++rank) {
    const auto header = header_of(DType::float32, Sizes(rank, ~std::uint64_t{0}));
    EXPECT_EQ(header.size() % 64, 0U);
    EXPECT_EQ(header.back(), '\n');
    EXPECT_EQ(header.substr(0, 8), std::string("\x93NUMPY\1\0", 8));
    const auto length = static_cast<unsigned char>(header[8]) + 256 * static_cast<unsigned char>(header[9]);
    EXPECT_EQ(static_cast<std::size_t>(length) + 10, header.size());
  }
}

TEST(Npy, ShapesAreTuples) {
  const auto text = [](Sizes sizes) {
    const auto header = header_of(DType::uint8, std::move(sizes));
    const auto begin = header.find('{');
    return header.substr(begin, header.find('}') - begin + 1);
  };
  EXPECT_EQ(text({}), "{'descr': '|u1', 'fortran_order': False, 'shape': (), }");
  EXPECT_EQ(text({3}), "{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }");
  EXPECT_EQ(text({3, 0}), "{'descr': '|u1', 'fortran_order': False, 'shape': (3, 0), }");
}

TEST(Npy, EveryDTypeHasAWordOrIsRefused) {
  for (const auto& row : dtype_table) {
    const auto word = foreign::npy_dtype(row.dtype);
    if (row.bits < 8) {
      Tensor tensor;
      tensor.dtype = row.dtype;
      EXPECT_EQ(word, "");
      EXPECT_EQ(code_of(foreign::npy_header(tensor)), "unsupported-input");
    } else {
      EXPECT_EQ(word.substr(2), std::to_string(row.bits / 8)) << row.name;
    }
  }
}

}  // namespace
}  // namespace ptd::cli
