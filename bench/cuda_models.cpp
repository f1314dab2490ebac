// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "cuda_models.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>

#include "cuda_host.hpp"

namespace ptd::bench {
namespace {

using Weights16 = std::shared_ptr<const std::vector<std::uint16_t>>;

std::uint16_t bfloat16_of(float value) {
  return static_cast<std::uint16_t>((std::bit_cast<std::uint32_t>(value) + 0x8000U) >> 16);
}

// N(0, 0.02) as bfloat16: 256 MiB, from which all weights are taken.
Weights16 random_weights() {
  constexpr std::uint64_t piece = 1 << 18;
  auto weights = std::make_shared<std::vector<std::uint16_t>>(scaled(std::uint64_t{1} << 27, piece));
  parallel(weights->size() / piece, setup().cores, [&](std::uint64_t i) {
    std::mt19937 random(static_cast<std::uint32_t>(i + 1));
    std::normal_distribution<float> normal(0, 0.02F);
    const auto from = weights->begin() + static_cast<std::ptrdiff_t>(i * piece);
    std::generate_n(from, piece, [&] { return bfloat16_of(normal(random)); });
  });
  return weights;
}

// So many bytes of the weights from an element on, around the end: each start another content, at the cost of
// a copy.
class Window final : public ByteSource {
 public:
  Window(Weights16 weights, std::uint64_t start, std::uint64_t size)
      : weights_(std::move(weights)), start_(start * 2), size_(size) {}

  [[nodiscard]] std::uint64_t size() const noexcept override { return size_; }
  [[nodiscard]] std::string label() const override { return "random weights"; }

  [[nodiscard]] Result<void> read(std::uint64_t offset, MutableBytes destination) const override {
    const auto all = std::as_bytes(std::span(*weights_));
    for (auto at = (start_ + offset) % all.size(); !destination.empty(); at = 0) {
      const auto part = std::min<std::uint64_t>(destination.size(), all.size() - at);
      std::memcpy(destination.data(), all.data() + at, part);
      destination = destination.subspan(part);
    }
    return {};
  }

 private:
  Weights16 weights_;
  std::uint64_t start_, size_;
};

class ModelMaker {
 public:
  explicit ModelMaker(Weights16 weights) : weights_(std::move(weights)) {}

  MethodId method(const std::string& name) { return need(writer_.add_method(name)); }

  void weight(const std::string& name, std::uint64_t rows, std::uint64_t columns,
              const std::vector<MethodId>& methods, Access access = Access::immutable) {
    const auto bytes = rows * columns * 2;
    // A large prime as the step meets each start once before any comes again.
    next_ = (next_ + 1000003) % weights_->size();
    tensor(name, {rows, columns}, storage(bytes, std::make_shared<Window>(weights_, next_, bytes), access),
           methods);
  }

  void zeros(const std::string& name, std::uint64_t rows, std::uint64_t columns,
             const std::vector<MethodId>& methods) {
    tensor(name, {rows, columns}, storage(rows * columns * 2, nullptr, Access::mutable_), methods);
  }

  WriteReport write(const std::filesystem::path& path, bool compress) {
    WriteOptions options;
    options.compress = compress;
    return need(writer_.write(path, options));
  }

 private:
  static StorageSpec storage(std::uint64_t bytes, SourcePtr content, Access access) {
    StorageSpec spec;
    spec.size = bytes;
    spec.content = std::move(content);
    spec.access = access;
    return spec;
  }

  void tensor(const std::string& name, std::vector<std::uint64_t> sizes, StorageSpec storage,
              const std::vector<MethodId>& methods) {
    TensorSpec spec;
    spec.name = name;
    spec.dtype = DType::bfloat16;
    spec.storage = need(writer_.add_storage(std::move(storage)));
    spec.strides = contiguous_strides(sizes);
    spec.sizes = std::move(sizes);
    const auto id = need(writer_.add_tensor(std::move(spec)));
    for (const auto method : methods) need(writer_.bind(method, id));
  }

  Weights16 weights_;
  Writer writer_;
  std::uint64_t next_ = 0;
};

std::string layer_name(std::uint64_t layer, const std::string& rest) {
  return "layers." + std::to_string(layer) + "." + rest;
}

void make_large(ModelMaker& model) {
  constexpr std::uint64_t columns = 8192;
  const auto rows = scaled(std::uint64_t{256} << 20, columns * 2) / (columns * 2);
  constexpr std::uint64_t count = 64;
  const auto forward = model.method("forward"), half = model.method("half"),
             quarter = model.method("quarter"), eighth = model.method("eighth");
  for (std::uint64_t i = 0; i < count; ++i) {
    std::vector<MethodId> methods = {forward};
    if (i < count / 2) methods.push_back(half);
    if (i < count / 4) methods.push_back(quarter);
    if (i < count / 8) methods.push_back(eighth);
    model.weight(layer_name(i, "weight"), rows, columns, methods);
  }
}

void make_small(ModelMaker& model) {
  const std::vector methods = {model.method("forward"), model.method("other")};
  const auto count = scaled(100000, 1);
  for (std::uint64_t i = 0; i < count; ++i)
    model.weight(layer_name(i / 100, "experts." + std::to_string(i % 100) + ".weight"), 16 + i * 7919 % 113,
                 256, methods);
}

void make_moe_layer(ModelMaker& model, std::uint64_t layer, std::uint64_t experts,
                    const std::vector<MethodId>& methods) {
  constexpr std::uint64_t width = 1024;
  for (const auto* name : {"wq.weight", "wk.weight", "wv.weight", "wo.weight"})
    model.weight(layer_name(layer, name), 2 * width, width, methods);
  for (const auto* name : {"attention_norm.weight", "ffn_norm.weight"})
    model.weight(layer_name(layer, name), 1, width, methods);
  model.weight(layer_name(layer, "router.weight"), experts, width, methods);
  for (std::uint64_t i = 0; i < experts; ++i)
    for (const auto* name : {".gate.weight", ".up.weight", ".down.weight"})
      model.weight(layer_name(layer, "experts." + std::to_string(i) + name), 224, width, methods);
}

void make_moe(ModelMaker& model) {
  const std::vector methods = {model.method("forward"), model.method("other")};
  const auto layers = scaled(23, 1);
  const auto experts = std::min(std::uint64_t{256}, scaled(256 * 23, layers) / layers);
  for (std::uint64_t layer = 0; layer < layers; ++layer) make_moe_layer(model, layer, experts, methods);
  for (const auto* name : {"embedding.weight", "output.weight"})
    model.weight(name, scaled(32768, 1), 1024, methods);
}

void make_two(ModelMaker& model) {
  const auto prefill = model.method("prefill"), decode = model.method("decode");
  constexpr std::uint64_t columns = 2048;
  for (std::uint64_t layer = 0; layer < 32; ++layer) {
    for (const auto* name : {"wq", "wk", "wv", "wo", "w1", "w2", "w3"})
      model.weight(layer_name(layer, name), scaled(2304, 1), columns, {prefill, decode});
    model.weight(layer_name(layer, "prefill_adapter"), scaled(256, 1), columns, {prefill});
    model.weight(layer_name(layer, "decode_adapter"), scaled(256, 1), columns, {decode});
    model.zeros(layer_name(layer, "cache"), scaled(1024, 1), columns, {prefill, decode});
    model.weight(layer_name(layer, "state"), scaled(16, 1), columns, {prefill, decode}, Access::mutable_);
  }
}

void fill(ModelMaker& model, const std::string& shape) {
  if (shape == "large") return make_large(model);
  if (shape == "small") return make_small(model);
  if (shape == "moe") return make_moe(model);
  make_two(model);
}

void make_model(const Weights16& weights, const std::string& shape, bool compressed) {
  const Stopwatch watch;
  ModelMaker model(weights);
  fill(model, shape);
  const auto path = model_path(shape, compressed);
  const auto report = model.write(path, compressed);
  std::fprintf(stderr, "made %s: %.2f GB from %.2f GB in %.1f s\n", path.c_str(),
               static_cast<double>(report.file_bytes) / 1e9, static_cast<double>(report.input_bytes) / 1e9,
               watch.seconds());
}

}  // namespace

const std::vector<std::string>& shapes() {
  static const std::vector<std::string> names = {"large", "small", "moe", "two"};
  return names;
}

std::filesystem::path model_path(const std::string& shape, bool compressed) {
  return setup().folder / (shape + (compressed ? "-compressed.ptd" : "-raw.ptd"));
}

void make_models() {
  std::filesystem::create_directories(setup().folder);
  Weights16 weights;
  for (const auto& shape : shapes())
    for (const bool compressed : {false, true}) {
      // A file appears whole or not at all, so one that is there is good.
      if (std::filesystem::exists(model_path(shape, compressed))) continue;
      if (!weights) weights = random_weights();
      make_model(weights, shape, compressed);
    }
}

}  // namespace ptd::bench
