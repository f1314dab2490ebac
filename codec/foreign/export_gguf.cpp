// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "foreign/export_parts.hpp"
#include "foreign/gguf.hpp"
#include "foreign/gguf_blob.hpp"
#include "foreign/gguf_text.hpp"
#include "foreign/guard.hpp"
#include "foreign/json_events.hpp"

namespace ptd::foreign {
namespace {

namespace fs = std::filesystem;

// llama.cpp keeps a NUL behind a name, in 64 bytes. A longer name is written only where the GGUF file that
// the model comes from had it.
constexpr std::size_t max_new_name_bytes = 63;

// --- what the model's GGUF file said -------------------------------------------------------------------

struct GgufSource {
  GgufHeader header;
  std::vector<std::byte> head;
};

std::optional<std::uint64_t> to_number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> source_size(const Blob& blob) {
  const auto pair = std::ranges::find(blob.metadata, gguf_size_key, &Pair::key);
  return pair == blob.metadata.end() ? std::nullopt : to_number(pair->value);
}

bool is_header_blob(const Blob& blob) { return blob.media_type == gguf_blob_type; }

Failure bad_blob(const Blob& blob, std::string_view why) {
  return fail_on(ErrorCode::unsupported_input, "", blob.name,
                 fmt::format("the blob {} should hold a GGUF file's header, but {}", quote(blob.name), why));
}

Result<GgufSource> read_source(const Reader& file, std::uint32_t index) {
  const Blob& blob = file.model().blobs[index];
  const auto size = source_size(blob);
  if (blob.size > max_gguf_header_bytes) return bad_blob(blob, "it is larger than any");
  if (!size || *size < blob.size) return bad_blob(blob, "does not say how large that file was");
  GgufSource source;
  source.head.resize(blob.size);
  PTD_TRY(file.read_blob(index, 0, source.head));
  auto header = parse_gguf(source.head, *size);
  if (!header) return bad_blob(blob, header.error().message);
  if (!*header || (*header)->header_bytes != blob.size) return bad_blob(blob, "has not the length of one");
  source.header = std::move(**header);
  return source;
}

// With a method, those that it binds; without, all.
std::vector<std::uint32_t> header_blobs(const Model& model, const std::string& method,
                                        const Selection& selection) {
  std::vector<std::uint32_t> found;
  for (std::uint32_t i = 0; i < model.blobs.size(); ++i)
    if (is_header_blob(model.blobs[i])) found.push_back(i);
  if (method.empty()) return found;
  const auto bound = model.methods[selection.method].blobs;
  std::erase_if(found, [&](auto i) { return !std::ranges::binary_search(bound, i); });
  return found;
}

Result<std::optional<GgufSource>> find_source(const Reader& file, const std::string& method,
                                              const Selection& selection) {
  const auto blobs = header_blobs(file.model(), method, selection);
  if (blobs.empty()) return std::optional<GgufSource>();
  if (blobs.size() > 1)
    return fail(ErrorCode::unsupported_input, "",
                fmt::format("the tensors come from {} GGUF files, which cannot become one; {}", blobs.size(),
                            method.empty() ? "export a method of one of them with --method"
                                           : "convert each of them to a method of its own"));
  PTD_LET(source, read_source(file, blobs.front()));
  return std::optional(std::move(source));
}

// --- tensors -------------------------------------------------------------------------------------------

Failure refuse(const Tensor& tensor, std::string_view what) {
  return fail_on(ErrorCode::unsupported_input, "", tensor.name,
                 fmt::format("tensor {} {}", quote(tensor.name), what));
}

std::vector<std::uint64_t> reversed(std::span<const std::uint64_t> sizes) {
  return {sizes.rbegin(), sizes.rend()};
}

Result<GgufTensor> describe_packed(const Tensor& tensor) {
  const auto* type = ggml_type_of_scheme(tensor.scheme);
  if (type == nullptr)
    return refuse(tensor, fmt::format("is packed as {}, which GGML lacks", quote(tensor.scheme)));
  GgufTensor out{std::string(tensor.name), type, reversed(tensor.logical_sizes), 0, 0};
  PTD_LET(bytes, gguf_tensor_bytes(out));
  if (bytes != logical_bytes(tensor))
    return refuse(tensor,
                  fmt::format("has {} bytes, and its logical sizes need {}", logical_bytes(tensor), bytes));
  return out;
}

Result<GgufTensor> describe(const Tensor& tensor) {
  if (!tensor.scheme.empty()) return describe_packed(tensor);
  const auto* type = ggml_type_of(tensor.dtype);
  if (type == nullptr)
    return refuse(tensor, fmt::format("has dtype {}, which GGML lacks", dtype_name(tensor.dtype)));
  return GgufTensor{std::string(tensor.name), type, reversed(tensor.sizes), 0, 0};
}

using Places = std::map<std::string_view, std::size_t>;

Places places_of(const GgufHeader& header) {
  Places places;
  for (std::size_t i = 0; i < header.tensors.size(); ++i) places.emplace(header.tensors[i].name, i);
  return places;
}

class GgufExport {
 public:
  GgufExport(const Reader& file, const ExportOptions& options)
      : file_(file), model_(file.model()), options_(options) {}

  Result<ExportReport> run(const fs::path& target) {
    PTD_LET(selection, choose_tensors(model_, options_.method));
    PTD_LET(data_bytes, check_tensors(model_, selection.tensors, "GGUF"));
    PTD_LET(source, find_source(file_, options_.method, selection));
    if (source) take_source(*source);
    PTD_TRY(order_tensors(selection, source));
    if (!source) take_metadata(selection);
    PTD_LET(head, render_gguf(header_, pair_count_, pairs_));
    add_notes(selection, source);
    PTD_TRY(write(target, selection, head, data_bytes));
    return report_;
  }

 private:
  void take_source(const GgufSource& source) {
    header_.version = source.header.version;
    header_.alignment = source.header.alignment;
    header_.has_padded_end = source.header.has_padded_end;
    pair_count_ = source.header.pairs.size();
    pairs_.assign(source.head.begin() + static_cast<std::ptrdiff_t>(gguf_prefix_bytes),
                  source.head.begin() + static_cast<std::ptrdiff_t>(source.header.pairs_end));
  }

  // As in the file that they come from; what it did not have comes last, by name.
  Result<void> order_tensors(Selection& selection, const std::optional<GgufSource>& source) {
    const auto places = source ? places_of(source->header) : Places();
    const auto place_of = [&](std::uint32_t i) {
      const auto found = places.find(model_.tensors[i].name);
      return found == places.end() ? places.size() : found->second;
    };
    std::ranges::sort(selection.tensors, {},
                      [&](auto i) { return std::pair(place_of(i), model_.tensors[i].name); });
    for (const auto i : selection.tensors) {
      const Tensor& tensor = model_.tensors[i];
      if (tensor.name.size() > max_new_name_bytes && !places.contains(tensor.name))
        return refuse(tensor, fmt::format("has a name of {} bytes; readers of GGUF take {}",
                                          tensor.name.size(), max_new_name_bytes));
      PTD_LET(described, describe(tensor));
      header_.tensors.push_back(std::move(described));
    }
    return {};
  }

  // Text only: what a number's type should be, nothing says.
  void take_metadata(const Selection& selection) {
    std::map<std::string_view, std::string_view> texts;
    for (const auto& pair : selected_metadata(model_, selection)) {
      const bool is_taken = pair.kind == ValueKind::text && !is_reserved(pair.key) &&
                            texts.emplace(pair.key, pair.value).second;
      left_out_ += is_taken ? 0U : 1U;
    }
    for (const auto& [key, value] : texts) append_gguf_string_pair(pairs_, key, value);
    pair_count_ = texts.size();
    has_architecture_ = texts.contains("general.architecture");
  }

  // A text would not be an alignment.
  static bool is_reserved(std::string_view key) { return key == "general.alignment"; }

  void add_notes(const Selection& selection, const std::optional<GgufSource>& source) {
    ExportNotes notes(model_, selection.tensors);
    notes.add_common();
    if (source) {
      notes.add(count_absent(source->header), "tensors of the GGUF file are not in the model any more");
      left_out_ = count_own(selection);
    }
    notes.add(left_out_, "metadata entries were left out: they are not text, or not from the GGUF file");
    notes.add(model_.blobs.size() - (source ? 1 : 0), "blobs were left out");
    report_.notes = notes.take();
    if (!has_architecture_ && !source)
      report_.notes.emplace_back(
          "the model says no general.architecture: tools can read the GGUF file, but llama.cpp cannot run "
          "it");
  }

  [[nodiscard]] std::uint64_t count_absent(const GgufHeader& source) const {
    const auto places = places_of(header_);
    return static_cast<std::uint64_t>(std::ranges::count_if(
        source.tensors, [&](const auto& tensor) { return !places.contains(tensor.name); }));
  }

  // Those that only repeat what the header says are not missed.
  [[nodiscard]] std::uint64_t count_own(const Selection& selection) const {
    const auto pairs = selected_metadata(model_, selection);
    return static_cast<std::uint64_t>(std::ranges::count_if(
        pairs, [](const Pair& pair) { return !pair.key.starts_with(gguf_key_prefix); }));
  }

  Result<void> write(const fs::path& target, const Selection& selection, const std::vector<std::byte>& head,
                     std::uint64_t data_bytes) {
    report_.tensors = selection.tensors.size();
    report_.file_bytes = gguf_file_size(header_);
    PTD_TRY(check_room(target, report_.file_bytes));
    PTD_LET(out, file::AtomicFile::create(target));
    PTD_TRY(out.write(0, head));
    TensorCopier copier(file_, options_, out, data_bytes);
    for (std::size_t i = 0; i < selection.tensors.size(); ++i)
      PTD_TRY(copier.copy(selection.tensors[i], header_.data_offset + header_.tensors[i].offset));
    return out.commit(report_.file_bytes);
  }

  const Reader& file_;
  const Model& model_;
  const ExportOptions& options_;
  ExportReport report_;
  GgufHeader header_;
  std::uint64_t pair_count_ = 0;
  std::vector<std::byte> pairs_;
  std::uint64_t left_out_ = 0;
  bool has_architecture_ = false;
};

}  // namespace

Result<ExportReport> export_gguf(const Reader& file, const fs::path& target, const ExportOptions& options) {
  return guarded([&] { return GgufExport(file, options).run(target); });
}

}  // namespace ptd::foreign
