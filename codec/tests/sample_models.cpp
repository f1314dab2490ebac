// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Writes the models that end-to-end tests need and no converter makes yet: owners, blobs, views, every dtype.
// Usage: ptd_sample_models FOLDER
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <ptd/ptd.hpp>

namespace {

using namespace ptd;

template <class T>
T must(Result<T> result) {
  if (result) return std::move(*result);
  std::fprintf(stderr, "%s\n", result.error().to_string().c_str());
  std::exit(1);
}

void must(const Result<void>& result) {
  if (result) return;
  std::fprintf(stderr, "%s\n", result.error().to_string().c_str());
  std::exit(1);
}

SourcePtr text(std::string_view value) {
  const auto bytes = std::as_bytes(std::span(value));
  return own_memory({bytes.begin(), bytes.end()});
}

SourcePtr floats(std::size_t count, float first = 0) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), first);
  const auto bytes = std::as_bytes(std::span(values));
  return own_memory({bytes.begin(), bytes.end()});
}

StorageId storage(Writer& writer, SourcePtr content, Access access = Access::immutable) {
  const auto size = content->size();
  return must(writer.add_storage({size, std::move(content), access, Origin::stored, Placement::any, ""}));
}

TensorId tensor(Writer& writer, const std::string& name, StorageId in, DType dtype,
                std::vector<std::uint64_t> sizes, std::vector<std::uint64_t> strides = {},
                OwnerSpec owner = OwnerSpec::model()) {
  if (strides.empty()) strides = contiguous_strides(sizes);
  return must(
      writer.add_tensor({name, owner, dtype, in, 0, std::move(sizes), std::move(strides), "", {}, {}}));
}

void add_views(Writer& writer) {
  const auto weights = storage(writer, floats(12));
  const auto method = must(writer.add_method("decode"));
  tensor(writer, "w", weights, DType::float32, {3, 4});
  must(writer.bind(method,
                   tensor(writer, "w", weights, DType::float32, {2, 2}, {}, OwnerSpec::method(method))));
  tensor(writer, "turned", weights, DType::float32, {4, 3}, {1, 4});
  tensor(writer, "broadcast", weights, DType::float32, {2, 3, 4}, {0, 4, 1});
  tensor(writer, "scalar", weights, DType::float32, {});
  tensor(writer, "empty", weights, DType::float32, {0, 3});
  const auto external =
      must(writer.add_storage({64, nullptr, Access::mutable_, Origin::external, Placement::any, ""}));
  tensor(writer, "external", external, DType::float32, {16});
  const auto blocks = storage(writer, text("eighteen bytes ..."));
  must(writer.add_tensor({"packed", {}, DType::uint8, blocks, 0, {18}, {1}, "ggml.q4_0", {32}, {}}));
}

// Eight elements, so that the bytes are whole; zeros and ones, which are good bytes for every type.
void add_dtypes(Writer& writer) {
  for (const auto& row : dtype_table) {
    std::vector<std::byte> bytes(row.bits);
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = std::byte{i % 3 == 0};
    tensor(writer, "dtype." + std::string(row.name), storage(writer, own_memory(std::move(bytes))), row.dtype,
           {8});
  }
}

void add_code(Writer& writer) {
  must(writer.add_blob({"tokenizer.json", text("{\"version\": 1}"), 0, "application/json", {}}));
  must(writer.add_blob({"padded", text("abc"), 8, "", {}}));
  const auto code = must(writer.add_blob({"code", text("ELF"), 0, "", {}}));
  for (const auto* name : {"kernels", "others"}) {
    const auto library =
        must(writer.add_library({name, {{true, code, 90, 0, VariantKind::regular, ""}}, {}}));
    tensor(writer, "_tensor_constant0", storage(writer, floats(2, name[0])), DType::float32, {2}, {},
           OwnerSpec::library(library));
  }
}

// One part of a model in two: a tensor of its own, and what both parts have.
void write_part(const std::string& path, const std::string& method, float first) {
  Writer writer;
  must(writer.add_blob({"tokenizer.json", text("{\"version\": 1}"), 0, "application/json", {}}));
  must(writer.add_metadata({"license", "none"}));
  const auto id = must(writer.add_method(method));
  must(writer.bind(id, tensor(writer, "shared", storage(writer, floats(100)), DType::float32, {100})));
  must(writer.bind(
      id, tensor(writer, "cache", storage(writer, floats(9), Access::mutable_), DType::float32, {9})));
  must(writer.bind(
      id, tensor(writer, method + ".own", storage(writer, floats(50, first)), DType::float32, {50})));
  must(writer.write(path));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::string folder = argv[1];
  Writer writer;
  add_views(writer);
  add_dtypes(writer);
  add_code(writer);
  must(writer.write(folder + "/rich.ptd"));
  write_part(folder + "/prefill.ptd", "prefill", 1);
  write_part(folder + "/decode.ptd", "decode", 2);
}
