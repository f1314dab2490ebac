// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// What ExecuTorch's CUDA backend has stored for a method (docs/executorch.md, "CUDA payloads"): bytes to
// values. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <ptd/bytes.hpp>
#include <ptd/error.hpp>
#include <string>
#include <vector>

namespace ptd::foreign {

/// One compiled form of the method's code.
struct CudaVariant {
  std::uint32_t sm = 0;   ///< compute capability x 10; 0: not said
  std::uint32_t ptx = 0;  ///< of the PTX that it carries; 0: none
  bool is_fallback = false;
  std::string library_key;  ///< its code, in named data
};

enum class CudaDevice : std::uint8_t { cpu = 0, cuda = 1 };

/// One weight: a strided view into a named storage.
struct CudaEntry {
  std::string fqn;
  std::string storage_key;  ///< the storage's bytes, in named data
  std::uint64_t storage_bytes = 0;
  std::int32_t scalar_type = 0;  ///< ExecuTorch's number (scalar_type.hpp)
  CudaDevice device = CudaDevice::cuda;
  std::uint64_t storage_offset = 0;  ///< elements
  std::vector<std::uint64_t> sizes;
  std::vector<std::uint64_t> strides;
  std::optional<std::uint32_t> group;  ///< digits 1 and 2: entries of one group are one allocation
  std::optional<bool> is_shareable;    ///< digits 1 and 2: false for state
};

/// `ETCUDAFQN<digit>`.
struct CudaManifest {
  char digit = '0';
  std::vector<CudaVariant> variants;  ///< at least one
  std::vector<CudaEntry> entries;
};

/// Two keys in named data, from before weights had names: code, and all constants back to back.
struct CudaKeyList {
  std::string library_key;
  std::string weights_key;
};

/// Reads a manifest of any digit from 0 to 5. Every count is checked against the bytes that are there.
/// Errors: `foreign_input` with the byte offset; `unsupported_input` for another digit.
Result<CudaManifest> parse_cuda_manifest(Bytes payload);

/// Reads `<library key>\n<weights key>`. Errors: `foreign_input`.
Result<CudaKeyList> parse_cuda_key_list(Bytes payload);

/// The FQN prefix of caches that the runtime owns: such an entry has no bytes anywhere.
inline constexpr std::string_view offgraph_cache_prefix = "__et_offgraph_kv_";

/// True if the entry is a constant that the compiler numbered within one library: its storage key names the
/// library (digits 0, 3, 4, 5); where storage keys are digests (1, 2) the compiler's own prefix decides.
bool is_library_local(const CudaEntry& entry);

}  // namespace ptd::foreign
