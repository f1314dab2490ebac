// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// A runtime of two methods on one GPU, as far as weights are concerned: prefill and decode share what they
// have in common, and each session has a state of its own.
//
//   write_two_methods model.ptd && load_two_methods model.ptd
//
// Exit codes: 0; 1 after an error, which is printed; 2 for wrong usage; 77 if there is no GPU to use.
#include <cuda_runtime_api.h>

#include <iostream>
#include <ptd/cuda.hpp>
#include <string>
#include <vector>

namespace {

using ptd::Result;
using ptd::cuda::DeviceTensor;
using ptd::cuda::LoadedModel;
using ptd::cuda::LoadRequest;
using ptd::cuda::State;
using ptd::cuda::WeightCache;
using ptd::cuda::Weights;

// --- loading -------------------------------------------------------------------------------------------

Result<std::uint32_t> find_method(const LoadedModel& model, const std::string& name) {
  const auto found = model.reader().model().find_method(name);
  if (found) return *found;
  return ptd::fail_on(ptd::ErrorCode::not_found, "", name, "the model has no such method");
}

/// Brings what is not on the GPU yet. Once it has returned, the pointers are good; the bytes may still be on
/// their way (see `make_wait` below).
Result<Weights> load_method(const LoadedModel& model, const std::string& name, const State& state) {
  PTD_LET(method, find_method(model, name));
  LoadRequest request;
  request.device = 0;  // CUDA's number of the GPU
  request.methods = {method};
  request.state = &state;  // without it, the load would make a state of its own
  return model.load(request);
}

/// One conversation: both methods, with the same caches.
struct Session {
  Weights prefill;
  Weights decode;
};

Result<Session> start_session(const LoadedModel& model) {
  const State state = model.new_state();  // kept by the Weights that are loaded with it
  PTD_LET(prefill, load_method(model, "prefill", state));
  PTD_LET(decode, load_method(model, "decode", state));
  return Session{prefill, decode};
}

// --- what a load cost ----------------------------------------------------------------------------------

/// Of storages that the method binds and the other does not.
Result<std::uint64_t> own_bytes(const LoadedModel& model, const std::string& name, const std::string& other) {
  PTD_LET(of, find_method(model, name));
  PTD_LET(beside, find_method(model, other));
  const auto& file = model.reader().model();
  std::vector<bool> is_counted(file.storages.size());
  for (const auto tensor : file.methods[beside].tensors) is_counted[file.tensors[tensor].storage] = true;
  std::uint64_t bytes = 0;
  for (const auto tensor : file.methods[of].tensors) {
    const auto storage = file.tensors[tensor].storage;
    if (!is_counted[storage]) bytes += file.storages[storage].size;
    is_counted[storage] = true;
  }
  return bytes;
}

/// The second method of a model copies what the first has not brought, and not a byte more.
Result<void> show_sharing(const WeightCache& cache, const LoadedModel& model) {
  const State state = model.new_state();
  PTD_LET(prefill, load_method(model, "prefill", state));
  const auto before = cache.counters();
  PTD_LET(decode, load_method(model, "decode", state));
  const auto after = cache.counters();
  PTD_LET(own, own_bytes(model, "decode", "prefill"));
  const auto copied = after.copied_bytes - before.copied_bytes;
  std::cout << "prefill copied " << prefill.report().loaded_bytes << " bytes\n"
            << "decode  copied " << copied << " bytes, " << own << " are its own; of its storages "
            << after.hits - before.hits << " were there and " << after.misses - before.misses
            << " were not\n";
  for (const auto& note : decode.report().notes) std::cout << "note: " << note << '\n';
  if (copied <= own && after.storage_bytes - before.storage_bytes == own) return {};
  return ptd::fail(ptd::ErrorCode::internal, "", "a shared byte was copied again");
}

// --- using weights -------------------------------------------------------------------------------------

/// Calls of CUDA fail in the library's way, too.
Result<void> check(cudaError_t result) {
  if (result == cudaSuccess) return {};
  return ptd::fail(ptd::ErrorCode::device, "", cudaGetErrorString(result));
}

Result<DeviceTensor> find(const Weights& weights, const std::string& name) {
  const auto found = weights.find(name);
  if (found) return *found;
  return ptd::fail_on(ptd::ErrorCode::not_found, "", name, "the method has no such tensor");
}

void describe(const std::string& name, const DeviceTensor& tensor) {
  std::cout << name << ": " << ptd::dtype_name(tensor.dtype) << " at " << tensor.data << ", sizes";
  for (const auto size : tensor.sizes) std::cout << ' ' << size;
  std::cout << ", strides";
  for (const auto stride : tensor.strides) std::cout << ' ' << stride;
  std::cout << '\n';
}

/// Stands in for kernels that write the caches: row 0 of the keys becomes row 0 of a weight.
Result<void> run_prefill(const Weights& prefill, cudaStream_t stream) {
  PTD_TRY(prefill.make_wait(stream));  // the host goes on, the stream waits
  PTD_LET(weight, find(prefill, "layers.0.weight"));
  PTD_LET(keys, find(prefill, "cache.keys"));
  describe("layers.0.weight", weight);
  describe("cache.keys", keys);
  const auto row_bytes = weight.strides[0] * ptd::dtype_bits(weight.dtype) / 8;
  return check(cudaMemcpyAsync(keys.data, weight.data, row_bytes, cudaMemcpyDeviceToDevice, stream));
}

/// Stands in for kernels that read the caches: gives the first key.
Result<float> run_decode(const Weights& decode, cudaStream_t stream) {
  PTD_TRY(decode.make_wait(stream));
  PTD_LET(keys, find(decode, "cache.keys"));
  float key = 0;
  PTD_TRY(check(cudaMemcpyAsync(&key, keys.data, sizeof key, cudaMemcpyDeviceToHost, stream)));
  PTD_TRY(check(cudaStreamSynchronize(stream)));
  return key;
}

/// Weights must outlive the work that uses them. A stream declared behind them goes before them, and waits
/// first.
class Stream {
 public:
  Stream() : made_(check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking))) {}
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() {
    if (!made_) return;
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
  }

  [[nodiscard]] const Result<void>& made() const { return made_; }
  [[nodiscard]] cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
  Result<void> made_;
};

Result<void> show_sessions(const LoadedModel& model) {
  PTD_LET(one, start_session(model));
  PTD_LET(two, start_session(model));
  const Stream stream;
  PTD_TRY(stream.made());
  PTD_TRY(run_prefill(one.prefill, stream.get()));
  PTD_LET(key_of_one, run_decode(one.decode, stream.get()));
  PTD_LET(key_of_two, run_decode(two.decode, stream.get()));
  std::cout << "the first key is " << key_of_one << " in the session that ran prefill, " << key_of_two
            << " in the other\n";
  if (key_of_one == 1 && key_of_two == 0) return {};
  return ptd::fail(ptd::ErrorCode::internal, "", "the sessions do not keep apart");
}

// --- the program ---------------------------------------------------------------------------------------

Result<void> run(const WeightCache& cache, const std::string& path) {
  PTD_LET(model, cache.open(path));
  PTD_TRY(show_sharing(cache, model));
  PTD_TRY(show_sessions(model));
  std::cout << cache.counters().arena_bytes
            << " bytes are left on the GPU now that nobody uses the weights\n";
  return {};
}

int report(const ptd::Error& error, int code) {
  std::cerr << error.to_string() << '\n';
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: load_two_methods MODEL.ptd\n";
    return 2;
  }
  const auto cache = WeightCache::create();  // one a process: what is loaded is shared through it
  if (!cache) return report(cache.error(), cache.error().code == ptd::ErrorCode::device ? 77 : 1);
  const auto done = run(*cache, argv[1]);
  return done ? 0 : report(done.error(), 1);
}
