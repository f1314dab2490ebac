// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// The shapes of schema/ptd.capnp's structs, as Cap'n Proto lays them out. A test compares them with
// the compiled schema.
#include "wire/walker.hpp"

namespace ptd::wire {
namespace {

using enum PointerKind;
constexpr std::uint64_t all = ~std::uint64_t{0};
constexpr std::uint64_t bits(unsigned count) { return all >> (64 - count); }

constexpr std::uint64_t pair_data[] = {bits(8)};
constexpr PointerShape pair_pointers[] = {{text}, {data}};
constexpr StructShape pair{pair_data, pair_pointers};

constexpr std::uint64_t content_data[] = {all, all, all, all, all};
constexpr StructShape content{content_data, {}};

constexpr std::uint64_t storage_data[] = {all, bits(56)};
constexpr StructShape storage{storage_data, {}};

constexpr std::uint64_t variant_data[] = {bits(40), all};
constexpr PointerShape variant_pointers[] = {{text}};
constexpr StructShape variant{variant_data, variant_pointers};

constexpr PointerShape library_pointers[] = {{text}, {struct_list, &variant}, {struct_list, &pair}};
constexpr StructShape library{{}, library_pointers};

constexpr PointerShape method_pointers[] = {{text}, {u32_list}, {u32_list}, {u32_list}, {struct_list, &pair}};
constexpr StructShape method{{}, method_pointers};

constexpr std::uint64_t tensor_data[] = {bits(56), all, bits(32)};
constexpr PointerShape tensor_pointers[] = {{text}, {u64_list}, {u64_list}, {struct_list, &pair},
                                            {text}, {u64_list}};
constexpr StructShape tensor{tensor_data, tensor_pointers};

constexpr std::uint64_t blob_data[] = {all, bits(32)};
constexpr PointerShape blob_pointers[] = {{text}, {text}, {struct_list, &pair}};
constexpr StructShape blob{blob_data, blob_pointers};

constexpr std::uint64_t model_data[] = {bits(32), all};
constexpr PointerShape model_pointers[] = {
    {struct_list, &content}, {struct_list, &storage}, {struct_list, &library}, {struct_list, &method},
    {struct_list, &tensor},  {struct_list, &blob},    {struct_list, &pair}};

constexpr std::uint64_t segment_data[] = {bits(56), all, all};
constexpr StructShape segment{segment_data, {}};

constexpr std::uint64_t layout_data[] = {bits(32)};
constexpr PointerShape layout_pointers[] = {{struct_list, &segment}};

}  // namespace

constinit const StructShape model_shape{model_data, model_pointers};
constinit const StructShape layout_shape{layout_data, layout_pointers};

}  // namespace ptd::wire
