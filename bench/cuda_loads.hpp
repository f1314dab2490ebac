// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Loads with ptd::cuda, as cases with names.
#pragma once

#include <ptd/cuda.hpp>
#include <string>

#include "cuda_host.hpp"

namespace ptd::bench {

/// What lasts from one timed load to the next.
enum class Lasting { nothing, cache, model };

std::string_view name_of(Lasting lasting);
std::string_view name_of(cuda::Check check);
std::string_view name_of(cuda::ReadPath path);
std::string_view name_of(cuda::Engine engine);

struct LoadCase {
  std::string shape;
  bool compressed = false;
  cuda::Check check = cuda::Check::chunks;
  cuda::Engine engine = cuda::Engine::gpu;
  cuda::ReadPath path = cuda::ReadPath::automatic;
  Lasting lasting = Lasting::model;
  std::string method = {};  ///< empty: every tensor
  cuda::CacheOptions options = {};
  std::string more = {};  ///< end of the name
  int runs = 5;
  bool at_once = false;  ///< each run as soon as the one before has been dropped

  [[nodiscard]] std::string name() const;
};

/// The request of a case for a model.
cuda::LoadRequest request_of(const LoadCase& load, const Model& model);

/// A load, and what it cost.
struct Loaded {
  cuda::Weights weights;
  double seconds = 0;
};

/// Opens and loads what a case says, through as much as is there already. Returns when the weights have
/// arrived.
class Loader {
 public:
  explicit Loader(const LoadCase& load);
  /// Forgets what the case does not let last, then loads.
  Loaded load();
  [[nodiscard]] const cuda::LoadedModel& model() const { return *model_; }
  [[nodiscard]] const cuda::WeightCache& cache() const { return *cache_; }
  void close_model() { model_.reset(); }

 private:
  LoadCase load_;
  std::optional<cuda::WeightCache> cache_;
  std::optional<cuda::LoadedModel> model_;
};

/// Adds what a load says about itself to what is printed.
void report_load(benchmark::State& state, const cuda::LoadReport& report);

}  // namespace ptd::bench
