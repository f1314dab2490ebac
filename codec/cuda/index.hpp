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

#include "cuda/memory.hpp"

namespace ptd::cuda {

/// What makes two storages one. `scope` is the file that says so, or `proven` if the bytes were hashed here.
struct StorageKey {
  static constexpr std::uint64_t proven = 0;
  std::uint64_t scope = proven;
  Digest digest{};  ///< of the content; all zero for none, which is no content's
  std::uint64_t content_bytes = 0;
  std::uint64_t bytes = 0;  ///< of the storage
  int device = 0;

  friend bool operator==(const StorageKey&, const StorageKey&) = default;
};

struct StorageKeyHash {
  /// Digests are as random as hashes get; what differs besides is mixed in.
  std::size_t operator()(const StorageKey& key) const noexcept {
    std::uint64_t hash = 0;
    std::memcpy(&hash, key.digest.data(), sizeof hash);
    return hash ^ (key.bytes * 0x9E3779B97F4A7C15U) ^ (key.scope << 40U) ^
           static_cast<std::uint64_t>(key.device);
  }
};

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

/// Thread-safe. Keeps nothing alive.
class StorageIndex {
 public:
  /// The scope of a file: equal for equal keys, and never `proven`.
  std::uint64_t scope_of(const FileKey& file);

  /// What a load gets for a storage: memory that is there or on its way, or the order to bring it.
  struct Claim {
    MemoryPtr memory;
    bool is_mine = false;  ///< the caller brings it
  };

  /// Finds memory whose bytes are checked at least as much, under the file's key or the proven one; else
  /// enters what `make` gives under the file's key, and under the proven one if it is going to be proven. Of
  /// two askers at once, one brings.
  template <class Make>
  Claim claim(const StorageKey& in_file, Check check, Make make) {
    // What is found may turn out to have lost its last other user: it must not go while the lock is held.
    MemoryPtr unfit[2];
    const std::lock_guard lock(mutex_);
    if (auto found = find(in_file, check, unfit)) return {std::move(found), false};
    MemoryPtr made = make();
    enter(in_file, check, made);
    return {std::move(made), true};
  }

 private:
  using Memories = std::unordered_map<StorageKey, std::weak_ptr<StorageMemory>, StorageKeyHash>;

  MemoryPtr find(const StorageKey& in_file, Check check, MemoryPtr (&unfit)[2]) const;
  void enter(const StorageKey& in_file, Check check, const MemoryPtr& memory);

  std::mutex mutex_;
  Memories memories_;
  std::size_t sweep_at_ = 1024;  ///< entries at which those whose memory is gone are forgotten
  std::map<FileKey, std::uint64_t> scopes_;
};

}  // namespace ptd::cuda
