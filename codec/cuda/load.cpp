// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "cuda/load.hpp"

#include <algorithm>
#include <chrono>
#include <deque>

#include "cuda/bring.hpp"
#include "cuda/claims.hpp"
#include "file/failure.hpp"

namespace ptd::cuda {
namespace {

/// Adds what the call takes.
template <class Call>
auto timed(double& seconds, Call call) {
  const auto start = std::chrono::steady_clock::now();
  auto result = call();
  seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

class Load {
 public:
  Load(const LoadedModelPtr& model, const LoadRequest& request, StatePtr state)
      : shared_(*model),
        cache_(*model->cache),
        model_(model->file.model()),
        layout_(model->scope->layout),
        request_(request),
        out_(std::make_shared<Weights::Inner>(model->file, model->scope)),
        claims_(shared_, request_, *out_) {
    out_->device = request.device;
    out_->methods = request.methods;
    out_->state =
        state ? std::move(state) : std::make_shared<State::Inner>(model->scope, model->cache, model->file);
  }

  Result<std::shared_ptr<const Weights::Inner>> run() {
    auto done = file::guarded([&] { return bring_all(); });
    if (!done) {
      undo(done.error());
      return Failure(std::move(done.error()));
    }
    count();
    return std::shared_ptr<const Weights::Inner>(std::move(out_));
  }

 private:
  Result<void> bring_all() {
    PTD_TRY(check_request());
    PTD_LET(device, cache_.driver->device(request_.device));
    device_ = device;
    choose_tensors();
    PTD_TRY(take_external());
    PTD_TRY(take_destinations());
    bool is_complete = false;
    while (!is_complete) {
      PTD_LET(complete, claim_and_bring());
      is_complete = complete;
    }
    return {};
  }

  // --- what is asked for ---------------------------------------------------------------------------------

  Result<void> check_request() const {
    for (const auto method : request_.methods)
      if (method >= model_.methods.size())
        return fail(ErrorCode::argument, "", "there is no method number " + std::to_string(method));
    if (out_->state->scope != shared_.scope)
      return fail(ErrorCode::argument, "", "the state belongs to another model");
    return {};
  }

  void choose_tensors() {
    out_->holds_tensor.resize(model_.tensors.size(), request_.methods.empty());
    for (const auto method : request_.methods)
      for (const auto tensor : model_.methods[method].tensors) out_->holds_tensor[tensor] = true;
    out_->memories.resize(layout_.entries.size());
    is_wanted_.resize(layout_.entries.size());
    for (std::size_t i = 0; i < layout_.entry_of_tensor.size(); ++i)
      if (out_->holds_tensor[i]) is_wanted_[layout_.entry_of_tensor[i]] = true;
    for (std::uint32_t i = 0; i < is_wanted_.size(); ++i)
      if (is_wanted_[i]) entries_.push_back(i);
    out_->report.storages = entries_.size();
  }

  [[nodiscard]] bool has_memory(std::uint32_t storage) const {
    return out_->memories[layout_.entry_of_storage[storage]] != nullptr;
  }

  // --- memory of the caller's ----------------------------------------------------------------------------

  Failure bad_memory(const Placed& placed, const std::string& what) const {
    return fail(ErrorCode::argument, "",
                "the memory for storage " + std::to_string(placed.storage) + " " + what);
  }

  Result<void> check_placed(const Placed& placed) {
    if (placed.storage >= is_wanted_.size() || !is_wanted_[layout_.entry_of_storage[placed.storage]])
      return bad_memory(placed, "is for none that this load wants");
    if (has_memory(placed.storage)) return bad_memory(placed, "is given twice");
    const auto& spec = model_.storages[placed.storage];
    const auto size = spec.size;
    if (placed.bytes < size)
      return bad_memory(placed,
                        "has " + std::to_string(placed.bytes) + " bytes; it needs " + std::to_string(size));
    if (reinterpret_cast<std::uintptr_t>(placed.memory) % storage_alignment != 0)
      return bad_memory(placed, "is not aligned to 256 bytes");
    if (size > 0 && spec.placement != Placement::host && !device_->owns(placed.memory, size))
      return bad_memory(placed, "is not memory of the device");
    return {};
  }

  [[nodiscard]] MemoryPtr caller_memory(const Placed& placed, ArrivalPtr arrival) const {
    const auto block = std::make_shared<Block>();
    const bool is_on_host = model_.storages[placed.storage].placement == Placement::host;
    block->device = is_on_host ? host_memory : request_.device;
    block->check = request_.check;
    block->arrival = std::move(arrival);
    block->make_room(1);
    auto& memory = block->add(placed.storage, model_.storages[placed.storage].size);
    memory.data = static_cast<std::byte*>(placed.memory);
    return {block, &memory};
  }

  Result<void> take_external() {
    const auto here = std::make_shared<Arrival>();
    here->succeed(nullptr);
    for (const auto& placed : request_.external) {
      PTD_TRY(check_placed(placed));
      if (model_.storages[placed.storage].origin != Origin::external)
        return bad_memory(placed, "is not needed: the file has its bytes; to load them there, use `into`");
      hold(placed, caller_memory(placed, here));
    }
    if (!layout_.has_external) return {};
    for (const auto entry : entries_)
      if (const auto storage = layout_.entries[entry].storage;
          model_.storages[storage].origin == Origin::external && out_->memories[entry] == nullptr)
        return fail_on(ErrorCode::argument, "", tensor_in(storage),
                       "the file leaves the bytes of this tensor's storage to whoever loads it; give " +
                           std::to_string(model_.storages[storage].size) + " bytes for storage " +
                           std::to_string(storage) + " in `external`");
    return {};
  }

  Result<void> take_destinations() {
    for (const auto& placed : request_.into) {
      PTD_TRY(check_placed(placed));
      if (model_.storages[placed.storage].placement == Placement::host)
        return bad_memory(placed, "is of a device, but the file wants the storage in host memory");
      const auto memory = caller_memory(placed, arrival_);
      hold(placed, memory);
      if (model_.storages[placed.storage].access == Access::mutable_)
        PTD_TRY(give_to_state(placed.storage, memory));
      wanted_.push_back({placed.storage, {&room(static_cast<std::byte*>(placed.memory)), 0}, false});
    }
    return {};
  }

  void hold(const Placed& placed, const MemoryPtr& memory) {
    out_->hold(layout_.entry_of_storage[placed.storage], *memory);
  }

  Result<void> give_to_state(std::uint32_t storage, const MemoryPtr& given) {
    const std::lock_guard lock(out_->state->mutex);
    auto& memory = out_->state->memories[{request_.device, storage}];
    if (memory && !memory->block->arrival->has_failed())
      return fail_on(ErrorCode::argument, "", tensor_in(storage),
                     "the state has memory for it on this device already");
    memory = given;
    return {};
  }

  /// A tensor that views the storage, for messages.
  [[nodiscard]] std::string_view tensor_in(std::uint32_t storage) const {
    return std::ranges::find(model_.tensors, storage, &Tensor::storage)->name;
  }

  // --- bringing ------------------------------------------------------------------------------------------

  /// Claims everything before it waits for anything, and brings what it has claimed before it waits for
  /// others: so no two loads wait for each other. False if what another owed has to be claimed again.
  Result<bool> claim_and_bring() {
    auto& report = out_->report;
    const auto blocks = timed(report.claim_seconds, [&] { return claims_.claim(entries_, arrival_); });
    for (const auto& block : blocks) misses_ += block->storages.size();
    PTD_LET(mark, allocate_and_bring(blocks));
    for (const auto& block : blocks)
      if (block->arena) block->arena->set_mark(mark);
    arrival_->succeed(mark);
    arrivals_.push_back(std::exchange(arrival_, std::make_shared<Arrival>()));
    wanted_.clear();
    return timed(report.wait_seconds, [&] { return claims_.wait_for_others(); });
  }

  Result<MarkPtr> allocate_and_bring(const std::vector<BlockPtr>& blocks) {
    PTD_LET(sizes, sizes_of(blocks));
    auto& report = out_->report;
    std::vector<NewArena> arenas;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      if (sizes[i] == 0) continue;
      if (blocks[i]->device == host_memory)
        PTD_TRY(timed(report.allocate_seconds, [&] { return make_room_on_host(*blocks[i], sizes[i]); }));
      else
        arenas.push_back({blocks[i].get(), sizes[i], &room(nullptr)});
    }
    const auto allocate = [&] { return timed(report.allocate_seconds, [&] { return make_room(arenas); }); };
    const Allocation memory(allocate, where_to_allocate(request_.allocator));
    list_wanted(arenas);
    return timed(report.bring_seconds, [&] { return bring_wanted(memory); });
  }

  Result<MarkPtr> bring_wanted(const Allocation& memory) {
    const auto allocated = std::min(out_->report.allocated_bytes, request_.max_bytes);
    const BringOptions options{request_.check,    request_.engine,    request_.path,
                               request_.progress, request_.allocator, request_.max_bytes - allocated};
    return bring(cache_, shared_.file, *shared_.scope, device_, wanted_, memory, options, out_->report);
  }

  /// An arena that is to be made.
  struct NewArena {
    Block* block = nullptr;
    std::uint64_t bytes = 0;
    Room* room = nullptr;
  };

  Room& room(std::byte* base) { return rooms_.emplace_back(Room{base}); }

  void list_wanted(const std::vector<NewArena>& arenas) {
    std::size_t storages = wanted_.size();
    for (const auto& arena : arenas) storages += arena.block->storages.size();
    wanted_.reserve(storages);
    for (const auto& arena : arenas) {
      out_->report.allocated_bytes += arena.bytes;
      for (const auto& memory : arena.block->storages)
        if (memory.bytes > 0) wanted_.push_back({memory.storage, {arena.room, memory.offset}, true});
    }
  }

  Result<void> make_room(const std::vector<NewArena>& arenas) const {
    for (const auto& [block, bytes, room] : arenas) {
      PTD_LET(arena, Arena::make(device_, bytes, request_.allocator, cache_.ledger));
      block->place(arena);
      room->base = arena->base();
    }
    return {};
  }

  /// Of their arenas; all before anything is allocated.
  [[nodiscard]] Result<std::vector<std::uint64_t>> sizes_of(const std::vector<BlockPtr>& blocks) const {
    std::vector<std::uint64_t> sizes;
    std::uint64_t room = request_.max_bytes;
    for (const auto& block : blocks) {
      PTD_LET(bytes, block->lay_out());
      if (bytes > room)
        return fail(ErrorCode::no_memory, "",
                    "the load needs more than the " + std::to_string(request_.max_bytes) +
                        " bytes that it may allocate");
      room -= bytes;
      sizes.push_back(bytes);
    }
    return sizes;
  }

  Result<void> make_room_on_host(Block& block, std::uint64_t bytes) {
    PTD_LET(arena, Arena::make_on_host(bytes));
    block.place(arena);
    const ReadOptions options{.check = request_.check != Check::none, .threads = cache_.options.threads};
    for (const auto& memory : block.storages)
      if (memory.bytes > 0)
        PTD_TRY(shared_.file.read_storage(memory.storage, 0, {memory.data, memory.bytes}, options));
    return {};
  }

  // --- the end -------------------------------------------------------------------------------------------

  void undo(const Error& error) {
    arrival_->fail(error);
    arrivals_.push_back(arrival_);
    for (const auto& arrival : arrivals_) claims_.withdraw(arrival);
    cache_.ledger->change([](CacheCounters& now) { ++now.failures; });
  }

  void count() {
    const auto& report = out_->report;
    cache_.ledger->change([&](CacheCounters& now) {
      now.hits += report.reused_storages;
      now.waits += report.awaited_storages;
      now.misses += misses_;
      now.copied_bytes += report.loaded_bytes;
    });
  }

  const LoadedModel::Inner& shared_;
  WeightCache::Inner& cache_;
  const ptd::Model& model_;
  const Layout& layout_;
  const LoadRequest& request_;
  std::shared_ptr<Weights::Inner> out_;
  Claims claims_;
  DevicePtr device_;
  ArrivalPtr arrival_ = std::make_shared<Arrival>();  ///< of what is being brought
  std::vector<ArrivalPtr> arrivals_;                  ///< of what was
  std::vector<bool> is_wanted_;                       ///< by entry of the layout
  std::vector<std::uint32_t> entries_;                ///< wanted
  std::deque<Room> rooms_;                            ///< never moved, as others point into it
  std::vector<Wanted> wanted_;                        ///< where bytes go on the device
  std::uint64_t misses_ = 0;
};

}  // namespace

Result<std::shared_ptr<const Weights::Inner>> load(const LoadedModelPtr& model, const LoadRequest& request,
                                                   StatePtr state) {
  return Load(model, request, std::move(state)).run();
}

}  // namespace ptd::cuda
