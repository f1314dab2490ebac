// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "foreign/gguf.hpp"
#include "foreign/gguf_blob.hpp"
#include "foreign/gguf_text.hpp"
#include "foreign/import_sinks.hpp"

namespace ptd::foreign {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view split_key = "split.count";
constexpr std::uint64_t first_window = std::uint64_t{1} << 20;

struct OpenedGguf {
  SourcePtr source;
  std::vector<std::byte> head;  ///< header_bytes of them
  GgufHeader header;
};

// Nothing says where the header ends, so windows grow until one holds it; each window is at hand in full
// before the next is asked for, and the parser ends the search at its limit.
Result<OpenedGguf> read_header(SourcePtr source) {
  std::vector<std::byte> head;
  for (std::uint64_t window = first_window;; window *= 4) {
    head.resize(std::min(window, source->size()));
    PTD_TRY(source->read(0, head));
    PTD_LET(header, parse_gguf(head, source->size()));
    if (!header) continue;
    head.resize(header->header_bytes);
    return OpenedGguf{std::move(source), std::move(head), std::move(*header)};
  }
}

Result<OpenedGguf> open_gguf(const fs::path& path) {
  PTD_LET(opened, open_file(path));
  auto file = read_header(opened.source);
  if (!file) return in_file(std::move(file).error(), path);
  return file;
}

// A part says that it is one; its name does not count.
Result<void> check_split(const OpenedGguf& file, const fs::path& path, const ImportOptions& options) {
  if (options.allow_partial) return {};
  const auto pair = std::ranges::find(file.header.pairs, split_key, &GgufPair::key);
  if (pair == file.header.pairs.end()) return {};
  const auto parts = gguf_unsigned(*pair, file.head);
  if (!parts || *parts <= 1) return {};
  return fail_on(ErrorCode::unsupported_input, "", path.string(),
                 fmt::format("this is one of {} GGUF files that make up a model; join them with "
                             "`llama-gguf-split --merge`, or give --allow-partial to take it alone",
                             *parts));
}

std::vector<PairSpec> readable_pairs(const OpenedGguf& file) {
  std::vector<PairSpec> pairs;
  for (const auto& pair : file.header.pairs)
    if (auto readable = readable_pair(pair, file.head)) pairs.push_back(std::move(*readable));
  return pairs;
}

// --- padding -------------------------------------------------------------------------------------------

Result<std::uint64_t> count_nonzero(const ByteSource& source, std::uint64_t begin, std::uint64_t end) {
  constexpr std::uint64_t window = std::uint64_t{64} << 10;
  std::vector<std::byte> bytes;
  std::uint64_t found = 0;
  for (; begin < end; begin += bytes.size()) {
    bytes.resize(std::min(window, end - begin));
    PTD_TRY(source.read(begin, bytes));
    found += bytes.size() - static_cast<std::uint64_t>(std::ranges::count(bytes, std::byte{0}));
  }
  return found;
}

// The one thing that is not kept. It should be zero; if it is not, the user hears of it.
Result<void> check_padding(const OpenedGguf& file, const fs::path& path, ImportReport& report) {
  std::uint64_t covered = file.header.header_bytes, found = 0;
  const auto count_up_to = [&](std::uint64_t begin) -> Result<void> {
    PTD_LET(more, count_nonzero(*file.source, covered, begin));
    found += more;
    return {};
  };
  for (const auto& tensor : file.header.tensors) {
    const auto begin = file.header.data_offset + tensor.offset;
    PTD_TRY(count_up_to(begin));
    covered = begin + tensor.bytes;
  }
  PTD_TRY(count_up_to(file.source->size()));
  if (found > 0)
    report.notes.push_back(fmt::format(
        "{}: {} bytes of padding between tensors are not zero; they are not kept", path.string(), found));
  return {};
}

// --- tensors -------------------------------------------------------------------------------------------

/// Rows of whole blocks: the outer dimensions stay, and the innermost one counts bytes.
void set_packed_shape(TensorSpec& spec, const GgufTensor& tensor) {
  spec.scheme = ggml_scheme(*tensor.type);
  spec.logical_sizes = spec.sizes;
  spec.sizes.back() = spec.sizes.back() / tensor.type->block * tensor.type->block_bytes;
}

TensorSpec describe(const GgufTensor& tensor) {
  TensorSpec spec;
  spec.name = tensor.name;
  spec.sizes.assign(tensor.dims.rbegin(), tensor.dims.rend());
  if (tensor.type->dtype)
    spec.dtype = *tensor.type->dtype;
  else
    set_packed_shape(spec, tensor);
  spec.strides = contiguous_strides(spec.sizes);
  return spec;
}

class GgufImport {
 public:
  GgufImport(Writer& writer, const ImportOptions& options, ImportReport& report, const fs::path& path)
      : writer_(writer), options_(options), report_(report), path_(path) {}

  Result<void> run(OpenedGguf& file) {
    const std::string name = options_.method.empty() ? default_method : options_.method;
    PTD_LET(method, add_method_metadata(writer_, name, path_.filename().string(), readable_pairs(file)));
    for (const auto& tensor : file.header.tensors) PTD_TRY(add_tensor(file, tensor, method));
    PTD_LET(blob, add_header(name, file));
    return writer_.bind(method, blob);
  }

 private:
  Result<void> add_tensor(const OpenedGguf& file, const GgufTensor& tensor, MethodId method) {
    const bool is_state = is_made_mutable(options_, tensor.name);
    auto spec = describe(tensor);
    spec.owner = owner_in(options_, method, tensor.name);
    PTD_LET(storage, add_storage(file, tensor, is_state));
    spec.storage = storage;
    PTD_LET(id, writer_.add_tensor(std::move(spec)));
    ++report_.tensors;
    report_.mutable_tensors += is_state ? 1U : 0U;
    return writer_.bind(method, id);
  }

  Result<StorageId> add_storage(const OpenedGguf& file, const GgufTensor& tensor, bool is_state) {
    StorageSpec spec;
    spec.size = tensor.bytes;
    spec.access = is_state ? Access::mutable_ : Access::immutable;
    spec.label = path_.string();
    if (spec.size > 0) {
      PTD_LET(content, slice_source(file.source, file.header.data_offset + tensor.offset, spec.size));
      spec.content = content;
    }
    return writer_.add_storage(std::move(spec));
  }

  // A second file of one method keeps its header under its own name.
  Result<BlobId> add_header(const std::string& method, OpenedGguf& file) {
    BlobSpec spec;
    spec.name = "gguf/" + method;
    spec.media_type = gguf_blob_type;
    spec.metadata.push_back(
        {std::string(gguf_size_key), std::to_string(file.source->size()), ValueKind::text});
    spec.content = own_memory(std::move(file.head), path_.string());
    auto blob = writer_.add_blob(spec);
    if (blob || blob.error().code != ErrorCode::duplicate) return blob;
    spec.name += "/" + path_.filename().string();
    return writer_.add_blob(std::move(spec));
  }

  Writer& writer_;
  const ImportOptions& options_;
  ImportReport& report_;
  const fs::path& path_;
};

}  // namespace

Result<void> import_gguf(Writer& writer, const fs::path& path, const ImportOptions& options,
                         ImportReport& report) {
  PTD_LET(file, open_gguf(path));
  PTD_TRY(check_split(file, path, options));
  PTD_TRY(check_padding(file, path, report));
  return GgufImport(writer, options, report, path).run(file);
}

}  // namespace ptd::foreign
