// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// The cache, the models opened in it, and their states.
#include <ptd/cuda.hpp>

#include "cuda/bring.hpp"
#include "cuda/inner.hpp"
#include "cuda/load.hpp"
#include "file/failure.hpp"

namespace ptd::cuda {
namespace {

constexpr std::uint64_t mib = std::uint64_t{1} << 20;

Result<void> check_options(const CacheOptions& options) {
  if (options.pinned_bytes < 16 * mib)
    return fail(ErrorCode::argument, "", "page-locked buffers take at least 16 MiB");
  if (options.buffer_bytes == 0 || options.buffer_bytes % mib != 0)
    return fail(ErrorCode::argument, "", "a buffer is a multiple of 1 MiB");
  if (options.buffer_bytes > options.pinned_bytes / 4)
    return fail(ErrorCode::argument, "", "a buffer is at most a quarter of the page-locked memory");
  return {};
}

/// What is no file is known by the object that it is read from, which the model keeps.
FileKey key_of(const Reader& file) {
  FileKey key{file.file().identity, nullptr, file.model_id()};
  if (key.file == FileIdentity{}) key.source = file.file().source.get();
  return key;
}

}  // namespace

Result<CachePtr> make_cache(const CacheOptions& options, DriverPtr driver) {
  PTD_TRY(check_options(options));
  return file::guarded(
      [&]() -> Result<CachePtr> { return std::make_shared<WeightCache::Inner>(options, std::move(driver)); });
}

LoadedModel::Inner::Inner(CachePtr in, Reader opened) : cache(std::move(in)), file(std::move(opened)) {
  scope = cache->index.scope_of(key_of(file), file);
}

WeightCache::WeightCache(std::shared_ptr<Inner> inner) : inner_(std::move(inner)) {}

Result<WeightCache> WeightCache::create(const CacheOptions& options) {
  PTD_LET(driver, cuda_driver());
  PTD_LET(inner, make_cache(options, driver));
  return WeightCache(inner);
}

Result<LoadedModel> WeightCache::open(const std::filesystem::path& path) const {
  PTD_LET(file, Reader::open(path, {.access = FileAccess::mapped}));
  return open(file);
}

LoadedModel WeightCache::open(Reader reader) const {
  return LoadedModel(std::make_shared<LoadedModel::Inner>(inner_, std::move(reader)));
}

CacheCounters WeightCache::counters() const {
  auto counters = inner_->ledger->counters();
  counters.pinned_bytes = inner_->pool.counts().pinned_bytes + inner_->lanes.pinned_bytes();
  return counters;
}

LoadedModel::LoadedModel(std::shared_ptr<const Inner> inner) : inner_(std::move(inner)) {}

const Reader& LoadedModel::reader() const noexcept { return inner_->file; }

State LoadedModel::new_state() const {
  return State(std::make_shared<State::Inner>(inner_->scope, inner_->cache, inner_->file));
}

Result<Weights> LoadedModel::load(const LoadRequest& request) const {
  PTD_LET(weights, cuda::load(inner_, request, request.state == nullptr ? nullptr : request.state->inner_));
  return Weights(weights);
}

State::State(std::shared_ptr<Inner> inner) : inner_(std::move(inner)) {}

Result<void> State::reset() const { return cuda::reset(*inner_); }

}  // namespace ptd::cuda
