// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// The weights and the code of ExecuTorch's CUDA backend, into a Writer.
#pragma once

#include <map>
#include <set>

#include "foreign/blob_pool.hpp"
#include "foreign/executorch_inputs.hpp"
#include "foreign/import_sinks.hpp"

namespace ptd::foreign {

/// Adds the payloads of all methods. What is state and what is not follows, in this order: --mutable,
/// --immutable, the manifest's own flags (digits 1 and 2), the program's list of mutable buffers, else
/// everything is state: to take two caches that happen to be equal for one would be worse than to keep a
/// weight twice in memory.
///
/// State is one storage a (device, FQN), whatever the methods; immutable storages follow their key.
class CudaWeights {
 public:
  /// All arguments must outlive this object.
  CudaWeights(Writer& writer, NamedData& data, BlobPool& blobs, const ImportOptions& options,
              ImportReport& report)
      : writer_(writer), data_(data), blobs_(blobs), options_(options), report_(report) {}

  /// One payload of a method as a library and its weights. Errors: `not_found` for keys without data;
  /// `foreign_input` where manifest and data disagree; `conflict` where methods do.
  Result<void> add(const ExecutorchMethod& method, MethodId id, const CudaPayload& payload);

 private:
  struct Weight;

  Result<LibraryId> add_library(const ExecutorchMethod& method, MethodId id,
                                const std::vector<CudaVariant>& variants);
  Result<void> add_keys(const ExecutorchMethod& method, MethodId id, const CudaKeyList& keys);
  Result<void> add_manifest(const ExecutorchMethod& method, MethodId id, const CudaManifest& manifest);
  Result<void> add_entry(Weight& weight, MethodId method);
  Result<TensorSpec> describe(const Weight& weight) const;
  Result<StorageId> storage_of(Weight& weight);
  Result<StorageId> new_storage(const Weight& weight, const NamedBytes* bytes);
  Result<void> check_bytes(const Weight& weight) const;
  OwnerSpec owner_of(const Weight& weight, const TensorSpec& tensor, MethodId method) const;
  [[nodiscard]] bool is_state(const ExecutorchMethod& method, const CudaEntry& entry) const;

  using DeviceName = std::pair<CudaDevice, std::string>;
  /// A storage that exists, and what it was made from.
  struct Made {
    StorageId id{};
    std::string storage_key;
    std::uint64_t bytes = 0;
  };

  struct First {
    TensorSpec tensor;
    CudaDevice device;
  };

  Writer& writer_;
  NamedData& data_;
  BlobPool& blobs_;
  const ImportOptions& options_;
  ImportReport& report_;
  std::map<DeviceName, Made> state_;           ///< by device and FQN
  std::map<DeviceName, Made> shared_;          ///< by device and storage key
  std::map<std::string, First> first_;         ///< the model's tensor of an FQN
  std::map<std::string, unsigned> libraries_;  ///< how many each method name has
};

}  // namespace ptd::foreign
