// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Slices of strided views: which elements, and how little is read for them.
#include <gtest/gtest.h>

#include <set>

#include "tests/write_samples.hpp"

namespace ptd {
namespace {

using namespace write_test;

using Region = std::vector<Slice>;

std::uint64_t bytes_in(const Tensor& view, const Region& region) {
  std::uint64_t count = 1;
  for (const auto& part : region) count *= part.count();
  return (count * dtype_bits(view.dtype) + 7) / 8;
}

Buffer read_part(const Reader& reader, std::uint32_t tensor, const Region& region,
                 const ReadOptions& options = {}) {
  Buffer out(bytes_in(reader.model().tensors[tensor], region), std::byte{0xA5});
  must(reader.read_region(tensor, region, out, options));
  return out;
}

ReadReport report_of(const Reader& reader, std::string_view name, const Region& region,
                     const ReadOptions& options = {}) {
  const auto tensor = index_of(reader, name);
  Buffer out(bytes_in(reader.model().tensors[tensor], region));
  const auto report = must(reader.read_region(tensor, region, out, options));
  EXPECT_EQ(report.wanted_bytes, out.size());
  Buffer all(reader.model().storages[reader.model().tensors[tensor].storage].size);
  must(reader.read_storage(reader.model().tensors[tensor].storage, 0, all));
  EXPECT_EQ(out, gather_slowly(reader.model().tensors[tensor], all, region));
  return report;
}

// --- which elements ------------------------------------------------------------------------------------

TEST(Slices, CountTheirElements) {
  constexpr std::uint64_t most = ~std::uint64_t{0};
  static_assert(Slice{0, 10, 1}.count() == 10);
  static_assert(Slice{0, 10, 3}.count() == 4);
  static_assert(Slice{0, 9, 3}.count() == 3);
  static_assert(Slice{1, 10, 3}.count() == 3);
  static_assert(Slice{9, 10, 100}.count() == 1);
  static_assert(Slice{0, most, 1}.count() == most);
  static_assert(Slice{0, most, most}.count() == 1);
  static_assert(Slice{0, 2, most}.count() == 1);
  static_assert(Slice{3, 1, 1}.count() == 0);
  static_assert(Slice{0, 0, 2}.count() == 0);
  static_assert(Slice{most, 0, 1}.count() == 0);
  static_assert(Slice{}.count() == 0);
}

// C061: what is empty is empty and no error; what is outside is an error and not empty.
TEST(Slices, EmptyOrOutside) {
  Writer writer;
  put(writer, "t", noise(12), {.sizes = {{4, 3}}});
  put(writer, "scalar", noise(4), {.dtype = DType::float32, .sizes = {Sizes{}}});
  put(writer, "none", nullptr, {.sizes = {{0, 3}}});
  const auto reader = opened(written(writer));
  struct Row {
    std::string_view tensor;
    Region region;
    std::uint64_t bytes;
    std::string_view result;
  };
  constexpr std::uint64_t most = ~std::uint64_t{0};
  const Row rows[] = {
      {"t", {{0, 4, 1}, {0, 3, 1}}, 12, "ok"},
      {"t", {{3, 1, 1}, {0, 3, 1}}, 0, "ok"},
      {"t", {{0, 0, 2}, {0, 3, 1}}, 0, "ok"},
      {"t", {{0, 4, 1}, {2, 1, 1}}, 0, "ok"},
      {"t", {{4, 4, 1}, {3, 3, 1}}, 0, "ok"},
      {"t", {{4, 0, 1}, {0, 3, 1}}, 0, "ok"},
      {"t", {{0, 4, most}, {0, 3, most}}, 1, "ok"},
      {"t", {{1, 4, 2}, {2, 3, 5}}, 2, "ok"},
      {"t", {{0, 5, 1}, {0, 3, 1}}, 15, "argument"},
      {"t", {{0, 5, 100}, {0, 3, 1}}, 3, "argument"},
      {"t", {{5, 5, 1}, {0, 3, 1}}, 0, "argument"},
      {"t", {{5, 2, 1}, {0, 3, 1}}, 0, "argument"},
      {"t", {{most, 0, 1}, {0, 3, 1}}, 0, "argument"},
      {"t", {{0, most, 1}, {0, 3, 1}}, 12, "argument"},
      {"t", {{0, 4, 0}, {0, 3, 1}}, 0, "argument"},
      {"t", {{0, 0, 1}, {0, 4, 1}}, 0, "argument"},
      {"t", {{0, 4, 1}}, 4, "argument"},
      {"t", {{0, 4, 1}, {0, 3, 1}, {0, 1, 1}}, 12, "argument"},
      {"t", {}, 12, "argument"},
      {"t", {{0, 4, 1}, {0, 3, 1}}, 11, "argument"},
      {"t", {{0, 4, 1}, {0, 3, 1}}, 13, "argument"},
      {"t", {{3, 1, 1}, {0, 3, 1}}, 1, "argument"},
      {"scalar", {}, 4, "ok"},
      {"scalar", {{0, 1, 1}}, 4, "argument"},
      {"none", {{0, 0, 1}, {0, 3, 1}}, 0, "ok"},
      {"none", {{0, 0, 1}, {1, 3, 1}}, 0, "ok"},
      {"none", {{0, 1, 1}, {0, 3, 1}}, 3, "argument"},
      {"none", {{0, 0, 1}, {0, 4, 1}}, 0, "argument"},
  };
  for (const auto& row : rows) {
    Buffer out(row.bytes);
    const auto read = reader.read_region(index_of(reader, row.tensor), row.region, out);
    EXPECT_EQ(code_of(read), row.result) << (&row - rows);
    if (!read) {
      EXPECT_EQ(read.error().subject, row.tensor);
    }
    if (read && row.bytes == 0) {
      EXPECT_EQ(read->chunks, 0U);
    }
  }
  EXPECT_EQ(read_part(reader, index_of(reader, "t"), {{1, 4, 2}, {2, 3, 5}}),
            (Buffer{noise(12)[5], noise(12)[11]}));
}

// C076.
TEST(Regions, OfTurnedViews) {
  Writer writer;
  const auto all = noise(240 * 2);
  const auto storage = must(writer.add_storage(storage_of(own_memory(all))));
  must(writer.add_tensor(view_of(storage, "transposed", 480,
                                 {.dtype = DType::float16, .sizes = {{4, 3}}, .strides = {{1, 4}}})));
  must(writer.add_tensor(
      view_of(storage, "channels last", 480,
              {.dtype = DType::float16, .sizes = {{2, 3, 4, 5}}, .strides = {{60, 1, 15, 3}}})));
  must(writer.add_tensor(view_of(
      storage, "bias", 480, {.dtype = DType::float16, .sizes = {{7, 5}}, .strides = {{0, 1}}, .offset = 3})));
  const auto reader = opened(written(writer));
  for (std::uint32_t i = 0; i < 3; ++i) {
    const auto& view = reader.model().tensors[i];
    EXPECT_FALSE(is_contiguous(view));
    EXPECT_EQ(read_all(reader, i), gather_slowly(view, all, whole(view.sizes))) << view.name;
  }
  const auto turned = read_all(reader, "transposed");
  for (std::size_t row = 0; row < 4; ++row)
    for (std::size_t column = 0; column < 3; ++column)
      EXPECT_EQ(slice(turned, 2 * (3 * row + column), 2), slice(all, 2 * (row + 4 * column), 2));
  EXPECT_EQ(slice(read_all(reader, "bias"), 20, 10), slice(all, 6, 10));
}

class RandomRegions : public testing::TestWithParam<DType> {};

std::vector<DType> all_dtypes() {
  std::vector<DType> out;
  for (const auto& row : dtype_table) out.push_back(row.dtype);
  return out;
}

INSTANTIATE_TEST_SUITE_P(DTypes, RandomRegions, testing::ValuesIn(all_dtypes()),
                         [](const auto& row) { return std::string(dtype_name(row.param)); });

struct Views {
  explicit Views(DType of) : dtype(of), random(static_cast<unsigned>(of)) {}

  std::uint64_t below(std::uint64_t bound) { return random() % bound; }

  // Any view that fits the storage; elements smaller than a byte have no choice of strides.
  Put make(std::uint64_t elements) {
    for (;;) {
      Put put{.dtype = dtype, .sizes = Sizes(below(5)), .offset = below(elements / 2)};
      for (auto& size : *put.sizes) size = 1 + below(below(4) == 0 ? 60 : 7);
      put.strides = contiguous_strides(*put.sizes);
      if (is_sub_byte(dtype)) {
        put.offset &= ~std::uint64_t{7};
      } else if (below(3) != 0) {
        for (auto& stride : *put.strides) stride = below(40);
        if (below(2) == 0 && !put.strides->empty()) put.strides->back() = 1;
      } else {
        std::ranges::reverse(*put.sizes);
        std::ranges::reverse(*put.strides);
      }
      std::uint64_t end = put.offset + 1;
      for (std::size_t i = 0; i < put.sizes->size(); ++i) end += ((*put.sizes)[i] - 1) * (*put.strides)[i];
      if (end <= elements) return put;
    }
  }

  Region region(std::span<const std::uint64_t> sizes) {
    Region out;
    for (const auto size : sizes) {
      Slice part{below(size + 1), below(size + 1), 1 + below(3)};
      if (part.start > part.stop && below(4) != 0) std::swap(part.start, part.stop);
      if (below(3) == 0) part = {0, size, 1};
      out.push_back(part);
    }
    return out;
  }

  DType dtype;
  std::mt19937 random;
};

// Bits behind the last element of a view are zero in every file [SUB-3].
void clear_pad_bits(Buffer& content, DType dtype, const Put& view) {
  std::uint64_t elements = 1;
  for (const auto size : *view.sizes) elements *= size;
  const std::uint64_t end = (view.offset + elements) * dtype_bits(dtype);
  if (is_sub_byte(dtype) && end % 8 != 0 && end / 8 < content.size())
    content[end / 8] &= static_cast<std::byte>((1U << end % 8) - 1);
}

// In storages of several chunks, whose content ends before they do.
TEST_P(RandomRegions, AreWhatTheirDefinitionSays) {
  Views views(GetParam());
  const std::uint64_t elements = 24'000, content = elements * dtype_bits(GetParam()) / 8, size = content + 16;
  for (const bool compress : {false, true}) {
    std::vector<Put> puts;
    Buffer bytes = soft(content);
    for (int i = 0; i < 12; ++i)
      clear_pad_bits(bytes, GetParam(), puts.emplace_back(views.make(size * 8 / dtype_bits(GetParam()))));
    Writer writer;
    auto storage_spec = storage_of(own_memory(bytes));
    storage_spec.size = size;
    const auto storage = must(writer.add_storage(std::move(storage_spec)));
    for (std::size_t i = 0; i < puts.size(); ++i)
      must(writer.add_tensor(view_of(storage, "t" + std::to_string(i), size, puts[i])));
    const auto reader = opened(written(writer, options_of(compress, 1, 14)));
    for (std::uint32_t tensor = 0; tensor < 12; ++tensor)
      for (int i = 0; i < 12; ++i) {
        const auto& view = reader.model().tensors[tensor];
        const auto region = views.region(view.sizes);
        const ReadOptions options{i % 3 != 0, 1U + static_cast<unsigned>(i) % 3};
        ASSERT_EQ(read_part(reader, tensor, region, options), gather_slowly(view, bytes, region))
            << view.name << " region " << i;
      }
  }
}

// --- how little is read --------------------------------------------------------------------------------

// 512 rows of 16 KiB: a chunk of 64 KiB is four rows, so there are 128 chunks.
class LargeRegions : public testing::TestWithParam<bool> {
 protected:
  static constexpr std::uint64_t rows = 512, columns = 4096, chunk = 65'536, chunks = 128;

  static const Reader& file(bool compress) {
    static const Reader files[] = {make(false), make(true)};
    return files[compress ? 1 : 0];
  }
  static Reader make(bool compress) {
    Writer writer;
    const auto storage = must(writer.add_storage(storage_of(own_memory(soft(rows * columns * 4)))));
    const auto size = rows * columns * 4;
    must(writer.add_tensor(
        view_of(storage, "w", size, {.dtype = DType::float32, .sizes = {{rows, columns}}})));
    must(writer.add_tensor(
        view_of(storage, "w.t", size,
                {.dtype = DType::float32, .sizes = {{columns, rows}}, .strides = {{1, columns}}})));
    must(writer.add_tensor(view_of(storage, "expanded", size,
                                   {.dtype = DType::float32, .sizes = {{5, columns}}, .strides = {{0, 1}}})));
    must(writer.add_tensor(view_of(storage, "bytes", size)));
    return opened(written(writer, options_of(compress)));
  }

  void SetUp() override {
    ASSERT_EQ(is_coded(file(GetParam()).layout().segments.at(0).encoding), GetParam());
    ASSERT_EQ(file(GetParam()).layout().segments.at(0).chunks, chunks);
  }
};

INSTANTIATE_TEST_SUITE_P(Files, LargeRegions, testing::Bool(),
                         [](const auto& row) { return row.param ? "coded" : "raw"; });

TEST_P(LargeRegions, TouchOnlyTheChunksThatTheyNeed) {
  struct Row {
    std::string_view tensor;
    Region region;
    std::uint64_t chunks;
  };
  const Row table[] = {
      {"w", {{0, rows, 1}, {0, columns, 1}}, chunks},
      {"w", {{5, 6, 1}, {0, columns, 1}}, 1},
      {"w", {{3, 9, 1}, {0, columns, 1}}, 3},
      {"w", {{4, 8, 1}, {0, columns, 1}}, 1},
      {"w", {{0, rows, 8}, {0, columns, 1}}, chunks / 2},
      {"w", {{2, rows, 100}, {17, 19, 1}}, 6},
      {"w", {{0, rows, 1}, {7, 8, 1}}, chunks},
      {"w", {{0, 4, 1}, {7, 8, 1}}, 1},
      {"w", {{0, 1, 1}, {0, 1, 1}}, 1},
      {"w", {{300, 301, 1}, {1234, 1235, 1}}, 1},
      {"w", {{rows - 1, rows, 1}, {columns - 1, columns, 1}}, 1},
      {"w", {{3, 5, 1}, {columns - 1, columns, 1}}, 2},
      {"w.t", {{0, columns, 1}, {5, 6, 1}}, 1},
      {"w.t", {{7, 8, 1}, {0, rows, 1}}, chunks},
      {"w.t", {{0, columns, 1}, {0, rows, 1}}, chunks},
      {"expanded", {{0, 5, 1}, {0, columns, 1}}, 1},
      {"bytes", {{65'535, 65'537, 1}}, 2},
      {"bytes", {{65'536, 131'072, 1}}, 1},
      {"bytes", {{0, rows * columns * 4, 1'000'000}}, 9},
  };
  const auto& reader = file(GetParam());
  for (const auto& [tensor, region, expected] : table)
    for (const unsigned threads : {1U, 7U}) {
      const auto report = report_of(reader, tensor, region, {true, threads});
      EXPECT_EQ(report.chunks, expected)
          << tensor << " region " << bytes_in(tensor_of(reader, tensor), region);
      EXPECT_EQ(report.raw_bytes, expected * chunk);
      if (GetParam()) {
        EXPECT_LT(report.stored_bytes, report.raw_bytes / 2);
      } else {
        EXPECT_EQ(report.stored_bytes, report.raw_bytes);
      }
    }
}

// Very many short runs: each chunk is still read once, as long as the view goes one way through its storage.
TEST_P(LargeRegions, OfManyRunsReadEachChunkOnce) {
  const auto& reader = file(GetParam());
  EXPECT_EQ(report_of(reader, "bytes", {{7, rows * columns * 4, 3}}).chunks, chunks);
  EXPECT_EQ(report_of(reader, "bytes", {{0, rows * columns * 4, 2}}).chunks, chunks);
  EXPECT_EQ(report_of(reader, "w", {{1, rows, 1}, {0, columns, 3}}).chunks, chunks);
}

TEST_P(LargeRegions, OfManyRunsInLargeChunksReadEachChunkOnce) {
  Writer writer;
  put(writer, "bytes", soft(3 << 20));
  const auto reader = opened(written(writer, options_of(GetParam(), 0, 20)));
  EXPECT_EQ(report_of(reader, "bytes", {{0, 3 << 20, 2}}).chunks, 3U);
}

TEST_P(LargeRegions, WithoutChecksReadWhatIsWanted) {
  const auto& reader = file(GetParam());
  const auto tensor = index_of(reader, "bytes"), storage = reader.model().tensors[tensor].storage;
  Buffer out(1000);
  const auto report = must(reader.read_storage(storage, 65'000, out, {false, 0}));
  EXPECT_EQ(out, slice(soft(rows * columns * 4), 65'000, 1000));
  EXPECT_EQ(report.chunks, 2U);
  EXPECT_EQ(report.wanted_bytes, 1000U);
  EXPECT_EQ(report.raw_bytes, GetParam() ? 2 * chunk : 1000);
  const auto checked = must(reader.read_storage(storage, 65'000, out, {true, 0}));
  EXPECT_EQ(checked.raw_bytes, 2 * chunk);
  const auto row = report_of(reader, "w", {{5, 6, 1}, {0, columns, 1}}, {false, 0});
  EXPECT_EQ(row.raw_bytes, GetParam() ? chunk : columns * 4);
  const auto element = report_of(reader, "w", {{5, 6, 1}, {9, 10, 1}}, {false, 0});
  EXPECT_EQ(element.raw_bytes, GetParam() ? chunk : 4);
}

TEST_P(LargeRegions, DoNotDependOnTheNumberOfThreads) {
  const auto& reader = file(GetParam());
  std::set<Buffer> results;
  for (const unsigned threads : {0U, 1U, 2U, 7U, 64U})
    results.insert(read_part(reader, index_of(reader, "w.t"), {{3, 4000, 7}, {0, rows, 3}}, {true, threads}));
  EXPECT_EQ(results.size(), 1U);
}

// What lies behind a content needs no chunk at all.
TEST(Regions, BehindTheContentTouchNothing) {
  Writer writer;
  put(writer, "t", soft(100'000), {.size = 1'000'000});
  const auto reader = opened(written(writer, options_of(true)));
  EXPECT_EQ(report_of(reader, "t", {{100'000, 1'000'000, 1}}).chunks, 0U);
  EXPECT_EQ(report_of(reader, "t", {{200'000, 1'000'000, 3}}).chunks, 0U);
  EXPECT_EQ(report_of(reader, "t", {{99'999, 1'000'000, 1}}).chunks, 1U);
  EXPECT_EQ(report_of(reader, "t", {{0, 1'000'000, 1}}).chunks, 2U);

  Writer small;
  put(small, "t", soft(10), {.size = 100});
  const auto file = opened(written(small));
  EXPECT_EQ(report_of(file, "t", {{10, 100, 2}}).chunks, 0U);
  EXPECT_EQ(report_of(file, "t", {{50, 51, 1}}).chunks, 0U);
  EXPECT_EQ(report_of(file, "t", {{9, 100, 7}}).chunks, 1U);
}

TEST(Regions, OfZerosTouchNothing) {
  Writer writer;
  put(writer, "t", zero_source(1'000'000));
  const auto reader = opened(written(writer));
  EXPECT_EQ(report_of(reader, "t", {{0, 1'000'000, 7}}).stored_bytes, 0U);
}

}  // namespace
}  // namespace ptd
