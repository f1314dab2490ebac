// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include "writer/plan.hpp"

#include <algorithm>
#include <numeric>
#include <ptd/limits.hpp>
#include <unordered_map>

namespace ptd::writer {
namespace {

constexpr std::uint64_t large_bytes = std::uint64_t{128}
                                      << 10;  // from here on a page of alignment costs under 2%
constexpr unsigned large_alignment_log2 = 12, small_alignment_log2 = 8;

using MethodSet = std::vector<std::uint32_t>;  // ranks of names, ascending

// Ranks of the methods by name, which is their order in the file.
std::vector<std::uint32_t> rank_methods(const Writer::State& state) {
  std::vector<std::uint32_t> ranks(state.methods.size());
  std::uint32_t rank = 0;
  for (const auto& [name, method] : state.method_by_name) ranks[method] = rank++;
  return ranks;
}

void make_set(MethodSet& methods) {
  std::ranges::sort(methods);
  methods.erase(std::unique(methods.begin(), methods.end()), methods.end());
}

// Storages with one source have one content: what is known to be equal before it is read lies where all its
// methods together want it.
void join_sets_of_sources(const Writer::State& state, std::vector<MethodSet>& sets) {
  std::unordered_map<const ByteSource*, MethodSet> of_source;
  const auto source_of = [&](std::size_t i) { return state.storages[i].spec.content.get(); };
  for (std::size_t i = 0; i < sets.size(); ++i) {
    auto& joined = of_source[source_of(i)];
    joined.insert(joined.end(), sets[i].begin(), sets[i].end());
  }
  for (auto& [source, methods] : of_source) make_set(methods);
  for (std::size_t i = 0; i < sets.size(); ++i)
    if (source_of(i) != nullptr) sets[i] = of_source[source_of(i)];
}

std::vector<MethodSet> sets_of_storages(const Writer::State& state) {
  std::vector<MethodSet> sets(state.storages.size());
  const auto ranks = rank_methods(state);
  for (std::uint32_t method = 0; method < state.methods.size(); ++method)
    for (const auto tensor : state.methods[method].tensors)
      sets[state.root_of(static_cast<std::uint32_t>(state.tensors[tensor].storage))].push_back(ranks[method]);
  for (auto& set : sets) make_set(set);
  join_sets_of_sources(state, sets);
  return sets;
}

// Roots in file order; what no method uses comes last.
std::vector<std::uint32_t> order_storages(const Writer::State& state) {
  std::vector<std::uint32_t> roots;
  for (std::uint32_t i = 0; i < state.storages.size(); ++i)
    if (state.root_of(i) == i) roots.push_back(i);
  const auto sets = sets_of_storages(state);
  std::ranges::stable_sort(roots, [&](std::uint32_t a, std::uint32_t b) {
    if (sets[a].empty() != sets[b].empty()) return sets[b].empty();
    return sets[a] < sets[b];
  });
  return roots;
}

// Rotating the sign beside the exponent pays for weights in these two, and costs where mantissas are long
// (bench/README.md).
bool gains_by_rotation(DType dtype) { return dtype == DType::bfloat16 || dtype == DType::float32; }

Encoding planes_for(unsigned width, bool rotate) {
  switch (width) {
    case 2:
      return rotate ? Encoding::zstd_rotated2 : Encoding::zstd_planes2;
    case 4:
      return rotate ? Encoding::zstd_rotated4 : Encoding::zstd_planes4;
    case 8:
      return Encoding::zstd_planes8;
    default:
      return Encoding::zstd;
  }
}

Encoding choose_encoding(const DType* dtype, std::uint64_t size, const WriteOptions& options) {
  if (!options.compress) return Encoding::raw;
  if (dtype == nullptr) return Encoding::zstd;
  const auto& info = dtype_info(*dtype);
  const unsigned width = info.bits / (info.kind == DTypeKind::complex ? 16U : 8U);
  const Encoding encoding = planes_for(width, gains_by_rotation(*dtype));
  return size % plane_width(encoding) == 0 ? encoding : Encoding::zstd;
}

Unit make_unit(const SourcePtr& source, const DType* dtype, const WriteOptions& options) {
  Unit unit;
  unit.source = source;
  unit.encoding = choose_encoding(dtype, source->size(), options);
  unit.alignment_log2 = source->size() >= large_bytes ? large_alignment_log2 : small_alignment_log2;
  unit.chunk_log2 = options.chunk_log2;
  return unit;
}

class Planner {
 public:
  Planner(const Writer::State& state, const WriteOptions& options) : state_(state), options_(options) {}

  Result<Plan> run() {
    plan_.unit_of_storage.assign(state_.storages.size(), no_index);
    for (const auto& blob : state_.blobs) add_blob(blob);
    for (const auto root : order_storages(state_)) PTD_TRY(add_storage(root));
    note_pad_bits();
    return std::move(plan_);
  }

 private:
  void add_blob(const BlobSpec& blob) {
    plan_.unit_of_blob.push_back(no_index);
    if (!blob.content || blob.content->size() == 0) return;
    plan_.unit_of_blob.back() = add(make_unit(blob.content, nullptr, options_), blob.name, blob.name);
  }

  std::uint32_t add(Unit unit, const std::string& name, const std::string& label) {
    unit.name = name;
    unit.label = label;
    plan_.units.push_back(std::move(unit));
    return static_cast<std::uint32_t>(plan_.units.size() - 1);
  }

  // The first member with bytes is stored; the others must have the same.
  Result<void> add_storage(std::uint32_t root) {
    const auto& record = state_.storages[root];
    if (record.first_tensor == no_index)
      return fail_on(ErrorCode::argument, "", record.spec.label, "a storage was added that no tensor views");
    const TensorSpec& tensor = state_.tensors[record.first_tensor];
    for (const auto member : record.members) add_member(root, tensor, state_.storages[member].spec);
    const auto empty =
        std::ranges::find_if(record.members, [&](auto i) { return !has_bytes(state_.storages[i].spec); });
    const auto stored = plan_.unit_of_storage[root];
    if (stored == no_index || empty == record.members.end()) return {};
    plan_.units[stored].must_be_zero = true;
    plan_.units[stored].other_label = state_.storages[*empty].spec.label;
    return {};
  }

  static bool has_bytes(const StorageSpec& spec) { return spec.content && spec.content->size() > 0; }

  void add_member(std::uint32_t root, const TensorSpec& tensor, const StorageSpec& member) {
    auto& stored = plan_.unit_of_storage[root];
    if (!has_bytes(member)) return;
    if (stored == no_index)
      stored = add(make_unit(member.content, &tensor.dtype, options_), tensor.name, member.label);
    else if (plan_.units[stored].source != member.content)
      compare(stored, tensor, member);
  }

  void compare(std::uint32_t stored, const TensorSpec& tensor, const StorageSpec& member) {
    Unit unit = make_unit(member.content, nullptr, {});
    unit.compare_with = stored;
    unit.other_label = plan_.units[stored].label;
    add(std::move(unit), tensor.name, member.label);
  }

  // Elements smaller than a byte may leave bits of their last byte over [SUB-3].
  void note_pad_bits() {
    for (const auto& spec : state_.tensors) {
      const Tensor view = view_tensor(spec);
      const unsigned bits = dtype_bits(spec.dtype);
      const auto used = static_cast<unsigned>(element_count(view) % 8 * bits % 8);
      const auto unit = plan_.unit_of_storage[state_.root_of(static_cast<std::uint32_t>(spec.storage))];
      if (used == 0 || unit == no_index) continue;
      const auto last = spec.storage_offset * bits / 8 + logical_bytes(view) - 1;
      plan_.units[unit].pad_bits.push_back({last, used, spec.name});
    }
    for (auto& unit : plan_.units) std::ranges::sort(unit.pad_bits, {}, &PadBits::byte);
  }

  const Writer::State& state_;
  const WriteOptions& options_;
  Plan plan_;
};

}  // namespace

Result<Plan> make_plan(const Writer::State& state, const WriteOptions& options) {
  if (options.chunk_log2 < limits::min_chunk_log2 || options.chunk_log2 > limits::max_chunk_log2)
    return fail(ErrorCode::argument, "LAY-5", "chunk sizes are from 2^14 to 2^24 bytes");
  return Planner(state, options).run();
}

}  // namespace ptd::writer
