// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "cli/commands.hpp"
#include "cli/find_object.hpp"
#include "cli/model_compare.hpp"
#include "file/atomic_file.hpp"
#include "foreign/copy_out.hpp"
#include "foreign/import.hpp"
#include "foreign/npy.hpp"

namespace ptd::cli {
namespace {

bool is_to_standard_output(const ExtractCommand& command) { return command.output == "-"; }

std::string ending_of(const std::string& path) { return std::filesystem::path(path).extension().string(); }

// What is to be written: a header, then the bytes of a tensor or blob.
struct Extraction {
  FoundObject object;
  std::string header;
  std::uint64_t bytes = 0;  ///< behind the header
  std::string description;
};

Result<Extraction> plan_blob(const Model& model, FoundObject found) {
  const auto bytes = model.blobs[found.blob].size;
  return Extraction{found, "", bytes, fmt::format("a blob of {} bytes", grouped(bytes))};
}

Result<void> check_stored(const Model& model, const Tensor& tensor) {
  if (model.storages[tensor.storage].origin == Origin::stored) return {};
  return fail_on(
      ErrorCode::unsupported_input, "", tensor.name,
      "its storage is external: its bytes are not in the file, whoever loads the model supplies them");
}

Result<std::string> header_for(const Tensor& tensor, const std::string& output) {
  const auto ending = ending_of(output);
  if (output == "-" || ending == ".bin") return std::string();
  if (ending == ".npy") return foreign::npy_header(tensor);
  return fail_on(ErrorCode::argument, "", output,
                 "a tensor is written as *.npy or *.bin, or to \"-\"; that decides what is written");
}

// What the target cannot say and a person may need to know.
void add_notes(const Tensor& tensor, bool has_header) {
  const auto name = dtype_name(tensor.dtype);
  if (has_header && foreign::is_npy_void(tensor.dtype))
    remark(
        fmt::format("NumPy has no {0}: the array is of void elements; with the package ml_dtypes, "
                    "`numpy.load(...).view(ml_dtypes.{0})` makes numbers of them",
                    name));
  if (!tensor.scheme.empty())
    remark(fmt::format("these are bytes packed as \"{}\", which stand for sizes {}", tensor.scheme,
                       list_text(tensor.logical_sizes)));
  if (!is_contiguous(tensor)) remark("the tensor has strides; it is written row-major");
}

Result<Extraction> plan_tensor(const Model& model, FoundObject found, const std::string& output) {
  const Tensor& tensor = model.tensors[found.tensor];
  PTD_TRY(check_stored(model, tensor));
  PTD_LET(header, header_for(tensor, output));
  add_notes(tensor, !header.empty());
  const auto bytes = logical_bytes(tensor);
  return Extraction{
      found, header, bytes,
      fmt::format("{} {}, {} bytes", dtype_name(tensor.dtype), list_text(tensor.sizes), grouped(bytes))};
}

Result<Extraction> plan(const Reader& file, const ExtractCommand& command) {
  PTD_LET(found, find_object(file.model(), command.name,
                             {command.method, command.library, command.model, command.blob}));
  return found.tensor == no_index ? plan_blob(file.model(), found)
                                  : plan_tensor(file.model(), found, command.output);
}

Result<void> copy_out(const Reader& file, const Extraction& what, unsigned threads,
                      const foreign::ByteSink& sink) {
  ProgressLine line("extracting");
  const auto progress = line.callback();
  std::uint64_t done = 0;
  const auto counting = [&](Bytes bytes) -> Result<void> {
    PTD_TRY(sink(bytes));
    done += bytes.size();
    if (progress) progress(done, what.bytes);
    return {};
  };
  return what.object.tensor == no_index
             ? foreign::copy_blob_out(file, what.object.blob, threads, counting)
             : foreign::copy_tensor_out(file, what.object.tensor, threads, counting);
}

Result<void> write_file(const Reader& file, const Extraction& what, const ExtractCommand& command) {
  PTD_TRY(foreign::check_room(command.output, what.bytes));
  PTD_LET(out, file::AtomicFile::create(command.output));
  PTD_TRY(out.write(0, std::as_bytes(std::span(what.header))));
  std::uint64_t end = what.header.size();
  const auto append = [&](Bytes bytes) {
    const auto at = end;
    end += bytes.size();
    return out.write(at, bytes);
  };
  PTD_TRY(copy_out(file, what, command.threads, append));
  return out.commit(end);
}

// Stops at once where nobody listens any more; finish_output says so.
Result<void> write_standard_output(const Reader& file, const Extraction& what, unsigned threads) {
  if (::isatty(STDOUT_FILENO) == 1)
    return fail(ErrorCode::argument, "", "standard output is a terminal; send the bytes to a file or a pipe");
  return copy_out(file, what, threads, [](Bytes bytes) -> Result<void> {
    print({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    if (std::ferror(stdout) == 0) return {};
    return fail(ErrorCode::io, "", "standard output could not be written");
  });
}

Exit extract_to_standard_output(const Reader& file, const Extraction& what, unsigned threads) {
  const auto written = write_standard_output(file, what, threads);
  if (written) return Exit::good;
  return std::ferror(stdout) != 0 ? Exit::environment : report(written.error());
}

Exit extract_to_file(const Reader& file, const Extraction& what, const ExtractCommand& command) {
  if (const auto written = write_file(file, what, command); !written) return report(written.error());
  print(fmt::format("{}: \"{}\", {}\n", escaped(command.output), escaped(command.name), what.description));
  return Exit::good;
}

}  // namespace

Exit extract(const ExtractCommand& command) {
  const auto file = foreign::open_ptd(command.file);
  if (!file) return report(file.error());
  const auto what = plan(*file, command);
  if (!what) return report(what.error());
  return is_to_standard_output(command) ? extract_to_standard_output(*file, *what, command.threads)
                                        : extract_to_file(*file, *what, command);
}

}  // namespace ptd::cli
