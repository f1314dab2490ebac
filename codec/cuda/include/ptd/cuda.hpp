// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Weights on GPUs: loaded at the speed of the link, checked, and shared.
//
//   auto cache = WeightCache::create();
//   auto model = cache->open("model.ptd");
//   auto prefill = model->load({.methods = {*model->reader().model().find_method("prefill")}});
//   prefill->make_wait(stream);                       // the stream's next work sees the weights
//   const DeviceTensor w = *prefill->find("layers.0.wq.weight");
//
// Objects and their lifetimes:
//   WeightCache  the memory of a process: what is loaded where, and the pinned buffers that loads share.
//   LoadedModel  one file, opened. What is loaded of it outlives it.
//   State        one set of a model's mutable storages, for one session. Methods loaded with one state share
//   it. Weights      what one load gave: it keeps every storage that its tensors view, and its state's,
//   alive.
// All are cheap handles, copies share, and all members may be called from several threads at once. Device
// memory goes when the last Weights (and, for mutable storages, State) that uses it goes, in whatever order,
// also after the cache. Whoever drops it must have no work of his own in flight that uses it; what the loader
// still copies is waited for.
//
// Identity. An immutable storage is one allocation a device, however many methods and loads refer to it:
// within one file (device, inode, size, modification time and model id all equal) always, across files only
// once its content digest has been recomputed from the bytes (Check::content): what a file declares about
// itself is no proof. Mutable storages are their state's, and shared by nothing else. Zero and external
// storages are never shared across files.
//
// No call leaves another current device, context or pending CUDA error than it found. Only the device that is
// asked for is touched.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <ptd/reader.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

struct CUstream_st;  // cudaStream_t is a pointer to it

namespace ptd::cuda {

using Stream = CUstream_st*;

/// How much of what arrives is compared with what the file says.
enum class Check : std::uint8_t {
  none,     ///< chunk tables, frames and sizes only: nothing can go astray, but damage is not seen
  chunks,   ///< every chunk with its XXH3-64: finds damage
  content,  ///< and every content with its SHA-256 digest: proves identity
};

/// What decodes chunks, and compares them with what the file says.
enum class Engine : std::uint8_t {
  gpu,   ///< the device, where they land, and `load` waits for it: stored bytes travel. What its decoder does
         ///< not take, the host decodes; a device or build without kernels leaves all of it to the host
  host,  ///< the processor's cores, on the way
};

/// How the bytes of a file come to the pinned buffers.
enum class ReadPath : std::uint8_t {
  automatic,  ///< mapped if most of what is wanted is in the page cache, or buffered if the file was not
              ///< opened mapped; else direct, but through the page cache what is there
  mapped,     ///< from a mapping; see FileAccess::mapped for what that means if the file is cut meanwhile
  direct,  ///< from the disk, past the page cache (O_DIRECT), read ahead by up to 32 MiB: with io_uring where
           ///< that is allowed, else with threads
  buffered,  ///< with pread
};

struct CacheOptions {
  std::uint64_t pinned_bytes = std::uint64_t{64} << 20;  ///< of all that is pinned; at least 16 MiB. More
                                                         ///< than the processor's cache keeps is slower
  std::uint64_t buffer_bytes = std::uint64_t{8} << 20;   ///< of one; a multiple of 1 MiB, at most a quarter
  unsigned threads = 0;  ///< of each load that reads; 0: one a core, or for `Engine::gpu` three on four cores
};

/// Device memory that the cache allocates or is given. `allocate` gives memory aligned to 256 bytes, or null.
/// Called without locks, from the thread that loads; `release` from whichever thread drops the last user.
struct Allocator {
  std::function<void*(std::uint64_t bytes, int device)> allocate;
  std::function<void(void* memory, std::uint64_t bytes, int device)> release;
};

/// Memory of the caller for one storage: at least its size, aligned to 256 bytes. It must stay as long as the
/// Weights, and for a mutable storage as long as its State.
struct Placed {
  std::uint32_t storage = 0;  ///< index into Model::storages
  void* memory = nullptr;  ///< device memory; for an external storage that the file wants there, host memory
  std::uint64_t bytes = 0;
};

class State;

struct LoadRequest {
  int device = 0;                      ///< CUDA ordinal
  std::vector<std::uint32_t> methods;  ///< indices into Model::methods; empty: every tensor of the file
  const State* state = nullptr;        ///< whose mutable storages; null: a new one
  std::vector<Placed> external;        ///< one for each external storage that is bound: the caller's bytes
  std::vector<Placed> into;  ///< load these storages to these addresses; they are shared with nobody
  const Allocator* allocator = nullptr;         ///< null: cudaMalloc
  std::uint64_t max_bytes = ~std::uint64_t{0};  ///< that the load may allocate, on the device and the host: a
                                                ///< small file can ask for any amount of zeros. If there is
                                                ///< no room for `Engine::gpu` within it, the host decodes
  Check check = Check::chunks;
  Engine engine = Engine::gpu;
  ReadPath path = ReadPath::automatic;
  Progress progress;  ///< bytes of content that have been read, of those that have to be; false cancels
};

/// What a load did. Bytes are of device memory unless they are said to be stored.
struct LoadReport {
  std::uint64_t storages = 0;         ///< that the tensors view
  std::uint64_t reused_storages = 0;  ///< of these, found loaded
  std::uint64_t reused_bytes = 0;
  std::uint64_t awaited_storages = 0;  ///< of the reused ones, those that another load was still bringing
  std::uint64_t loaded_bytes = 0;      ///< of content that was copied
  std::uint64_t stored_bytes = 0;      ///< read from the file for it
  std::uint64_t zero_bytes = 0;        ///< set on the device
  std::uint64_t allocated_bytes = 0;   ///< in arenas made for this load
  std::uint64_t copies = 0;            ///< asynchronous copies that were enqueued
  ReadPath path = ReadPath::mapped;    ///< how it was read
  Engine engine = Engine::host;        ///< what decoded and checked it
  std::uint64_t gpu_chunks = 0;        ///< decoded or checked by the device
  std::uint64_t fallback_chunks = 0;   ///< that were to be, and were left to the host: frames outside the
                                       ///< literals profile, chunks that are larger than a buffer
  std::uint64_t scratch_bytes = 0;     ///< of the device that `Engine::gpu` used meanwhile and gave back
  double claim_seconds = 0;            ///< to find out what is there, and what is to be brought
  double allocate_seconds = 0;         ///< for arenas, mostly while bytes are already being read
  double bring_seconds = 0;            ///< until every byte was read and every copy enqueued
  double wait_seconds = 0;             ///< for what other loads brought
  std::vector<std::string> notes;  ///< fallbacks, each a sentence: no pinned memory, no kernels, no mapping,
                                   ///< no O_DIRECT, no io_uring
};

/// A tensor on a device (or, where the file says so, in host memory).
struct DeviceTensor {
  void* data = nullptr;  ///< of element 0: the storage's base plus the offset; null if the storage is empty
  void* storage = nullptr;  ///< aligned to 256 bytes; 256 bytes past its end are readable
  std::uint64_t storage_bytes = 0;
  std::uint64_t storage_offset = 0;  ///< elements
  DType dtype = DType::uint8;
  bool is_mutable = false;
  bool on_host = false;                    ///< data is host memory
  std::span<const std::uint64_t> sizes;    ///< elements; valid as long as the Weights
  std::span<const std::uint64_t> strides;  ///< elements
};

/// One load's tensors. They may be used from the moment at which `load` has returned by work that waits for
/// them
/// (`make_wait`), and by everybody once `wait` has returned.
class Weights {
 public:
  /// A tensor by its index in the file; nothing if this load did not bring it.
  [[nodiscard]] std::optional<DeviceTensor> tensor(std::uint32_t index) const;

  /// What the load's methods mean by an FQN: for one method as Model::find_in_method, for several the model's
  /// tensor.
  [[nodiscard]] std::optional<DeviceTensor> find(std::string_view fqn) const;

  /// A tensor of a library, by the library's name.
  [[nodiscard]] std::optional<DeviceTensor> find(std::string_view library, std::string_view name) const;

  [[nodiscard]] int device() const noexcept;
  [[nodiscard]] State state() const;
  [[nodiscard]] const LoadReport& report() const noexcept;

  /// Lets work that is enqueued on the stream from now on wait for the weights. Does not block.
  [[nodiscard]] Result<void> make_wait(Stream stream) const;
  /// Blocks until they have arrived.
  [[nodiscard]] Result<void> wait() const;
  /// True if they have.
  [[nodiscard]] bool is_ready() const;

  struct Inner;  ///< internal

 private:
  friend class LoadedModel;
  explicit Weights(std::shared_ptr<const Inner> inner);
  std::shared_ptr<const Inner> inner_;
};

/// A session's mutable storages, on as many devices as were loaded with it. Each is filled from the file when
/// a method that binds it is first loaded with this state on a device; later loads find it as the session
/// left it.
class State {
 public:
  /// Sets what is loaded of it back to the file's bytes, in place. Blocks until that is done. No work that
  /// uses the state may be in flight.
  [[nodiscard]] Result<void> reset() const;

  struct Inner;  ///< internal

 private:
  friend class LoadedModel;
  friend class Weights;
  explicit State(std::shared_ptr<Inner> inner);
  std::shared_ptr<Inner> inner_;
};

/// A file that passed open, to load from.
class LoadedModel {
 public:
  [[nodiscard]] const Reader& reader() const noexcept;

  [[nodiscard]] State new_state() const;

  /// Brings what the methods bind to the device. Returns once every byte has been read and checked and every
  /// copy enqueued. Storages that another load is bringing are waited for. After an error, device memory is
  /// as it was.
  ///
  /// Errors: those of reading; `argument` for an ordinal, index or state that does not fit, for an external
  /// storage that is missing, too small or not aligned; `no_memory` with the bytes asked for and the bytes
  /// free; `cancelled`. Time: linear in the tensors of the methods and the bytes of the storages that were
  /// not there.
  [[nodiscard]] Result<Weights> load(const LoadRequest& request) const;

  struct Inner;  ///< internal

 private:
  friend class WeightCache;
  explicit LoadedModel(std::shared_ptr<const Inner> inner);
  std::shared_ptr<const Inner> inner_;
};

/// Counts since the cache was made, or now. One consistent picture.
struct CacheCounters {
  std::uint64_t hits = 0;      ///< storages that a load found, or found another bringing
  std::uint64_t misses = 0;    ///< storages that it had to bring
  std::uint64_t waits = 0;     ///< of the hits, those that another load was still bringing
  std::uint64_t failures = 0;  ///< loads that failed or were cancelled
  std::uint64_t copied_bytes = 0;
  std::uint64_t storages = 0;       ///< now on devices
  std::uint64_t storage_bytes = 0;  ///< of these
  std::uint64_t arenas = 0;         ///< now allocated
  std::uint64_t arena_bytes = 0;    ///< device bytes now allocated for them
  std::uint64_t most_arena_bytes = 0;
  std::uint64_t pinned_bytes =
      0;  ///< of buffers to copy from and lists of chunks; they are kept, so this is the most as well
};

class WeightCache {
 public:
  /// Errors: `argument` for options that cannot be meant; `environment`-class errors if there is no CUDA
  /// driver.
  static Result<WeightCache> create(const CacheOptions& options = {});

  /// Opens a file for loading. O(manifest).
  [[nodiscard]] Result<LoadedModel> open(const std::filesystem::path& path) const;

  /// The same of an open file. Sources that are not files are identified by the Reader's source object.
  [[nodiscard]] LoadedModel open(Reader reader) const;

  [[nodiscard]] CacheCounters counters() const;

  struct Inner;                                        ///< internal
  explicit WeightCache(std::shared_ptr<Inner> inner);  ///< internal

 private:
  std::shared_ptr<Inner> inner_;
};

}  // namespace ptd::cuda
