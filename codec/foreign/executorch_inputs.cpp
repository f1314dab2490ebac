// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "foreign/executorch_inputs.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

#include "foreign/import_sinks.hpp"

namespace ptd::foreign {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view cuda_backend = "CudaBackend";
constexpr std::string_view mutable_list = "get_mutable_buffer_metadata";
constexpr std::uint64_t most_payload_bytes = std::uint64_t{1} << 30;

Result<std::vector<std::byte>> read_range(const ByteSource& file, FileRange range) {
  if (range.size > most_payload_bytes)
    return fail(ErrorCode::foreign_input, "", "a CUDA payload of more than 1 GiB is none");
  std::vector<std::byte> bytes(static_cast<std::size_t>(range.size));
  PTD_TRY(file.read(range.offset, bytes));
  return bytes;
}

Failure bad_list(const std::string& problem) {
  return fail_on(
      ErrorCode::foreign_input, "", mutable_list,
      "the program's list of mutable buffers " + problem + "; say with --mutable which tensors are state");
}

// {"version": 1, "mutable_buffers": ["<FQN>", ...]}
Result<std::set<std::string>> parse_mutable_list(const std::string& text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) return bad_list("is not a JSON object");
  const auto version = json.find("version"), list = json.find("mutable_buffers");
  if (version == json.end() || *version != 1) return bad_list("is not of version 1");
  if (list == json.end() || !list->is_array()) return bad_list("has no array \"mutable_buffers\"");
  std::set<std::string> names;
  for (const auto& name : *list) {
    if (!name.is_string()) return bad_list("has an entry that is not a string");
    names.insert(name.get<std::string>());
  }
  return names;
}

Result<std::optional<std::set<std::string>>> mutable_fqns_of(const ProgramInfo& program) {
  const auto found = program.constants.find(std::string(mutable_list));
  if (found == program.constants.end()) return std::nullopt;
  const auto* const text =
      found->second.size() == 1 ? std::get_if<std::string>(&found->second.front()) : nullptr;
  if (text == nullptr) return bad_list("is not a string");
  PTD_LET(names, parse_mutable_list(*text));
  return names;
}

struct ReadProgram {
  SourcePtr file;
  ProgramInfo info;
};

Result<ReadProgram> read_program(const fs::path& path) {
  PTD_LET(opened, open_file(path));
  auto message = read_message(*opened.source, program_header_bytes, program_message_bytes);
  if (!message) return in_file(std::move(message).error(), path);
  auto info = parse_program(*message, opened.source->size());
  if (!info) return in_file(std::move(info).error(), path);
  return ReadProgram{opened.source, *std::move(info)};
}

Result<void> read_payloads(const ReadProgram& program, const ProgramMethodInfo& from, NamedData& data,
                           ExecutorchMethod& method) {
  for (const auto& delegate : from.delegates) {
    if (delegate.backend != cuda_backend) {
      method.other_backends.push_back(delegate.backend);
      continue;
    }
    PTD_LET(bytes, read_range(*program.file, delegate.payload));
    PTD_LET(payload, parse_cuda_payload(bytes, from.name, data));
    method.payloads.push_back(std::move(payload));
  }
  return {};
}

// The first of two spellings that there is data for.
std::string blob_key(const std::string& method, const std::string& suffix, NamedData& data) {
  const auto prefixed = method + "_" + suffix;
  return data.find(prefixed).empty() && !data.find(suffix).empty() ? suffix : prefixed;
}

}  // namespace

Result<CudaPayload> parse_cuda_payload(Bytes payload, const std::string& method, NamedData& data) {
  if (payload.empty())
    return CudaKeyList{blob_key(method, "so_blob", data), blob_key(method, "weights_blob", data)};
  constexpr std::string_view manifest_start = "ETCUDA";
  const std::string_view text(reinterpret_cast<const char*>(payload.data()), payload.size());
  if (!text.starts_with(manifest_start)) {
    PTD_LET(keys, parse_cuda_key_list(payload));
    return keys;
  }
  PTD_LET(manifest, parse_cuda_manifest(payload));
  return manifest;
}

Result<void> ExecutorchInputs::add_program(const fs::path& path, const std::string& method) {
  PTD_LET(program, read_program(path));
  if (!method.empty() && program.info.methods.size() != 1)
    return fail_on(ErrorCode::unsupported_input, "", path.string(),
                   "it has " + std::to_string(program.info.methods.size()) +
                       " methods, so it cannot become the method \"" + escaped(method) +
                       "\"; leave METHOD= out");
  PTD_TRY(data.add_program(program.file, path.string(), program.info));
  auto mutable_fqns = mutable_fqns_of(program.info);
  if (!mutable_fqns) return in_file(std::move(mutable_fqns).error(), path);
  programs.push_back({path.string(), program.file, program.info.constants, {}});
  for (auto& from : program.info.methods) {
    ExecutorchMethod made;
    made.name = method.empty() ? from.name : method;
    made.origin = path.string();
    made.mutable_fqns = *mutable_fqns;
    made.inner_constants = from.inner_constants;
    if (auto read = read_payloads(program, from, data, made); !read)
      return in_file(std::move(read).error(), path);
    made.external = std::move(from.external);
    programs.back().methods.push_back(made.name);
    methods.push_back(std::move(made));
  }
  return {};
}

Result<void> ExecutorchInputs::add_payload(const fs::path& path, const std::string& method) {
  PTD_LET(opened, open_file(path));
  PTD_LET(bytes, read_range(*opened.source, {0, opened.source->size()}));
  auto payload = parse_cuda_payload(bytes, method, data);
  if (!payload) return in_file(std::move(payload).error(), path);
  ExecutorchMethod made;
  made.name = method;
  made.origin = path.string();
  made.payloads.push_back(*std::move(payload));
  methods.push_back(std::move(made));
  return {};
}

Result<void> ExecutorchInputs::add_data(const fs::path& path) {
  PTD_TRY(data.add_flat_tensor(path));
  return {};
}

Result<void> ExecutorchInputs::add_whole(const fs::path& path, const std::string& method) {
  PTD_LET(file, data.add_flat_tensor(path));
  ExecutorchMethod made;
  made.name = method;
  made.origin = path.string();
  made.whole_file = file;
  methods.push_back(std::move(made));
  return {};
}

}  // namespace ptd::foreign
