// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// The `ptd` command: words to structs, and which verb.
#include <CLI/CLI.hpp>
#include <exception>
#include <new>
#include <ptd/version.hpp>

#include "cli/commands.hpp"

namespace {

using ptd::cli::ConvertCommand;
using ptd::cli::Exit;
using ptd::cli::InfoCommand;
using ptd::cli::VerifyCommand;

constexpr const char* about =
    "PTD: weights files that store each tensor once, whatever the number of methods that use it.\n";

constexpr const char* exit_codes =
    "Exit codes: 0 good, 1 a file was refused, 2 wrong usage, 3 the machine failed (I/O, space, "
    "permission).\n";

constexpr const char* convert_examples =
    "Examples:\n"
    "  ptd convert model.safetensors -o model.ptd\n"
    "  ptd convert prefill=a.safetensors decode=b.safetensors -o model.ptd --compress\n"
    "  ptd convert model.safetensors.index.json -o model.ptd --mutable '*.kv_cache'\n"
    "  ptd convert model.pte --data weights.ptd -o model.ptd\n"
    "  ptd convert prefill=prefill.manifest decode=decode.manifest --data weights.ptd -o model.ptd\n"
    "  ptd convert model.ptd --to flat-tensor -o weights.ptd\n"
    "  ptd convert model.ptd -o model.ptd --compress\n"
    "  ptd convert model.ptd --method decode -o decode.safetensors\n"
    "  ptd convert model.gguf -o model.ptd\n"
    "  ptd convert model.ptd -o model.gguf\n";

constexpr const char* info_examples =
    "Examples:\n"
    "  ptd info model.ptd\n"
    "  ptd info model.ptd --json | jq '.tensors[] | select(.dtype == \"bfloat16\") | .name'\n";

constexpr const char* verify_examples =
    "Examples:\n"
    "  ptd verify model.ptd\n"
    "  ptd verify *.ptd && echo all good\n";

void add_threads(CLI::App& verb, unsigned& threads) {
  verb.add_option("--threads", threads, "Threads to use; 0 for one a core. The result does not depend on it")
      ->capture_default_str()
      ->check(CLI::Range(0, 1024));
}

void add_convert(CLI::App& app, ConvertCommand& command) {
  auto& verb =
      *app.add_subcommand("convert", "Convert other formats to PTD, PTD to PTD, or PTD to other formats");
  verb.footer(convert_examples);
  verb.add_option("INPUT", command.inputs,
                  "[METHOD=]FILE: a safetensors file, a sharded model's .index.json, a folder with either, a "
                  "GGUF file, an ExecuTorch .pte program, CUDA weight manifest or FlatTensor file, or a .ptd "
                  "file. Without METHOD= a file that names no methods becomes the method \"forward\"")
      ->required();
  verb.add_option("-o,--output", command.output,
                  "The file to write; *.ptd, *.safetensors or *.gguf decides what it is. It may be an input")
      ->required();
  verb.add_option("--to", command.to, "What to write, where the output's ending does not say it")
      ->check(CLI::IsMember({"ptd", "safetensors", "gguf", "flat-tensor"}));
  verb.add_option("--method", command.method, "From PTD to another format: only what this method binds");
  verb.add_flag("--compress", command.compress, "Store byte planes as zstd frames where that is smaller");
  verb.add_option("--mutable", command.mutable_globs,
                  "Tensors whose names match this pattern are state (KV caches); may be given again")
      ->allow_extra_args(false);
  verb.add_option(
          "--immutable", command.immutable_globs,
          "ExecuTorch: tensors whose names match this pattern are not state, though their manifest does not "
          "say so; --mutable wins; may be given again")
      ->allow_extra_args(false);
  verb.add_option(
          "--own", command.own_globs,
          "Tensors whose names match this pattern belong to their method, so that methods may give one name "
          "to different tensors; may be given again")
      ->allow_extra_args(false);
  verb.add_option(
          "--data", command.data,
          "ExecuTorch: a FlatTensor file with the weights that the inputs refer to; may be given again")
      ->allow_extra_args(false);
  verb.add_flag("--keep-program", command.keep_program,
                "ExecuTorch: store the .pte itself as a blob as well");
  verb.add_flag("--allow-shared", command.allow_shared,
                "safetensors: accept several names for one byte range, as tied tensors");
  verb.add_flag("--allow-partial", command.allow_partial,
                "safetensors, GGUF: accept a single shard of a sharded model");
  verb.add_flag("--metadata-as-json", command.metadata_as_json,
                "safetensors: keep metadata that is not a string as JSON text");
  add_threads(verb, command.threads);
}

void add_info(CLI::App& app, InfoCommand& command) {
  auto& verb = *app.add_subcommand("info", "Show what a .ptd file holds; reads the manifest only");
  verb.footer(info_examples);
  verb.add_option("FILE", command.file, "A .ptd file")->required();
  verb.add_flag("--json", command.json, "As JSON, with every tensor");
  verb.add_flag("--all", command.all, "List every tensor, not only the first 40");
}

void add_verify(CLI::App& app, VerifyCommand& command) {
  auto& verb = *app.add_subcommand(
      "verify", "Check every byte of .ptd files: structure, chunk hashes, content digests");
  verb.footer(verify_examples);
  verb.add_option("FILE", command.files, ".ptd files")->required();
  add_threads(verb, command.threads);
}

std::string version_text() {
  return std::string("ptd ") + ptd::library_version + ", PTD format " + ptd::format_version;
}

Exit run(int argc, char** argv) {
  CLI::App app(about, "ptd");
  ConvertCommand convert;
  InfoCommand info;
  VerifyCommand verify;
  app.require_subcommand(1);
  app.set_version_flag("--version", version_text());
  app.footer(std::string(exit_codes) + "`ptd VERB --help` shows a verb's options and examples.");
  add_convert(app, convert);
  add_info(app, info);
  add_verify(app, verify);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? Exit::good : Exit::usage;
  }
  if (app.got_subcommand("convert")) return ptd::cli::convert(convert);
  if (app.got_subcommand("info")) return ptd::cli::info(info);
  return ptd::cli::verify(verify);
}

}  // namespace

int main(int argc, char** argv) {
  Exit exit = Exit::environment;
  try {
    exit = ptd::cli::finish_output(run(argc, argv));
  } catch (const std::bad_alloc&) {
    ptd::cli::report({ptd::ErrorCode::no_memory, "", "not enough memory", "", {}});
  } catch (const std::exception& error) {
    ptd::cli::report({ptd::ErrorCode::internal, "", error.what(), "", {}});
  }
  return static_cast<int>(exit);
}
