// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <ptd/cuda.hpp>

#include "cuda/inner.hpp"

namespace ptd::cuda {
namespace {

DeviceTensor view(const Tensor& tensor, const StorageMemory& memory, bool is_mutable) {
  DeviceTensor out;
  out.storage = memory.bytes == 0 ? nullptr : memory.data;
  out.storage_bytes = memory.bytes;
  out.storage_offset = tensor.storage_offset;
  out.dtype = tensor.dtype;
  out.is_mutable = is_mutable;
  out.on_host = memory.block->device == host_memory;
  out.sizes = tensor.sizes;
  out.strides = tensor.strides;
  if (out.storage != nullptr) out.data = memory.data + tensor.storage_offset * dtype_bits(tensor.dtype) / 8;
  return out;
}

}  // namespace

Weights::Weights(std::shared_ptr<const Inner> inner) : inner_(std::move(inner)) {}

std::optional<DeviceTensor> Weights::tensor(std::uint32_t index) const {
  if (index >= inner_->holds_tensor.size() || !inner_->holds_tensor[index]) return std::nullopt;
  const auto& model = inner_->file.model();
  const auto& tensor = model.tensors[index];
  const auto& layout = inner_->scope->layout;
  const auto entry = layout.entry_of_tensor[index];
  return view(tensor, *inner_->memories[entry], layout.entries[entry].is_mutable);
}

std::optional<DeviceTensor> Weights::find(std::string_view fqn) const {
  const auto& model = inner_->file.model();
  const auto found = inner_->methods.size() == 1 ? model.find_in_method(inner_->methods.front(), fqn)
                                                 : model.find_tensor({}, fqn);
  return found ? tensor(*found) : std::nullopt;
}

std::optional<DeviceTensor> Weights::find(std::string_view library, std::string_view name) const {
  const auto& model = inner_->file.model();
  const auto owner = model.find_library(library);
  if (!owner) return std::nullopt;
  const auto found = model.find_tensor({OwnerKind::library, *owner}, name);
  return found ? tensor(*found) : std::nullopt;
}

int Weights::device() const noexcept { return inner_->device; }
State Weights::state() const { return State(inner_->state); }
const LoadReport& Weights::report() const noexcept { return inner_->report; }

Result<void> Weights::make_wait(Stream stream) const {
  for (const auto& mark : inner_->marks) PTD_TRY(mark->make_wait(stream));
  return {};
}

Result<void> Weights::wait() const {
  for (const auto& mark : inner_->marks) PTD_TRY(mark->wait());
  return {};
}

bool Weights::is_ready() const {
  return std::ranges::all_of(inner_->marks, [](const auto& mark) { return mark->is_reached(); });
}

}  // namespace ptd::cuda
