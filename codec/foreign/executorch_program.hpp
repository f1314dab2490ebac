// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// ExecuTorch's program files, .pte (docs/executorch.md, "Programs"): which weights and which compiled code
// each method uses. A pure function from bytes.
#pragma once

#include <map>
#include <ptd/bytes.hpp>
#include <ptd/error.hpp>
#include <string>
#include <variant>
#include <vector>

#include "foreign/flat_message.hpp"

namespace ptd::foreign {

/// A part of a method that a backend has compiled.
struct ProgramDelegateInfo {
  std::string backend;  ///< for example "CudaBackend"
  FileRange payload;
};

/// A tensor whose bytes lie outside the program, under its name.
struct ProgramTensorInfo {
  std::string name;
  bool is_mutable = false;
};

/// A value that a constant method returns.
using ProgramConstant = std::variant<std::int64_t, bool, double, std::string>;

struct ProgramMethodInfo {
  std::string name;
  std::vector<ProgramDelegateInfo> delegates;
  std::vector<ProgramTensorInfo> external;  ///< ascending by name, each once; mutable if any use of it is
  std::uint64_t inner_constants = 0;        ///< tensors with initial bytes inside the program
};

struct ProgramInfo {
  std::vector<ProgramMethodInfo> methods;  ///< those that compute something
  std::map<std::string, std::vector<ProgramConstant>>
      constants;  ///< methods that only return values, by name
  std::vector<std::pair<std::string, FileRange>> named_data;
};

/// How many of a file's first bytes `program_message_bytes` needs (fewer if the file is shorter).
inline constexpr std::size_t program_header_bytes = 64;

/// How many of a file's first bytes `parse_program` needs. Errors: `foreign_input`, `unsupported_input`.
Result<std::uint64_t> program_message_bytes(Bytes first, std::uint64_t file_size);

/// Reads the program. Errors: `foreign_input`; `unsupported_input` for a later identifier.
Result<ProgramInfo> parse_program(Bytes message, std::uint64_t file_size);

}  // namespace ptd::foreign
