// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// schema/ptd.capnp is the source of every table, number and place. Here what is written out by hand in the
// library is held to it.
#include <capnp/schema.h>
#include <gtest/gtest.h>
#include <schema/ptd.capnp.h>

#include <functional>
#include <map>
#include <ptd/dtype.hpp>
#include <ptd/layout.hpp>
#include <ptd/limits.hpp>
#include <ptd/version.hpp>
#include <string>
#include <vector>

#include "model/check.hpp"
#include "tests/model_samples.hpp"
#include "wire/header.hpp"
#include "wire/walker.hpp"

namespace ptd {
namespace {

using samples::number;
using wire::PointerKind;
using wire::StructShape;

std::string_view view(capnp::Text::Reader text) { return {text.cStr(), text.size()}; }

// --- Tables -----------------------------------------------------------------------------------

TEST(SchemaTables, DTypes) {
  const auto rows = *schema::DTYPES;
  ASSERT_EQ(rows.size(), dtype_table.size());
  for (unsigned i = 0; i < rows.size(); ++i) {
    const auto& ours = dtype_table[i];
    EXPECT_EQ(rows[i].getNumber(), i + 1);
    EXPECT_EQ(number(ours.dtype), i + 1);
    EXPECT_EQ(view(rows[i].getName()), ours.name);
    EXPECT_EQ(rows[i].getBits(), ours.bits) << ours.name;
    EXPECT_EQ(rows[i].getKind(), number(ours.kind)) << ours.name;
    EXPECT_EQ(dtype_from_name(ours.name), ours.dtype);
    EXPECT_EQ(dtype_bits(ours.dtype), ours.bits);
    EXPECT_EQ(is_sub_byte(ours.dtype), ours.bits < 8);
  }
  EXPECT_EQ(dtype_from_name("float"), std::nullopt);
  EXPECT_EQ(dtype_from_name(""), std::nullopt);
  for (const std::uint64_t unlisted : {std::uint64_t{0}, std::uint64_t{39}, std::uint64_t{0xFFFF}})
    EXPECT_FALSE(is_dtype(unlisted));
}

TEST(SchemaTables, EnumeratorsOfDTypesHaveTheirNames) {
  constexpr std::pair<DType, std::string_view> enumerators[] = {
      {DType::boolean, "bool"},
      {DType::uint8, "uint8"},
      {DType::int8, "int8"},
      {DType::uint16, "uint16"},
      {DType::int16, "int16"},
      {DType::uint32, "uint32"},
      {DType::int32, "int32"},
      {DType::uint64, "uint64"},
      {DType::int64, "int64"},
      {DType::float16, "float16"},
      {DType::bfloat16, "bfloat16"},
      {DType::float32, "float32"},
      {DType::float64, "float64"},
      {DType::complex32, "complex32"},
      {DType::complex64, "complex64"},
      {DType::complex128, "complex128"},
      {DType::float8_e4m3fn, "float8_e4m3fn"},
      {DType::float8_e5m2, "float8_e5m2"},
      {DType::float8_e4m3fnuz, "float8_e4m3fnuz"},
      {DType::float8_e5m2fnuz, "float8_e5m2fnuz"},
      {DType::float8_e8m0fnu, "float8_e8m0fnu"},
      {DType::float4_e2m1fn, "float4_e2m1fn"},
      {DType::float6_e2m3fn, "float6_e2m3fn"},
      {DType::float6_e3m2fn, "float6_e3m2fn"},
      {DType::uint1, "uint1"},
      {DType::uint2, "uint2"},
      {DType::uint3, "uint3"},
      {DType::uint4, "uint4"},
      {DType::uint5, "uint5"},
      {DType::uint6, "uint6"},
      {DType::uint7, "uint7"},
      {DType::int1, "int1"},
      {DType::int2, "int2"},
      {DType::int3, "int3"},
      {DType::int4, "int4"},
      {DType::int5, "int5"},
      {DType::int6, "int6"},
      {DType::int7, "int7"},
  };
  EXPECT_EQ(std::size(enumerators), dtype_table.size());
  for (const auto& [dtype, name] : enumerators) EXPECT_EQ(dtype_name(dtype), name);
}

TEST(SchemaTables, Encodings) {
  const auto rows = *schema::ENCODINGS;
  for (unsigned i = 0; i < rows.size(); ++i) {
    const auto ours = static_cast<Encoding>(i + 1);
    EXPECT_EQ(rows[i].getNumber(), i + 1);
    EXPECT_EQ(view(rows[i].getName()), encoding_name(ours));
    EXPECT_EQ(rows[i].getPlaneWidth(), plane_width(ours)) << encoding_name(ours);
    EXPECT_EQ(rows[i].getRotated() == 1, sign_rotated(ours)) << encoding_name(ours);
    EXPECT_EQ(view(rows[i].getName()) != "raw", is_coded(ours)) << encoding_name(ours);
    EXPECT_TRUE(is_encoding(i + 1));
  }
  EXPECT_FALSE(is_encoding(0));
  EXPECT_FALSE(is_encoding(rows.size() + 1));
  constexpr std::pair<Encoding, std::string_view> enumerators[] = {
      {Encoding::raw, "raw"},
      {Encoding::zstd, "zstd"},
      {Encoding::zstd_planes2, "zstd-planes2"},
      {Encoding::zstd_planes4, "zstd-planes4"},
      {Encoding::zstd_planes8, "zstd-planes8"},
      {Encoding::zstd_rotated2, "zstd-rotated2"},
      {Encoding::zstd_rotated4, "zstd-rotated4"},
      {Encoding::zstd_rotated8, "zstd-rotated8"},
  };
  EXPECT_EQ(std::size(enumerators), rows.size());
  for (const auto& [encoding, name] : enumerators) EXPECT_EQ(encoding_name(encoding), name);
}

using Named = std::map<std::uint64_t, std::string>;

Named named(capnp::List<schema::Named>::Reader rows) {
  Named out;
  for (const auto& row : rows) out[row.getNumber()] = view(row.getName());
  EXPECT_EQ(out.size(), rows.size()) << "a number stands twice";
  EXPECT_EQ(out.count(0), 0) << "0 is in no table";
  return out;
}

TEST(SchemaTables, SmallTables) {
  EXPECT_EQ(named(*schema::ACCESSES),
            (Named{{number(Access::immutable), "immutable"}, {number(Access::mutable_), "mutable"}}));
  EXPECT_EQ(named(*schema::ORIGINS),
            (Named{{number(Origin::stored), "stored"}, {number(Origin::external), "external"}}));
  EXPECT_EQ(named(*schema::PLACEMENTS), (Named{{number(Placement::any), "any"},
                                               {number(Placement::host), "host"},
                                               {number(Placement::device), "device"}}));
  EXPECT_EQ(named(*schema::VARIANT_KINDS),
            (Named{{number(VariantKind::regular), "regular"}, {number(VariantKind::fallback), "fallback"}}));
  EXPECT_EQ(named(*schema::OWNER_KINDS), (Named{{number(OwnerKind::model), "model"},
                                                {number(OwnerKind::library), "library"},
                                                {number(OwnerKind::method), "method"}}));
  EXPECT_EQ(named(*schema::VALUE_KINDS), (Named{{number(ValueKind::text), "text"},
                                                {number(ValueKind::bytes), "bytes"},
                                                {number(ValueKind::json), "json"}}));
}

// --- The checks take the numbers of the tables, and no others ---------------------------------

using SetNumber = std::function<void(samples::Sample&, std::uint64_t)>;

// True if check_model has nothing against the number: it may have something against what the number means.
bool is_listed(const SetNumber& set, std::uint64_t value) {
  auto sample = samples::rich_model();
  set(sample, value);
  const auto checked = model::check_model(sample.model, {});
  return checked || checked.error().code != ErrorCode::unlisted_number;
}

void expect_listed(const char* what, const Named& table, const SetNumber& set) {
  for (std::uint64_t value = 0; value < 256; ++value)
    EXPECT_EQ(is_listed(set, value), table.contains(value)) << what << " " << value;
}

TEST(SchemaTables, ChecksTakeExactlyTheListedNumbers) {
  expect_listed("access", named(*schema::ACCESSES), [](samples::Sample& s, std::uint64_t value) {
    s.model.storages[samples::rich::cache_storage].access = static_cast<Access>(value);
  });
  expect_listed("origin", named(*schema::ORIGINS), [](samples::Sample& s, std::uint64_t value) {
    s.model.storages[samples::rich::cache_storage].origin = static_cast<Origin>(value);
  });
  expect_listed("placement", named(*schema::PLACEMENTS), [](samples::Sample& s, std::uint64_t value) {
    s.model.storages[samples::rich::cache_storage].placement = static_cast<Placement>(value);
  });
  expect_listed("variant kind", named(*schema::VARIANT_KINDS), [](samples::Sample& s, std::uint64_t value) {
    s.model.libraries[samples::rich::kernels].variants[2].kind = static_cast<VariantKind>(value);
  });
  expect_listed("owner kind", named(*schema::OWNER_KINDS), [](samples::Sample& s, std::uint64_t value) {
    s.model.tensors[samples::rich::bias].owner.kind = static_cast<OwnerKind>(value);
  });
  expect_listed("value kind", named(*schema::VALUE_KINDS), [](samples::Sample& s, std::uint64_t value) {
    s.model.metadata[0].kind = static_cast<ValueKind>(value);
  });
}

TEST(SchemaTables, ChecksTakeExactlyTheListedDTypes) {
  for (std::uint64_t value = 0; value <= 0xFFFF; value += value < 300 ? 1 : 97) {
    const auto set = [](samples::Sample& s, std::uint64_t dtype) {
      s.model.tensors[samples::rich::cache].dtype = static_cast<DType>(dtype);
    };
    EXPECT_EQ(is_listed(set, value), value >= 1 && value <= schema::DTYPES->size()) << value;
  }
}

TEST(SchemaTables, LayoutsTakeExactlyTheListedEncodings) {
  for (unsigned value = 0; value < 256; ++value) {
    const auto sample = samples::rich_model();
    auto layout = samples::rich_layout();
    layout.segments[0].encoding = static_cast<Encoding>(value);
    const auto placed = model::place_layout(layout, sample.model, {}, 0);
    ASSERT_FALSE(placed);  // of the layout's offset at the latest
    EXPECT_EQ(placed.error().code != ErrorCode::unlisted_number,
              value >= 1 && value <= schema::ENCODINGS->size());
  }
}

// --- Limits -----------------------------------------------------------------------------------

TEST(SchemaTables, Limits) {
  EXPECT_EQ(limits::max_message_bytes, schema::MAX_MESSAGE_BYTES);
  EXPECT_EQ(limits::max_tensors, schema::MAX_TENSORS);
  EXPECT_EQ(limits::max_storages, schema::MAX_STORAGES);
  EXPECT_EQ(limits::max_contents, schema::MAX_CONTENTS);
  EXPECT_EQ(limits::max_methods, schema::MAX_METHODS);
  EXPECT_EQ(limits::max_libraries, schema::MAX_LIBRARIES);
  EXPECT_EQ(limits::max_variants, schema::MAX_VARIANTS);
  EXPECT_EQ(limits::max_blobs, schema::MAX_BLOBS);
  EXPECT_EQ(limits::max_rank, schema::MAX_RANK);
  EXPECT_EQ(limits::max_name_bytes, schema::MAX_NAME_BYTES);
  EXPECT_EQ(limits::max_pairs, schema::MAX_PAIRS);
  EXPECT_EQ(limits::max_value_bytes, schema::MAX_VALUE_BYTES);
  EXPECT_EQ(limits::max_bytes, schema::MAX_BYTES);
  EXPECT_EQ(limits::min_chunk_log2, schema::MIN_CHUNK_LOG2);
  EXPECT_EQ(limits::max_chunk_log2, schema::MAX_CHUNK_LOG2);
  EXPECT_EQ(limits::min_alignment_log2, schema::MIN_ALIGNMENT_LOG2);
  EXPECT_EQ(limits::max_alignment_log2, schema::MAX_ALIGNMENT_LOG2);
  EXPECT_EQ(limits::required_message_bytes, limits::max_message_bytes / 2);
}

TEST(SchemaTables, Versions) {
  EXPECT_EQ(Model{}.major, wire::supported_major);
  EXPECT_EQ(Model{}.minor, wire::supported_minor);
  EXPECT_EQ(Layout{}.major, wire::supported_major);
  EXPECT_EQ(Layout{}.minor, wire::supported_minor);
  EXPECT_EQ(std::to_string(wire::supported_major) + "." + std::to_string(wire::supported_minor),
            format_version);
}

// --- Shapes -----------------------------------------------------------------------------------

unsigned bits_of(capnp::Type type) {
  switch (type.which()) {
    case capnp::schema::Type::UINT8:
      return 8;
    case capnp::schema::Type::UINT16:
      return 16;
    case capnp::schema::Type::UINT32:
      return 32;
    case capnp::schema::Type::UINT64:
      return 64;
    default:
      return 0;  // a pointer, or what EVO-4 rules out
  }
}

std::string kind_name(PointerKind kind) {
  constexpr const char* names[] = {"Text", "Data", "List(UInt32)", "List(UInt64)", "List(struct)"};
  return names[static_cast<std::size_t>(kind)];
}

std::string kind_name(capnp::Type type) {
  switch (type.which()) {
    case capnp::schema::Type::TEXT:
      return "Text";
    case capnp::schema::Type::DATA:
      return "Data";
    case capnp::schema::Type::LIST:
      break;
    default:
      return "not in a message";
  }
  switch (type.asList().getElementType().which()) {
    case capnp::schema::Type::UINT32:
      return "List(UInt32)";
    case capnp::schema::Type::UINT64:
      return "List(UInt64)";
    case capnp::schema::Type::STRUCT:
      return "List(struct)";
    default:
      return "not in a message";
  }
}

class ShapesAgainstSchema : public testing::Test {
 protected:
  void compare(capnp::StructSchema schema, const StructShape& shape) {
    const std::string name = schema.getShortDisplayName().cStr();
    if (!seen_.insert(name).second) return;
    const auto form = schema.getProto().getStruct();
    ASSERT_EQ(shape.data_masks.size(), form.getDataWordCount()) << name;
    ASSERT_EQ(shape.pointers.size(), form.getPointerCount()) << name;
    std::vector<std::uint64_t> masks(form.getDataWordCount());
    std::size_t pointers = 0;
    for (const auto field : schema.getFields()) {
      check_style(field, name);
      if (const unsigned bits = bits_of(field.getType()); bits != 0) {
        const unsigned first = field.getProto().getSlot().getOffset() * bits;
        masks[first / 64] |= ~std::uint64_t{0} >> (64 - bits) << first % 64;
      } else {
        compare_pointer(field, shape, name);
        ++pointers;
      }
    }
    for (std::size_t i = 0; i < masks.size(); ++i)
      EXPECT_EQ(masks[i], shape.data_masks[i]) << name << " word " << i;
    EXPECT_EQ(pointers, shape.pointers.size()) << name;
  }

  // [EVO-4]
  static void check_style(capnp::StructSchema::Field field, const std::string& of) {
    const auto proto = field.getProto();
    const std::string name = of + "." + proto.getName().cStr();
    ASSERT_TRUE(proto.isSlot()) << name << " is a group";
    EXPECT_FALSE(proto.getSlot().getHadExplicitDefault()) << name;
    EXPECT_EQ(proto.getDiscriminantValue(), capnp::schema::Field::NO_DISCRIMINANT)
        << name << " is in a union";
    EXPECT_TRUE(bits_of(field.getType()) != 0 || kind_name(field.getType()) != "not in a message") << name;
  }

  void compare_pointer(capnp::StructSchema::Field field, const StructShape& shape, const std::string& of) {
    const std::string name = of + "." + field.getProto().getName().cStr();
    const auto& pointer = shape.pointers[field.getProto().getSlot().getOffset()];
    EXPECT_EQ(kind_name(pointer.kind), kind_name(field.getType())) << name;
    ASSERT_EQ(pointer.element != nullptr, pointer.kind == PointerKind::struct_list) << name;
    if (pointer.element == nullptr) return;
    compare(field.getType().asList().getStructElementType(), *pointer.element);
    shapes_[field.getType().asList().getStructElementType().getShortDisplayName().cStr()].insert(
        pointer.element);
  }

  std::set<std::string> seen_;
  std::map<std::string, std::set<const StructShape*>> shapes_;  // of each struct
};

TEST_F(ShapesAgainstSchema, Model) {
  compare(capnp::Schema::from<schema::Model>(), wire::model_shape);
  EXPECT_EQ(seen_, (std::set<std::string>{"Model", "Content", "Storage", "Library", "Variant", "Method",
                                          "Tensor", "Blob", "Pair"}));
  for (const auto& [name, shapes] : shapes_) EXPECT_EQ(shapes.size(), 1) << name;  // so each was compared
}

TEST_F(ShapesAgainstSchema, Layout) {
  compare(capnp::Schema::from<schema::Layout>(), wire::layout_shape);
  EXPECT_EQ(seen_, (std::set<std::string>{"Layout", "Segment"}));
}

}  // namespace
}  // namespace ptd
