// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "cuda/placement.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "wire/checked.hpp"

namespace ptd::cuda {
namespace {

// Blanks up to this size travel with their neighbours: a copy of its own would take longer than their bytes
// do.
constexpr std::uint64_t largest_blank = std::uint64_t{64} << 10;

/// A number for each storage, equal for those that exactly the same methods use: each method splits the sets
/// before it.
std::vector<std::uint32_t> method_sets(const Model& model) {
  constexpr std::uint32_t none = no_index;
  std::vector<std::uint32_t> sets(model.storages.size());
  std::vector<std::uint32_t> seen_by(model.storages.size(), none);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> split{
      {none, 0}};  // by set: the method that split it, into what
  for (std::uint32_t method = 0; method < model.methods.size(); ++method)
    for (const auto tensor : model.methods[method].tensors) {
      const auto storage = model.tensors[tensor].storage;
      if (std::exchange(seen_by[storage], method) == method) continue;
      const auto old = sets[storage];
      if (split[old].first != method) {
        split[old] = {method, static_cast<std::uint32_t>(split.size())};
        split.emplace_back(none, 0);
      }
      sets[storage] = split[old].second;
    }
  return sets;
}

/// Where a storage's bytes lie in the file; what has none comes last.
std::uint64_t place_in_file(const Reader& file, std::uint32_t storage) {
  const auto content = file.model().storages[storage].content;
  return content == no_index ? ~std::uint64_t{0} : file.segment_of(content).offset;
}

// Sizes are the file's word: a few zero storages can claim more than 64 bits count.
Result<void> lay_out(const Reader& file, Group& group) {
  std::ranges::stable_sort(group.storages, {}, [&](std::uint32_t i) { return place_in_file(file, i); });
  wire::Maybe end = 0;
  group.offsets.reserve(group.storages.size());
  for (const auto storage : group.storages) {
    const auto begin = wire::align_up(end, storage_alignment);
    end = wire::add(begin, file.model().storages[storage].size);
    group.offsets.push_back(begin.value_or(0));
  }
  const auto bytes = wire::align_up(wire::add(end, readable_past_end), storage_alignment);
  if (!bytes)
    return fail(ErrorCode::no_memory, "", "the file's storages are larger together than any memory");
  group.bytes = *bytes;
  return {};
}

class Planner {
 public:
  Planner(const Reader& file, std::uint64_t buffer_bytes, std::uint64_t part_bytes)
      : file_(file), buffer_bytes_(buffer_bytes), part_bytes_(part_bytes) {}

  TransferPlan run(const std::vector<Wanted>& wanted) {
    for (const auto& one : wanted) add(one);
    close_batch();
    return std::move(plan_);
  }

 private:
  void add(const Wanted& wanted) {
    const auto& storage = file_.model().storages[wanted.storage];
    const auto content_bytes = storage.content == no_index ? 0 : file_.model().contents[storage.content].size;
    may_fill_gap_ = std::exchange(is_padded_, wanted.is_padded);
    if (content_bytes > 0) add_content(storage.content, content_bytes, wanted.address);
    if (storage.size > content_bytes) add_tail(wanted.address + content_bytes, storage.size - content_bytes);
  }

  void add_content(std::uint32_t content, std::uint64_t size, std::byte* address) {
    const auto part = part_of(file_.segment_of(content).chunk_bytes());
    const auto item = static_cast<std::uint32_t>(plan_.contents.size());
    plan_.contents.push_back(content);
    for (std::uint64_t at = 0; at < size; at += part) {
      const auto bytes = std::min(part, size - at);
      const auto in_buffer = make_room(address + at, bytes);
      if (task_bytes_ > 0 && task_bytes_ + bytes > part_bytes_) close_task();
      plan_.fills.push_back({item, at, bytes, in_buffer});
      task_bytes_ += bytes;
    }
    plan_.content_bytes += size;
  }

  /// Whole chunks, as far as they fit into a part or at least a buffer.
  [[nodiscard]] std::uint64_t part_of(std::uint64_t chunk) const {
    if (chunk <= part_bytes_) return part_bytes_ / chunk * chunk;
    return chunk <= buffer_bytes_ ? chunk : part_bytes_;
  }

  void add_tail(std::byte* address, std::uint64_t bytes) {
    if (bytes <= largest_blank && follows(address) && used_ + bytes <= buffer_bytes_) {
      extend(bytes);
      plan_.zero_bytes += bytes;
      return;
    }
    add_zeros(address, bytes);
  }

  void add_zeros(std::byte* address, std::uint64_t bytes) {
    auto& zeros = plan_.zeros;
    plan_.zero_bytes += bytes;
    // What alignment leaves between two runs of zeros may as well be zero.
    const bool joins =
        may_fill_gap_ && !zeros.empty() && address >= zeros.back().device + zeros.back().bytes &&
        address - (zeros.back().device + zeros.back().bytes) < static_cast<std::ptrdiff_t>(storage_alignment);
    if (joins)
      zeros.back().bytes = static_cast<std::uint64_t>(address - zeros.back().device) + bytes;
    else
      zeros.push_back({address, bytes});
  }

  /// True if the address is just where the last copy of the open batch ends.
  [[nodiscard]] bool follows(const std::byte* address) const {
    return is_open_ && plan_.copies.back().device + plan_.copies.back().bytes == address;
  }

  /// Blank bytes behind the last copy.
  void extend(std::uint64_t bytes) {
    if (bytes == 0) return;
    plan_.blanks.push_back({used_, bytes});
    plan_.copies.back().bytes += bytes;
    used_ += bytes;
  }

  /// Room for bytes that go to the address: behind the last copy if they follow it, else in a copy of their
  /// own.
  std::uint64_t make_room(std::byte* address, std::uint64_t bytes) {
    if (is_open_) {
      const auto& last = plan_.copies.back();
      const auto gap = address - (last.device + last.bytes);
      const auto widest = may_fill_gap_ ? static_cast<std::ptrdiff_t>(storage_alignment) : 1;
      const bool is_near = gap >= 0 && gap < widest;
      if (is_near && used_ + static_cast<std::uint64_t>(gap) + bytes <= buffer_bytes_) {
        extend(static_cast<std::uint64_t>(gap));
        return append(bytes);
      }
      if (next_place() + bytes > buffer_bytes_) close_batch();
    }
    open_batch();
    used_ = next_place();
    plan_.copies.push_back({used_, address, 0});
    return append(bytes);
  }

  /// Where another copy may begin in the buffer.
  [[nodiscard]] std::uint64_t next_place() const {
    return wire::divide_up(used_, storage_alignment) * storage_alignment;
  }

  std::uint64_t append(std::uint64_t bytes) {
    const auto at = used_;
    plan_.copies.back().bytes += bytes;
    used_ += bytes;
    return at;
  }

  void open_batch() {
    if (is_open_) return;
    is_open_ = true;
    used_ = 0;
    batch_.tasks.begin = plan_.tasks.size();
    batch_.copies.begin = plan_.copies.size();
    batch_.blanks.begin = plan_.blanks.size();
  }

  void close_task() {
    if (first_fill_ == plan_.fills.size()) return;
    plan_.tasks.push_back({{first_fill_, plan_.fills.size()}, plan_.batches.size()});
    first_fill_ = plan_.fills.size();
    task_bytes_ = 0;
  }

  void close_batch() {
    close_task();
    if (!is_open_) return;
    is_open_ = false;
    batch_.tasks.end = plan_.tasks.size();
    batch_.copies.end = plan_.copies.size();
    batch_.blanks.end = plan_.blanks.size();
    plan_.batches.push_back(batch_);
  }

  const Reader& file_;
  const std::uint64_t buffer_bytes_;
  const std::uint64_t part_bytes_;
  TransferPlan plan_;
  Batch batch_;
  bool is_padded_ = true;     ///< the storage at hand
  bool may_fill_gap_ = true;  ///< the one before it
  bool is_open_ = false;
  std::uint64_t used_ = 0;  ///< of the open batch's buffer
  std::size_t first_fill_ = 0;
  std::uint64_t task_bytes_ = 0;
};

}  // namespace

Result<std::vector<Group>> group_storages(const Reader& file, const std::vector<std::uint32_t>& storages) {
  const auto sets = method_sets(file.model());
  std::map<std::tuple<bool, Access, std::uint32_t>, Group> groups;
  for (const auto i : storages) {
    const auto& storage = file.model().storages[i];
    const bool is_on_host = storage.placement == Placement::host;
    auto& group = groups[{is_on_host, storage.access, sets[i]}];
    group.is_on_host = is_on_host;
    group.storages.push_back(i);
  }
  std::vector<Group> out;
  out.reserve(groups.size());
  for (auto& [key, group] : groups) {
    PTD_TRY(lay_out(file, group));
    out.push_back(std::move(group));
  }
  return out;
}

TransferPlan plan_transfer(const Reader& file, const std::vector<Wanted>& wanted, std::uint64_t buffer_bytes,
                           std::uint64_t part_bytes) {
  return Planner(file, buffer_bytes, part_bytes).run(wanted);
}

}  // namespace ptd::cuda
