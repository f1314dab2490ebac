// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// The verbs of the `ptd` command.
#pragma once

#include <string>
#include <vector>

#include "cli/terminal.hpp"

namespace ptd::cli {

struct ConvertCommand {
  std::vector<std::string> inputs;  ///< [METHOD=]FILE
  std::string output;
  std::string method;             ///< to safetensors: what this method binds
  std::vector<std::string> data;  ///< FlatTensor files that the inputs refer to
  std::string to;                 ///< what to write; empty: as the output's ending says
  std::vector<std::string> mutable_globs;
  std::vector<std::string> immutable_globs;
  std::vector<std::string> own_globs;
  bool keep_program = false;
  bool compress = false;
  bool allow_shared = false;
  bool allow_partial = false;
  bool metadata_as_json = false;
  unsigned threads = 0;
};

struct InfoCommand {
  std::string file;
  bool json = false;
  bool all = false;  ///< every tensor, not just the first ones
};

struct VerifyCommand {
  std::vector<std::string> files;
  unsigned threads = 0;
};

struct DetectCommand {
  std::vector<std::string> files;  ///< "-" is standard input
  bool json = false;
};

struct DiffCommand {
  std::string before, after;
  std::string method;  ///< only what this method binds
  bool json = false;
  bool quiet = false;  ///< the exit code only
  bool stat = false;   ///< the summary only
};

struct ExtractCommand {
  std::string file;
  std::string name;     ///< of a tensor or blob
  std::string output;   ///< "-" is standard output
  std::string method;   ///< the tensor that this method means by the name
  std::string library;  ///< the tensor that this library owns
  bool model = false;   ///< the tensor that the model itself owns
  bool blob = false;
  unsigned threads = 0;
};

struct MergeCommand {
  std::vector<std::string> inputs;
  std::string output;
  bool compress = false;
  unsigned threads = 0;
};

Exit convert(const ConvertCommand& command);
Exit info(const InfoCommand& command);
Exit verify(const VerifyCommand& command);
Exit detect(const DetectCommand& command);
Exit extract(const ExtractCommand& command);
Exit merge(const MergeCommand& command);

/// Has exit codes of its own, those of diff(1): `good` for equal files, `refused` for different ones, `usage`
/// for every trouble.
Exit diff(const DiffCommand& command);

/// The names that `detect` gives, a line each, for its help.
std::string detect_kinds();

}  // namespace ptd::cli
