// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/commands.hpp"
#include "cli/facts.hpp"
#include "cli/info_json.hpp"
#include "foreign/import.hpp"

namespace ptd::cli {
namespace {

constexpr std::size_t first_tensors = 40;

std::string size_line(std::string_view what, std::uint64_t bytes, std::string_view remark = "") {
  const auto gap = remark.empty() ? "" : "  ";
  return fmt::format("  {:<22}{:>9}{}{}\n", what, human_size(bytes), gap, remark);
}

std::string summary(const Reader& file, const Facts& facts) {
  const Model& model = file.model();
  std::string out =
      fmt::format("  {:<22}1.{}\n  {:<22}{}\n", "format", model.minor, "model id", to_hex(file.model_id()));
  out += fmt::format("  {:<22}{} in {}, {}, {}, {}\n", "holds", counted(model.tensors.size(), "tensor"),
                     counted(model.storages.size(), "storage"), counted(model.methods.size(), "method"),
                     counted(model.libraries.size(), "library", "libraries"),
                     counted(model.blobs.size(), "blob"));
  out += size_line("method by method", facts.alone_bytes,
                   "what storing each method's tensors one by one would take");
  out += size_line("saved by sharing", facts.shared_bytes);
  out += size_line("saved by zeros", facts.zero_bytes, "all-zero storages take no room");
  out += size_line("saved by compression", facts.raw_bytes - facts.stored_bytes);
  out += size_line("file", file.file_size(), grouped(file.file_size()) + " bytes");
  if (facts.unreferenced_bytes > 0)
    out += size_line("unreferenced", facts.unreferenced_bytes, "of storages, which no tensor views");
  if (facts.external_bytes > 0)
    out += size_line("external", facts.external_bytes, "supplied by whoever loads the model");
  return out;
}

std::string methods_table(const Model& model, const Facts& facts) {
  Table table({"METHOD", "TENSORS", "BYTES", "OF THEM SHARED", "LIBRARIES", "BLOBS"}, "lrrrrr");
  for (std::size_t i = 0; i < model.methods.size(); ++i) {
    const auto& method = model.methods[i];
    table.add({escaped(method.name), grouped(method.tensors.size()), human_size(facts.methods[i].bytes),
               human_size(facts.methods[i].shared_bytes), std::to_string(method.libraries.size()),
               std::to_string(method.blobs.size())});
  }
  return table.render();
}

std::string owner_text(const Model& model, const Owner& owner) {
  switch (owner.kind) {
    case OwnerKind::library:
      return "library " + escaped(model.libraries[owner.index].name);
    case OwnerKind::method:
      return "method " + escaped(model.methods[owner.index].name);
    default:
      return "";
  }
}

std::string notes_of(const Model& model, const Tensor& tensor) {
  const Storage& storage = model.storages[tensor.storage];
  std::vector<std::string> notes;
  if (storage.access == Access::mutable_) notes.emplace_back("mutable");
  if (storage.origin == Origin::external) notes.emplace_back("external");
  if (storage.is_zeros() && storage.size > 0) notes.emplace_back("zeros");
  if (!is_contiguous(tensor)) notes.push_back(fmt::format("strides [{}]", fmt::join(tensor.strides, ", ")));
  if (!tensor.scheme.empty())
    notes.push_back(fmt::format("{} [{}]", escaped(tensor.scheme), fmt::join(tensor.logical_sizes, ", ")));
  if (auto owner = owner_text(model, tensor.owner); !owner.empty()) notes.push_back(std::move(owner));
  return fmt::format("{}", fmt::join(notes, ", "));
}

std::string tensors_table(const Model& model, std::size_t most) {
  Table table({"TENSOR", "DTYPE", "SIZES", "BYTES", "STORAGE", "NOTES"}, "lllrrl");
  const auto shown = std::min(model.tensors.size(), most);
  for (std::size_t i = 0; i < shown; ++i) {
    const auto& tensor = model.tensors[i];
    table.add({escaped(tensor.name), std::string(dtype_name(tensor.dtype)),
               fmt::format("[{}]", fmt::join(tensor.sizes, ", ")), human_size(logical_bytes(tensor)),
               std::to_string(tensor.storage), notes_of(model, tensor)});
  }
  auto out = table.render();
  if (shown < model.tensors.size())
    out += fmt::format("  ... and {} more; --all lists them\n", grouped(model.tensors.size() - shown));
  return out;
}

std::string blobs_table(const Model& model) {
  Table table({"BLOB", "BYTES", "TYPE"}, "lrl");
  for (const auto& blob : model.blobs)
    table.add({escaped(blob.name), human_size(blob.size), escaped(blob.media_type)});
  return table.render();
}

std::string value_text(const Pair& pair) {
  constexpr std::size_t most = 100;
  if (pair.kind == ValueKind::bytes) return human_size(pair.value.size());
  return pair.value.size() <= most ? escaped(pair.value) : escaped(pair.value.substr(0, most)) + "...";
}

std::string metadata_table(const Model& model) {
  Table table({"METADATA OF", "KEY", "VALUE"}, "lll");
  for (const auto& pair : model.metadata) table.add({"file", escaped(pair.key), value_text(pair)});
  for (const auto& method : model.methods)
    for (const auto& pair : method.metadata)
      table.add({"method " + escaped(method.name), escaped(pair.key), value_text(pair)});
  return table.render();
}

bool has_metadata(const Model& model) {
  return !model.metadata.empty() ||
         std::ranges::any_of(model.methods, [](const Method& m) { return !m.metadata.empty(); });
}

void print_tables(const Reader& file, const InfoCommand& command) {
  const Model& model = file.model();
  const Facts facts = gather_facts(file);
  print(escaped(command.file) + "\n" + summary(file, facts));
  if (!model.methods.empty()) print("\n" + methods_table(model, facts));
  if (!model.tensors.empty())
    print("\n" + tensors_table(model, command.all ? model.tensors.size() : first_tensors));
  if (!model.blobs.empty()) print("\n" + blobs_table(model));
  if (has_metadata(model)) print("\n" + metadata_table(model));
}

}  // namespace

std::string counted(std::uint64_t count, std::string_view one, std::string_view many) {
  const std::string plural = many.empty() ? std::string(one) + "s" : std::string(many);
  return grouped(count) + " " + (count == 1 ? std::string(one) : plural);
}

Exit info(const InfoCommand& command) {
  const auto file = foreign::open_ptd(command.file);
  if (!file) return report(file.error());
  if (command.json)
    print(info_json(*file, command.file));
  else
    print_tables(*file, command);
  return Exit::good;
}

}  // namespace ptd::cli
