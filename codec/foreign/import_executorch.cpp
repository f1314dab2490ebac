// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// ExecuTorch's programs, manifests and FlatTensor files, together, into a Writer.
#include <nlohmann/json.hpp>

#include <algorithm>

#include "foreign/cuda_weights.hpp"
#include "foreign/executorch_keys.hpp"
#include "foreign/import_sinks.hpp"
#include "foreign/json_events.hpp"
#include "foreign/named_tensors.hpp"

namespace ptd::foreign {
namespace {

namespace fs = std::filesystem;

// What any program writes to is state in all of them.
std::set<std::string> mutable_names_of(const ExecutorchInputs& inputs) {
  std::set<std::string> names;
  for (const auto& method : inputs.methods) {
    for (const auto& tensor : method.external)
      if (tensor.is_mutable) names.insert(tensor.name);
    if (method.mutable_fqns) names.insert(method.mutable_fqns->begin(), method.mutable_fqns->end());
  }
  return names;
}

// One value as it is, several as a list.
nlohmann::json json_of(const std::vector<ProgramConstant>& values) {
  auto list = nlohmann::json::array();
  for (const auto& value : values) std::visit([&](const auto& held) { list.push_back(held); }, value);
  return list.size() == 1 ? list[0] : list;
}

class Import {
 public:
  Import(Writer& writer, ExecutorchInputs& inputs, const ImportOptions& options, ImportReport& report)
      : writer_(writer),
        inputs_(inputs),
        options_(options),
        report_(report),
        mutable_names_(mutable_names_of(inputs)),
        blobs_(writer),
        tensors_(writer, options, report, mutable_names_),
        weights_(writer, inputs.data, blobs_, options, report) {}

  Result<void> run() {
    for (const auto& method : inputs_.methods) PTD_TRY(add_method(method));
    PTD_TRY(add_rest());
    for (const auto& program : inputs_.programs) PTD_TRY(add_program(program));
    return {};
  }

 private:
  Result<void> add_method(const ExecutorchMethod& method) {
    PTD_LET(id, writer_.add_method(method.name));
    for (const auto& payload : method.payloads) PTD_TRY(weights_.add(method, id, payload));
    for (const auto& tensor : method.external) PTD_TRY(add_external(method, id, tensor.name));
    if (method.whole_file) PTD_TRY(add_whole(method, id));
    note_rest(method);
    return {};
  }

  Result<void> add_external(const ExecutorchMethod& method, MethodId id, const std::string& name) {
    const auto found = inputs_.data.find(name);
    if (found.empty())
      return fail_on(
          ErrorCode::not_found, "", name,
          "method " + quote(method.name) + " of " + quote(method.origin) +
              " uses this tensor, and none of the files has it; give the .ptd file that ExecuTorch "
              "exported with it, with --data");
    for (auto* entry : found) PTD_TRY(bind(id, *entry));
    return {};
  }

  Result<void> add_whole(const ExecutorchMethod& method, MethodId id) {
    for (auto& entry : inputs_.data.of_file(*method.whole_file)) PTD_TRY(bind(id, entry));
    return {};
  }

  // As a tensor where the file says what it is, else as a blob.
  Result<void> bind(MethodId id, NamedBytes& entry) {
    entry.is_used = true;
    if (!entry.layout) {
      PTD_LET(blob, add_blob(entry));
      return writer_.bind(id, blob);
    }
    PTD_LET(tensor, tensors_.add(entry, owner_in(options_, id, entry.key)));
    return writer_.bind(id, tensor);
  }

  Result<BlobId> add_blob(const NamedBytes& entry) {
    ++blob_count_;
    std::vector<PairSpec> metadata;
    if (entry.in_program) metadata.push_back({std::string(in_program), "true", ValueKind::text});
    return blobs_.add({entry.key, entry.content, 0, "", std::move(metadata)}, entry.origin);
  }

  void note_rest(const ExecutorchMethod& method) {
    if (method.inner_constants > 0)
      report_.notes.push_back(
          "method " + quote(method.name) + ": " + std::to_string(method.inner_constants) +
          " constants stay inside the program; to have them here, export with external constants");
    for (const auto& backend : method.other_backends)
      report_.notes.push_back("method " + quote(method.name) + ": what " + quote(backend) +
                              " has compiled stays inside the program");
  }

  // Data that no method refers to is carried over all the same.
  Result<void> add_rest() {
    std::uint64_t tensors = 0;
    for (auto& entry : inputs_.data.all()) {
      if (entry.is_used) continue;
      if (entry.layout) {
        PTD_TRY(tensors_.add(entry, OwnerSpec::model()));
        ++tensors;
      } else {
        PTD_TRY(add_blob(entry));
      }
    }
    if (tensors > 0) report_.notes.push_back(std::to_string(tensors) + " tensors belong to no method");
    if (blob_count_ > 0)
      report_.notes.push_back(
          std::to_string(blob_count_) +
          " opaque entries became blobs; if they are weights of the CUDA backend, give the .pte "
          "program or the manifests that name them as well");
    return {};
  }

  Result<void> add_program(const ExecutorchProgram& program) {
    PTD_TRY(add_constants(program));
    if (options_.keep_program) return keep(program);
    report_.notes.push_back("the program " + quote(program.origin) +
                            " itself is not in the file; --keep-program stores it as a blob");
    return {};
  }

  Result<void> add_constants(const ExecutorchProgram& program) {
    if (program.constants.empty()) return {};
    auto json = nlohmann::json::object();
    for (const auto& [name, values] : program.constants) json[name] = json_of(values);
    PairSpec pair{std::string(constant_methods),
                  json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace), ValueKind::json};
    if (auto added = writer_.add_metadata(pair); added || added.error().code != ErrorCode::duplicate)
      return added;
    pair.key.insert(0, program.origin + ":");
    return writer_.add_metadata(std::move(pair));
  }

  Result<void> keep(const ExecutorchProgram& program) {
    const auto name = fs::path(program.origin).filename().string();
    PTD_LET(blob, blobs_.add({name, program.file, 0, std::string(program_media_type), {}}, program.origin));
    for (const auto& method : program.methods) {
      PTD_LET(id, writer_.add_method(method));
      PTD_TRY(writer_.bind(id, blob));
    }
    return {};
  }

  Writer& writer_;
  ExecutorchInputs& inputs_;
  const ImportOptions& options_;
  ImportReport& report_;
  std::set<std::string> mutable_names_;
  BlobPool blobs_;
  NamedTensors tensors_;
  CudaWeights weights_;
  std::uint64_t blob_count_ = 0;
};

}  // namespace

Result<void> import_executorch(Writer& writer, ExecutorchInputs& inputs, const ImportOptions& options,
                               ImportReport& report) {
  return Import(writer, inputs, options, report).run();
}

}  // namespace ptd::foreign
