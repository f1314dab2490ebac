// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// ExecuTorch's files, made for tests. (Files that the executorch package itself wrote: golden/executorch.)
#pragma once

#include <foreign/executorch_program_generated.h>
#include <foreign/flat_tensor_generated.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "foreign/flat_tensor.hpp"
#include "tests/foreign_samples.hpp"
#include "tests/write_samples.hpp"

namespace ptd::foreign {

using write_test::must;

template <class Integer>
std::string le(Integer value) {
  std::string out(sizeof value, '\0');
  std::memcpy(out.data(), &value, sizeof value);
  return out;
}

inline std::string text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// --- FlatTensor ----------------------------------------------------------------------------------------

/// One key: bytes of its own, or those of an earlier key.
struct SampleName {
  std::string key;
  std::string bytes;
  std::optional<FlatTensorLayoutInfo> layout{};
  std::string same_as{};
};

inline FlatTensorLayoutInfo ordinary(std::int8_t type, std::vector<std::uint64_t> sizes) {
  FlatTensorLayoutInfo layout{type, std::move(sizes), {}};
  for (std::size_t i = 0; i < layout.sizes.size(); ++i)
    layout.dim_order.push_back(static_cast<std::uint8_t>(i));
  return layout;
}

/// A FlatTensor file.
inline std::string flat_tensor(const std::vector<SampleName>& names) {
  std::vector<FlatTensorEntry> entries;
  std::vector<std::uint64_t> sizes;
  std::string data;
  std::vector<std::string> payloads;
  for (const auto& name : names) {
    std::uint32_t segment = static_cast<std::uint32_t>(sizes.size());
    for (const auto& earlier : entries)
      if (earlier.key == name.same_as) segment = earlier.segment;
    if (segment == sizes.size()) {
      sizes.push_back(name.bytes.size());
      payloads.push_back(name.bytes);
    }
    entries.push_back({name.key, segment, name.layout});
  }
  const auto plan = must(plan_flat_tensor(entries, sizes));
  std::string file = text_of(plan.head);
  file.resize(plan.file_bytes);
  for (std::size_t i = 0; i < payloads.size(); ++i)
    file.replace(plan.segments[i].offset, payloads[i].size(), payloads[i]);
  return file;
}

// --- CUDA payloads -------------------------------------------------------------------------------------

inline std::string counted(std::string_view text) {
  return le(static_cast<std::uint32_t>(text.size())).append(text);
}

/// One entry of a manifest; fields as strings, so that a test may break any.
struct SampleEntry {
  std::string fqn = "w";
  std::string key = "cuda_fqn_weight:cuda:w";
  std::uint64_t bytes = 24;
  std::int32_t type = 6;
  std::int32_t device = 1;
  std::int64_t offset = 0;
  std::vector<std::int64_t> sizes{2, 3};
  std::vector<std::int64_t> strides{3, 1};
  std::uint32_t group = 0;
  std::uint8_t shareable = 1;

  [[nodiscard]] std::string encode(char digit) const {
    const bool has_group = digit == '1' || digit == '2';
    std::string out = counted(fqn) + counted(key);
    if (has_group) out += le(group);
    out += le(bytes) + le(type);
    if (digit != '1') out += le(device);
    out += le(offset) + le(static_cast<std::uint32_t>(sizes.size()));
    for (const auto size : sizes) out += le(size);
    for (const auto stride : strides) out += le(stride);
    if (has_group) out += static_cast<char>(shareable);
    return out;
  }
};

/// An entry under the key that ExecuTorch would give it.
inline SampleEntry weight(std::string fqn, std::vector<std::int64_t> sizes, std::uint64_t bytes) {
  SampleEntry entry;
  entry.key = "cuda_fqn_weight:cuda:" + fqn;
  entry.fqn = std::move(fqn);
  entry.bytes = bytes;
  entry.strides.assign(sizes.size(), 1);
  for (std::size_t i = sizes.size(); i-- > 1;) entry.strides[i - 1] = entry.strides[i] * sizes[i];
  entry.sizes = std::move(sizes);
  return entry;
}

struct SampleVariant {
  std::uint32_t sm = 0;
  std::uint32_t ptx = 0;
  std::uint32_t flags = 0;
  std::string key = "so";
};

inline std::string manifest(char digit, const std::vector<SampleEntry>& entries,
                            const std::vector<SampleVariant>& variants = {{}}) {
  std::string out = std::string("ETCUDAFQN") + digit;
  const bool has_variants = digit == '0' || digit == '4' || digit == '5';
  if (has_variants) out += le(static_cast<std::uint32_t>(variants.size()));
  for (const auto& variant : variants) {
    if (has_variants) out += le(variant.sm) + le(variant.ptx);
    if (has_variants && digit != '4') out += le(variant.flags);
    out += counted(variant.key);
  }
  out += le(static_cast<std::uint32_t>(entries.size()));
  for (const auto& entry : entries) out += entry.encode(digit);
  return out;
}

// --- programs ------------------------------------------------------------------------------------------

struct SampleTensor {
  std::string name;
  bool is_mutable = false;
  bool is_outside = true;
};

struct SampleMethod {
  std::string name;
  std::vector<std::pair<std::string, std::string>> delegates{};  ///< backend, payload
  std::vector<SampleTensor> tensors{};
  std::string constant{};  ///< not empty: a constant method that returns it
};

/// A program file; payloads alternate between inline data and segments.
inline std::string program(const std::vector<SampleMethod>& methods,
                           const std::vector<std::pair<std::string, std::string>>& named_data = {},
                           const char* identifier = "ET12") {
  flatbuffers::FlatBufferBuilder builder;
  std::vector<std::string> segments;
  std::vector<flatbuffers::Offset<fb::ProgramInlineData>> inline_data;
  std::vector<flatbuffers::Offset<fb::ProgramMethod>> plans;
  unsigned count = 0;
  const auto add_segment = [&](const std::string& bytes) {
    segments.push_back(bytes);
    return static_cast<std::uint32_t>(segments.size() - 1);
  };
  for (const auto& method : methods) {
    std::vector<flatbuffers::Offset<fb::ProgramDelegate>> delegates;
    for (const auto& [backend, payload] : method.delegates) {
      const bool in_segment = count++ % 2 == 1;
      std::uint32_t index = static_cast<std::uint32_t>(inline_data.size());
      if (in_segment) {
        index = add_segment(payload);
      } else {
        const std::vector<std::uint8_t> bytes(payload.begin(), payload.end());
        inline_data.push_back(fb::CreateProgramInlineDataDirect(builder, &bytes));
      }
      const auto place = fb::CreateProgramDataPlace(builder, in_segment ? 1 : 0, index);
      delegates.push_back(fb::CreateProgramDelegateDirect(builder, backend.c_str(), place));
    }
    std::vector<flatbuffers::Offset<fb::ProgramValue>> values;
    for (const auto& tensor : method.tensors) {
      const auto extra =
          fb::CreateProgramTensorExtraDirect(builder, tensor.name.c_str(), tensor.is_outside ? 1 : 0);
      const auto allocation = tensor.is_mutable ? fb::CreateProgramAllocation(builder)
                                                : flatbuffers::Offset<fb::ProgramAllocation>();
      const auto made = fb::CreateProgramTensor(builder, 1, allocation, extra);
      values.push_back(fb::CreateProgramValue(builder, fb::ProgramValueKind_ProgramTensor, made.Union()));
    }
    std::vector<std::int32_t> outputs{0};
    std::vector<std::int32_t> inputs{0};
    if (!method.constant.empty()) {
      const auto made = fb::CreateProgramStringDirect(builder, method.constant.c_str());
      values.push_back(fb::CreateProgramValue(builder, fb::ProgramValueKind_ProgramString, made.Union()));
      inputs.clear();
    }
    plans.push_back(fb::CreateProgramMethodDirect(builder, method.name.c_str(), &values, &inputs, &outputs,
                                                  nullptr, &delegates));
  }
  std::vector<flatbuffers::Offset<fb::ProgramName>> names;
  for (const auto& [key, bytes] : named_data)
    names.push_back(fb::CreateProgramNameDirect(builder, key.c_str(), add_segment(bytes)));
  std::vector<flatbuffers::Offset<fb::ProgramSegment>> places;
  std::uint64_t end = 0;
  for (const auto& bytes : segments) {
    places.push_back(fb::CreateProgramSegment(builder, end, bytes.size()));
    end += (bytes.size() + 15) / 16 * 16;
  }
  builder.Finish(fb::CreateProgramRootDirect(builder, 0, &plans, &inline_data, &places, &names), identifier);
  std::string message(reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize());
  constexpr std::size_t header_room = 32;
  std::string header = std::string("eh00") + le(std::uint32_t{32}) +
                       le(std::uint64_t{message.size() + header_room}) +
                       le(std::uint64_t{(message.size() + header_room + 15) / 16 * 16}) + le(end);
  header.resize(header_room);
  std::uint32_t root = 0;
  std::memcpy(&root, message.data(), sizeof root);
  std::string file =
      le(static_cast<std::uint32_t>(root + header_room)) + message.substr(4, 4) + header + message.substr(8);
  file.resize((file.size() + 15) / 16 * 16);
  for (const auto& bytes : segments) {
    file += bytes;
    file.resize((file.size() + 15) / 16 * 16);
  }
  return file;
}

}  // namespace ptd::foreign
