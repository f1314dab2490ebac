// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// The ExecuTorch files of one conversion, read: which methods there are, what their backend has stored for
// them, and the named data that they refer to.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "foreign/cuda_payload.hpp"
#include "foreign/executorch_data.hpp"
#include "foreign/executorch_program.hpp"

namespace ptd::foreign {

/// What the CUDA backend has stored for one part of a method.
using CudaPayload = std::variant<CudaManifest, CudaKeyList>;

/// One method, wherever it was found.
struct ExecutorchMethod {
  std::string name;
  std::string origin;                       ///< the file that told of it, for messages
  std::vector<CudaPayload> payloads;        ///< one a compiled part
  std::vector<ProgramTensorInfo> external;  ///< tensors in named data that it binds under their names
  std::optional<std::uint32_t> whole_file;  ///< it binds everything in this file of named data
  std::optional<std::set<std::string>> mutable_fqns;  ///< all of its state, where its program lists it
  std::uint64_t inner_constants = 0;                  ///< tensors whose bytes stay in the program
  std::vector<std::string> other_backends;            ///< whose payloads are not understood
};

/// A program that was read, for what is kept of it besides its methods.
struct ExecutorchProgram {
  std::string origin;
  SourcePtr file;
  std::map<std::string, std::vector<ProgramConstant>> constants;
  std::vector<std::string> methods;
};

/// What the files say together.
struct ExecutorchInputs {
  std::vector<ExecutorchMethod> methods;
  std::vector<ExecutorchProgram> programs;
  NamedData data;

  [[nodiscard]] bool is_empty() const noexcept { return methods.empty(); }

  /// A .pte file; `method` renames its only method, or is empty.
  Result<void> add_program(const std::filesystem::path& path, const std::string& method);

  /// A CUDA payload in a file of its own: a manifest or a list of two keys.
  Result<void> add_payload(const std::filesystem::path& path, const std::string& method);

  /// A FlatTensor file that methods refer to.
  Result<void> add_data(const std::filesystem::path& path);

  /// A FlatTensor file that is a method by itself.
  Result<void> add_whole(const std::filesystem::path& path, const std::string& method);
};

/// Reads a payload. An empty one (the oldest form) means the keys that the method's name gives. Errors: those
/// of the parsers in cuda_payload.hpp.
Result<CudaPayload> parse_cuda_payload(Bytes payload, const std::string& method, NamedData& data);

}  // namespace ptd::foreign
