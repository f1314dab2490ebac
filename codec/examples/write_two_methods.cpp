// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Writes a model of two methods for load_two_methods: prefill and decode share a layer and two caches, and
// each has an adapter of its own.
//
//   write_two_methods OUT.ptd
//
// Exit codes: 0; 1 after an error, which is printed; 2 for wrong usage.
#include <iostream>
#include <ptd/ptd.hpp>
#include <string>
#include <utility>
#include <vector>

namespace {

constexpr std::uint64_t width = 1024;

/// Float32 values that differ from weight to weight: weights with equal bytes would be stored once.
ptd::SourcePtr weight_bytes(float first) {
  std::vector<float> values(width * width);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = first + static_cast<float>(i % 997) / 997;
  const auto bytes = std::as_bytes(std::span(values));
  return ptd::own_memory({bytes.begin(), bytes.end()});
}

/// One float32 matrix in a storage of its own.
ptd::Result<ptd::TensorId> add_matrix(ptd::Writer& writer, const std::string& name,
                                      ptd::StorageSpec storage) {
  storage.size = width * width * sizeof(float);
  storage.label = name;
  PTD_LET(id, writer.add_storage(std::move(storage)));
  ptd::TensorSpec tensor;
  tensor.name = name;
  tensor.dtype = ptd::DType::float32;
  tensor.storage = id;
  tensor.sizes = {width, width};
  tensor.strides = ptd::contiguous_strides(tensor.sizes);
  return writer.add_tensor(std::move(tensor));
}

ptd::Result<ptd::TensorId> add_weight(ptd::Writer& writer, const std::string& name, float first) {
  ptd::StorageSpec storage;
  storage.content = weight_bytes(first);
  return add_matrix(writer, name, std::move(storage));
}

/// No content: all zero, and no bytes in the file.
ptd::Result<ptd::TensorId> add_cache(ptd::Writer& writer, const std::string& name) {
  ptd::StorageSpec storage;
  storage.access = ptd::Access::mutable_;
  return add_matrix(writer, name, std::move(storage));
}

ptd::Result<void> write_model(const std::string& path) {
  ptd::Writer writer;
  PTD_LET(layer, add_weight(writer, "layers.0.weight", 1));
  PTD_LET(keys, add_cache(writer, "cache.keys"));
  PTD_LET(values, add_cache(writer, "cache.values"));
  for (const std::string name : {"prefill", "decode"}) {
    PTD_LET(method, writer.add_method(name));
    PTD_LET(adapter, add_weight(writer, "adapter." + name + ".weight", name == "prefill" ? 2 : 3));
    for (const auto tensor : {layer, keys, values, adapter}) PTD_TRY(writer.bind(method, tensor));
  }
  PTD_TRY(writer.write(path));
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: write_two_methods OUT.ptd\n";
    return 2;
  }
  const auto written = write_model(argv[1]);
  if (written) return 0;
  std::cerr << written.error().to_string() << '\n';
  return 1;
}
