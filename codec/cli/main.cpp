// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// The `ptd` command: words to structs, and which verb.
#include <CLI/CLI.hpp>
#include <exception>
#include <new>
#include <ptd/version.hpp>
#include <string_view>

#include "cli/commands.hpp"

namespace {

using ptd::cli::ConvertCommand;
using ptd::cli::DetectCommand;
using ptd::cli::DiffCommand;
using ptd::cli::Exit;
using ptd::cli::ExtractCommand;
using ptd::cli::InfoCommand;
using ptd::cli::MergeCommand;
using ptd::cli::VerifyCommand;

constexpr const char* about =
    "PTD: weights files that store each tensor once, whatever the number of methods that use it.\n";

constexpr const char* exit_codes =
    "Exit codes: 0 good, 1 a file was refused, 2 wrong usage, 3 the machine failed (I/O, space, "
    "permission). `ptd diff` has its own.\n";

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

constexpr const char* detect_examples =
    "One line a file: its name, its kind, a description. The first 4096 bytes decide, never the name.\n"
    "Exit codes: 0 every file was named, 1 one is of no kind that ptd knows (it is called unknown),\n"
    "3 one could not be read.\n"
    "Examples:\n"
    "  ptd detect *.ptd\n"
    "  curl -s https://example.com/model | ptd detect -\n"
    "  ptd detect --json model.ptd | jq -r .kind\n";

constexpr const char* diff_examples =
    "One line a difference: - only in the first, + only in the second, ~ changed, > renamed (equal bytes\n"
    "and view under another name or owner). Contents are compared by digest, so files that differ only in\n"
    "compression or layout are the same. The content of a tensor is that of its whole storage.\n"
    "Exit codes are those of diff(1), not those of the other verbs: 0 the same, 1 different, 2 trouble.\n"
    "Examples:\n"
    "  ptd diff old.ptd new.ptd\n"
    "  ptd diff -q a.ptd b.ptd && echo the same model\n"
    "  ptd diff old.ptd new.ptd --method decode --json | jq '.differences[] | .name'\n";

constexpr const char* extract_examples =
    "Types that NumPy lacks (bfloat16, float8) become its void type in a .npy file, as numpy.save writes\n"
    "them; `numpy.load(...).view(ml_dtypes.bfloat16)` makes numbers of them. Types of less than a byte go\n"
    "to .bin files only, packed. Every byte is checked on its way.\n"
    "Examples:\n"
    "  ptd extract model.ptd layers.0.weight -o weight.npy\n"
    "  ptd extract model.ptd layers.0.weight -o weight.bin     # the elements alone, row-major\n"
    "  ptd extract model.ptd tokenizer.json -o - | jq .\n"
    "  ptd extract model.ptd _tensor_constant0 --library decode_kernels -o c.npy\n";

constexpr const char* merge_examples =
    "What has one name in several files must be the same in all of them. Every conflict is named, and\n"
    "nothing is written then. Methods of one name bind what they bind in any of the files.\n"
    "Examples:\n"
    "  ptd merge prefill.ptd decode.ptd -o model.ptd\n"
    "  ptd merge part-*.ptd -o model.ptd --compress\n";

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

void add_detect(CLI::App& app, DetectCommand& command) {
  auto& verb = *app.add_subcommand("detect", "Say what files are, by their first bytes");
  verb.footer(std::string(detect_examples) + ptd::cli::detect_kinds());
  verb.add_option("FILE", command.files, "Files of any kind, pipes, or - for standard input")->required();
  verb.add_flag("--json", command.json,
                "As JSON, one object a line: file, kind, detail, description, advice");
}

void add_diff(CLI::App& app, DiffCommand& command) {
  auto& verb =
      *app.add_subcommand("diff", "Show what differs between two .ptd files; reads their manifests only");
  verb.footer(diff_examples);
  verb.add_option("BEFORE", command.before, "A .ptd file")->required();
  verb.add_option("AFTER", command.after, "A .ptd file")->required();
  verb.add_option("--method", command.method, "Compare what this method binds, and nothing else");
  verb.add_flag("--json", command.json, "As JSON");
  verb.add_flag("-q,--quiet", command.quiet, "Print nothing: the exit code says it");
  verb.add_flag("--stat", command.stat, "Print the summary only");
}

void add_extract(CLI::App& app, ExtractCommand& command) {
  auto& verb = *app.add_subcommand("extract", "Write one tensor or blob to a file");
  verb.footer(extract_examples);
  verb.add_option("FILE", command.file, "A .ptd file")->required();
  verb.add_option("NAME", command.name, "Of a tensor (its fully qualified name) or of a blob")->required();
  verb.add_option("-o,--output", command.output,
                  "A tensor: *.npy for NumPy, *.bin for its elements, row-major; a blob: any name. - for "
                  "standard output, as *.bin")
      ->required();
  auto* method = verb.add_option("--method", command.method, "The tensor that this method means by NAME");
  auto* library = verb.add_option("--library", command.library, "The tensor NAME that this library owns");
  auto* model = verb.add_flag("--model", command.model, "The tensor NAME that the model itself owns");
  auto* blob = verb.add_flag("--blob", command.blob, "The blob NAME");
  method->excludes(library)->excludes(model)->excludes(blob);
  library->excludes(model)->excludes(blob);
  model->excludes(blob);
  add_threads(verb, command.threads);
}

void add_merge(CLI::App& app, MergeCommand& command) {
  auto& verb = *app.add_subcommand("merge", "Join several .ptd files into one");
  verb.footer(merge_examples);
  verb.add_option("INPUT", command.inputs, ".ptd files")->required();
  verb.add_option("-o,--output", command.output, "The file to write, *.ptd; it may be an input")->required();
  verb.add_flag("--compress", command.compress, "Store byte planes as zstd frames where that is smaller");
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
  DetectCommand detect;
  DiffCommand diff;
  ExtractCommand extract;
  MergeCommand merge;
  app.require_subcommand(1);
  app.set_version_flag("--version", version_text());
  app.footer(std::string(exit_codes) + "`ptd VERB --help` shows a verb's options and examples.");
  add_convert(app, convert);
  add_info(app, info);
  add_verify(app, verify);
  add_detect(app, detect);
  add_diff(app, diff);
  add_extract(app, extract);
  add_merge(app, merge);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? Exit::good : Exit::usage;
  }
  if (app.got_subcommand("convert")) return ptd::cli::convert(convert);
  if (app.got_subcommand("info")) return ptd::cli::info(info);
  if (app.got_subcommand("detect")) return ptd::cli::detect(detect);
  if (app.got_subcommand("diff")) return ptd::cli::diff(diff);
  if (app.got_subcommand("extract")) return ptd::cli::extract(extract);
  if (app.got_subcommand("merge")) return ptd::cli::merge(merge);
  return ptd::cli::verify(verify);
}

// diff(1) knows one kind of trouble, and the machine's is of it.
Exit in_codes_of_verb(Exit exit, int argc, char** argv) {
  const bool is_diff = argc > 1 && argv[1] == std::string_view("diff");
  return is_diff && exit == Exit::environment ? Exit::usage : exit;
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
  return static_cast<int>(in_codes_of_verb(exit, argc, argv));
}
