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

Exit convert(const ConvertCommand& command);
Exit info(const InfoCommand& command);
Exit verify(const VerifyCommand& command);

}  // namespace ptd::cli
