// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// A program of somebody else's: writes a model of one method and reads it back, as README.md shows.
#include <cstdio>
#include <ptd/ptd.hpp>
#include <string>
#include <vector>

namespace {

int report(const ptd::Error& error) {
  std::fprintf(stderr, "%s\n", error.to_string().c_str());
  return 1;
}

int write_model(const std::string& path) {
  ptd::Writer writer;
  const auto method = writer.add_method("decode");
  if (!method) return report(method.error());
  ptd::StorageSpec storage;
  storage.size = 4 * sizeof(float);
  storage.content = ptd::own_memory(std::vector<std::byte>(storage.size, std::byte{0x3F}));
  const auto id = writer.add_storage(storage);
  if (!id) return report(id.error());
  ptd::TensorSpec tensor;
  tensor.name = "weight";
  tensor.dtype = ptd::DType::float32;
  tensor.storage = *id;
  tensor.sizes = {2, 2};
  tensor.strides = ptd::contiguous_strides(tensor.sizes);
  const auto added = writer.add_tensor(tensor);
  if (!added) return report(added.error());
  if (const auto bound = writer.bind(*method, *added); !bound) return report(bound.error());
  const auto written = writer.write(path);
  return written ? 0 : report(written.error());
}

int read_model(const std::string& path) {
  const auto file = ptd::Reader::open(path);
  if (!file) return report(file.error());
  const auto& model = file->model();
  const auto decode = model.find_method("decode");
  if (!decode) return 1;
  for (const auto index : model.methods[*decode].tensors) {
    const ptd::Tensor& tensor = model.tensors[index];
    std::vector<std::byte> bytes(ptd::logical_bytes(tensor));
    if (const auto read = file->read_tensor(index, bytes); !read) return report(read.error());
    std::printf("%.*s: %zu bytes\n", static_cast<int>(tensor.name.size()), tensor.name.data(), bytes.size());
    if (bytes != std::vector<std::byte>(16, std::byte{0x3F})) return 1;
  }
  return file->verify() ? 0 : 1;
}

}  // namespace

int main() {
  const std::string path = "consumer.ptd";
  if (const int failed = write_model(path)) return failed;
  return read_model(path);
}
