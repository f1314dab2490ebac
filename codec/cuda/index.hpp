// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Which immutable storages are where: the identity of weights.
#pragma once

#include <cstring>
#include <map>
#include <mutex>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "cuda/layout.hpp"
#include "cuda/memory.hpp"
#include "cuda/table_store.hpp"

namespace ptd::cuda {

/// A file, as far as its bytes are taken to stay the same.
struct FileKey {
  FileIdentity file;             ///< all zero for what is no file
  const void* source = nullptr;  ///< of what is no file
  Digest model_id{};

  [[nodiscard]] auto tied() const {
    return std::tie(file.device, file.inode, file.size, file.modified_ns, source, model_id);
  }
  friend bool operator<(const FileKey& a, const FileKey& b) { return a.tied() < b.tied(); }
};

/// Where a storage was last; valid as long as that block lives.
struct Place {
  std::uint64_t block = 0;  ///< its number
  StorageMemory* memory = nullptr;
};

/// What of a file is, or was, on one device.
struct Places {
  std::vector<Place> of;  ///< by entry of the layout; what has a twin is at that
  std::map<std::uint64_t, std::weak_ptr<Block>> blocks;
};

/// One file, however often it is opened: what belongs together in it, and where its storages are.
struct FileScope {
  explicit FileScope(const Reader& file) : layout(lay_out(file)), tables(file.model().contents.size()) {}
  const Layout layout;
  TableStore tables;
  std::map<int, Places> places;  ///< by device; the index's lock guards it
};

using ScopePtr = std::shared_ptr<FileScope>;

/// What makes storages of several files one: the bytes were hashed here, and the digest is this.
struct ProvenKey {
  Digest digest{};
  std::uint64_t content_bytes = 0;
  std::uint64_t bytes = 0;  ///< of the storage
  int device = 0;

  friend bool operator==(const ProvenKey&, const ProvenKey&) = default;
};

struct ProvenKeyHash {
  /// Digests are as random as hashes get; what differs besides is mixed in.
  std::size_t operator()(const ProvenKey& key) const noexcept {
    std::uint64_t hash = 0;
    std::memcpy(&hash, key.digest.data(), sizeof hash);
    return hash ^ (key.bytes * 0x9E3779B97F4A7C15U) ^ static_cast<std::uint64_t>(key.device);
  }
};

/// A block whose contents are hashed by the load that brings it.
struct ProvenBlock {
  std::weak_ptr<Block> block;
  std::weak_ptr<FileScope> scope;
  bool is_listed = false;
};

/// Keeps nothing alive.
class StorageIndex {
 public:
  /// The same object for equal keys, for as long as anybody keeps it.
  ScopePtr scope_of(const FileKey& key, const Reader& file);

  /// A load claims all that it wants in one go, so that of two loads at once one brings and the other finds.
  /// Nothing is allocated on a device, read or copied meanwhile.
  [[nodiscard]] std::mutex& mutex() noexcept { return mutex_; }

  // With the lock.
  [[nodiscard]] std::uint64_t new_block_number() noexcept { return ++blocks_; }
  /// All of the block's storages that have content.
  void enter_proven(ProvenBlock block) { proven_blocks_.push_back(std::move(block)); }
  /// Whether there are proven storages of other files: only these are ever looked for, since within a file
  /// storages have places. Linear in those that nobody has looked for yet. `looked_at` gets blocks that may
  /// have lost their last other user: they must not go while locks are held.
  [[nodiscard]] bool list_proven(const ScopePtr& but, std::vector<BlockPtr>& looked_at);
  /// Among those that were listed.
  [[nodiscard]] MemoryPtr find_proven(const ProvenKey& key) const;

 private:
  void list(const BlockPtr& block);

  std::mutex mutex_;
  std::map<FileKey, std::weak_ptr<FileScope>> scopes_;
  std::vector<ProvenBlock> proven_blocks_;
  std::unordered_map<ProvenKey, std::weak_ptr<StorageMemory>, ProvenKeyHash> proven_;
  std::uint64_t blocks_ = 0;
  std::size_t sweep_at_ = 1024;  ///< entries at which those whose memory is gone are forgotten
};

}  // namespace ptd::cuda
