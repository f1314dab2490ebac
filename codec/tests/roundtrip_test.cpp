// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// What is written is what is read: random models of every kind, many tensors, large storages.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <set>

#include "tests/write_samples.hpp"

namespace ptd {
namespace {

using namespace write_test;

// --- random models -------------------------------------------------------------------------------------

struct StorageSample {
  std::uint64_t size = 0;
  std::optional<Buffer> content;
  Access access = Access::immutable;
  Origin origin = Origin::stored;
  Placement placement = Placement::any;

  // The bytes that a file has to hold: none if they are all zero.
  [[nodiscard]] Buffer held() const { return content && !segment::all_zero(*content) ? *content : Buffer(); }
};

struct Sample {
  std::vector<StorageSample> storages;
  std::vector<TensorSpec> tensors;
  std::vector<BlobSpec> blobs;
  std::vector<Buffer> blob_bytes;  ///< whole, with the zeros behind the content
  std::vector<LibrarySpec> libraries;
  struct MethodSample {
    std::string name;
    std::vector<PairSpec> metadata;
    std::vector<std::uint32_t> tensors, libraries, blobs;
  };
  std::vector<MethodSample> methods;
  std::vector<PairSpec> metadata;
};

class Maker {
 public:
  explicit Maker(std::uint64_t seed) : random_(seed) {}

  Sample make() {
    sample_.metadata = pairs();
    const auto blobs = below(4);
    for (std::uint64_t i = 0; i < blobs; ++i) add_blob(i);
    const auto libraries = below(4);
    for (std::uint64_t i = 0; i < libraries; ++i) add_library(i);
    const auto methods = below(5);
    for (std::uint64_t i = 0; i < methods; ++i)
      sample_.methods.push_back({"method " + name(), pairs(), {}, {}, {}});
    const auto storages = below(24);
    for (std::uint64_t i = 0; i < storages; ++i) add_storage();
    for (std::uint32_t i = 0; i < sample_.methods.size(); ++i) bind(i);
    return std::move(sample_);
  }

 private:
  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }
  bool chance(unsigned percent) { return below(100) < percent; }

  // Unique, and not always pretty.
  std::string name() {
    static const std::array<std::string, 7> stems = {
        "layers.0.attn.weight", "__metadata__", "\xC3\xA9\xF0\x9F\x98\x80", "\x1B[2J", " ", "a/b\\c\"",
        std::string(1000, 'n')};
    return stems[below(stems.size())] + std::to_string(names_++);
  }

  std::vector<PairSpec> pairs() {
    std::vector<PairSpec> out;
    while (chance(30)) {
      const auto kind = static_cast<ValueKind>(1 + below(3));
      const auto size = below(20);
      std::string value = kind == ValueKind::text   ? std::string(size, '\0')
                          : kind == ValueKind::json ? "[1]"
                                                    : "";
      if (kind == ValueKind::bytes)
        for (std::uint64_t i = 0; i < size; ++i) value += static_cast<char>(below(256));
      out.push_back({"key " + name(), value, kind});
    }
    return out;
  }

  Buffer content(std::uint64_t size) {
    if (chance(25) && !sample_.storages.empty()) {
      const auto& twin = sample_.storages[below(sample_.storages.size())];
      if (twin.content && twin.content->size() <= size) return *twin.content;
    }
    switch (below(4)) {
      case 0:
        return Buffer(size);
      case 1:
        return noise(size, random_());
      default:
        return soft(size, random_());
    }
  }

  void add_blob(std::uint64_t number) {
    const auto size = below(4) * below(700), more = chance(30) ? below(100) : 0;
    Buffer held = content(size);
    BlobSpec blob{"blob " + name(), number == 0 ? nullptr : own_memory(held), 0,
                  chance(50) ? "text/plain" : "", pairs()};
    if (number == 0) held = {};
    if (more > 0) blob.size = held.size() + more;
    held.resize(held.size() + more);
    sample_.blobs.push_back(std::move(blob));
    sample_.blob_bytes.push_back(std::move(held));
  }

  void add_library(std::uint64_t number) {
    LibrarySpec library{"library " + name(), {}, pairs()};
    const auto blob = [&](VariantSpec variant) {
      variant.has_blob = !sample_.blobs.empty() && chance(60);
      if (variant.has_blob) variant.blob = BlobId{static_cast<std::uint32_t>(below(sample_.blobs.size()))};
      library.variants.push_back(std::move(variant));
    };
    if (number == 1) blob({});
    if (number == 2) {
      blob({false, {}, 90, 90, VariantKind::fallback, {}});
      blob({false, {}, 80, 0, VariantKind::regular, {}});
      blob({false, {}, 90, 75, VariantKind::regular, {}});
      blob({false, {}, 0, 0, VariantKind::regular, "gfx942"});
    }
    sample_.libraries.push_back(std::move(library));
  }

  struct View {
    Sizes sizes, strides;
  };

  Sizes small_sizes() {
    Sizes sizes(1 + below(4));
    for (auto& size : sizes) size = 1 + below(6);
    return sizes;
  }

  // Strides of dimensions of one element may be anything.
  void scramble(View& view) {
    for (std::size_t i = 0; i < view.sizes.size(); ++i)
      if (view.sizes[i] == 1 && chance(30)) view.strides[i] = random_();
  }

  View dense() {
    View view{small_sizes(), {}};
    if (chance(10)) view.sizes = {4000 + below(9000)};
    if (chance(15)) view.sizes = {};
    if (chance(10)) {
      view.sizes.assign(64, 1);
      for (int i = 0; i < 3; ++i) view.sizes[below(64)] = 2;
    }
    view.strides = contiguous_strides(view.sizes);
    scramble(view);
    return view;
  }

  View empty() {
    View view{small_sizes(), {}};
    view.strides.resize(view.sizes.size());
    for (auto& size : view.sizes)
      if (chance(40)) size = std::uint64_t{1} << (60 + below(4));
    for (auto& stride : view.strides) stride = random_();
    view.sizes[below(view.sizes.size())] = 0;
    return view;
  }

  View strided() {
    View view = dense();
    const auto kind = below(4);
    if (kind == 0) {
      for (std::size_t i = 0; i + 1 < view.sizes.size(); ++i) {
        const auto other = i + below(view.sizes.size() - i);
        std::swap(view.sizes[i], view.sizes[other]);
        std::swap(view.strides[i], view.strides[other]);
      }
      return view;
    }
    if (view.sizes.size() == 64) return view;
    for (std::size_t i = 0; i < view.sizes.size(); ++i) {
      if (view.sizes[i] == 1) continue;
      if (kind == 1) view.strides[i] *= 1 + below(3);    // gaps
      if (kind == 2 && chance(50)) view.strides[i] = 0;  // broadcast
      if (kind == 3) view.strides[i] = below(5);         // overlaps
    }
    return view;
  }

  static std::uint64_t end_of(const TensorSpec& tensor) {
    std::uint64_t end = tensor.storage_offset + 1;
    for (std::size_t i = 0; i < tensor.sizes.size(); ++i) {
      if (tensor.sizes[i] == 0) return tensor.storage_offset;
    }
    for (std::size_t i = 0; i < tensor.sizes.size(); ++i)
      if (tensor.sizes[i] > 1) end += (tensor.sizes[i] - 1) * tensor.strides[i];
    return end;
  }

  TensorSpec view() {
    TensorSpec tensor;
    tensor.dtype = static_cast<DType>(1 + below(38));
    const bool packed = is_sub_byte(tensor.dtype);
    const View shape = chance(12) ? empty() : packed || chance(40) ? dense() : strided();
    tensor.sizes = shape.sizes;
    tensor.strides = shape.strides;
    if (chance(40)) tensor.storage_offset = below(5) * (packed ? 8 : 1);
    tensor.name = name();
    if (chance(10)) {
      tensor.dtype = DType::uint8;
      tensor.scheme = "ggml.q4_K";
      tensor.logical_sizes = {256, 3};
    }
    tensor.metadata = pairs();
    return tensor;
  }

  OwnerSpec owner() {
    const auto kind = below(3);
    if (kind == 1 && !sample_.libraries.empty())
      return OwnerSpec::library(LibraryId{static_cast<std::uint32_t>(below(sample_.libraries.size()))});
    if (kind == 2 && !sample_.methods.empty())
      return OwnerSpec::method(MethodId{static_cast<std::uint32_t>(below(sample_.methods.size()))});
    return {};
  }

  void add_storage() {
    StorageSample storage;
    const auto number = static_cast<std::uint32_t>(sample_.storages.size());
    const auto first = sample_.tensors.size();
    for (std::uint64_t views = 1 + below(3); views > 0; --views) {
      auto tensor = view();
      tensor.storage = StorageId{number};
      tensor.owner = owner();
      storage.size = std::max(storage.size, (end_of(tensor) * dtype_bits(tensor.dtype) + 7) / 8);
      // Now and then the method's own tensor of the same name, which is the same one.
      if (tensor.owner.kind == OwnerKind::model && !sample_.methods.empty() && chance(15)) {
        auto twin = tensor;
        twin.owner = OwnerSpec::method(MethodId{static_cast<std::uint32_t>(below(sample_.methods.size()))});
        sample_.tensors.push_back(std::move(twin));
      }
      sample_.tensors.push_back(std::move(tensor));
    }
    if (chance(50)) storage.size += below(20);
    if (chance(85)) storage.content = content(chance(70) ? storage.size : below(storage.size + 1));
    storage.access = chance(30) ? Access::mutable_ : Access::immutable;
    storage.placement = static_cast<Placement>(1 + below(3));
    if (!storage.content && chance(50)) storage.origin = Origin::external;
    if (storage.content)
      for (auto i = first; i < sample_.tensors.size(); ++i)
        clear_pad_bits(sample_.tensors[i], *storage.content);
    sample_.storages.push_back(std::move(storage));
  }

  static void clear_pad_bits(const TensorSpec& tensor, Buffer& content) {
    const auto bits = dtype_bits(tensor.dtype);
    std::uint64_t count = 1;
    for (const auto size : tensor.sizes) {
      if (size == 0) return;
      count *= size;
    }
    const auto end = (tensor.storage_offset + count) * bits;  // sub-byte views are dense
    if (is_sub_byte(tensor.dtype) && end % 8 != 0 && end / 8 < content.size())
      content[end / 8] &= static_cast<std::byte>((1U << (end % 8)) - 1);
  }

  void bind(std::uint32_t number) {
    auto& method = sample_.methods[number];
    for (std::uint32_t i = 0; i < sample_.libraries.size(); ++i)
      if (chance(50)) method.libraries.push_back(i);
    for (std::uint32_t i = 0; i < sample_.blobs.size(); ++i)
      if (chance(50)) method.blobs.push_back(i);
    std::set<std::string> bound;
    for (const bool own : {true, false})
      for (std::uint32_t i = 0; i < sample_.tensors.size(); ++i) {
        const auto& [kind, id] = sample_.tensors[i].owner;
        if (own != (kind == OwnerKind::method) || !chance(50)) continue;
        if (own && id != number) continue;
        if (kind == OwnerKind::library && std::ranges::find(method.libraries, id) == method.libraries.end())
          continue;
        if (kind == OwnerKind::library || bound.insert(sample_.tensors[i].name).second)
          method.tensors.push_back(i);
      }
  }

  std::mt19937_64 random_;
  Sample sample_;
  std::uint64_t names_ = 0;
};

void fill(Writer& writer, const Sample& sample) {
  for (const auto& blob : sample.blobs) must(writer.add_blob(blob));
  for (const auto& library : sample.libraries) must(writer.add_library(library));
  for (const auto& method : sample.methods) must(writer.add_method(method.name, method.metadata));
  for (const auto& storage : sample.storages)
    must(writer.add_storage({storage.size, storage.content ? own_memory(*storage.content) : nullptr,
                             storage.access, storage.origin, storage.placement, "sample"}));
  for (const auto& tensor : sample.tensors) must(writer.add_tensor(tensor));
  for (std::uint32_t i = 0; i < sample.methods.size(); ++i) {
    for (const auto tensor : sample.methods[i].tensors) must(writer.bind(MethodId{i}, TensorId{tensor}));
    for (const auto library : sample.methods[i].libraries) must(writer.bind(MethodId{i}, LibraryId{library}));
    for (const auto blob : sample.methods[i].blobs) must(writer.bind(MethodId{i}, BlobId{blob}));
  }
  for (const auto& pair : sample.metadata) must(writer.add_metadata(pair));
}

// --- what must come back -------------------------------------------------------------------------------

void expect_pairs(const std::vector<Pair>& read, std::vector<PairSpec> expected) {
  std::ranges::sort(expected, {}, &PairSpec::key);
  EXPECT_EQ(pair_specs(read), expected);
}

class Comparison {
 public:
  Comparison(const Sample& sample, const Reader& reader)
      : sample_(sample), reader_(reader), model_(reader.model()) {
    for (const auto& tensor : sample.tensors)
      places_.push_back(index_of(reader, tensor.name, owner_of(tensor.owner)));
  }

  void run() {
    ASSERT_EQ(model_.tensors.size(), sample_.tensors.size());
    for (std::size_t i = 0; i < places_.size(); ++i) compare(sample_.tensors[i], places_[i]);
    compare_sharing();
    compare_blobs();
    compare_libraries();
    compare_methods();
    expect_pairs(model_.metadata, sample_.metadata);
  }

 private:
  Owner owner_of(const OwnerSpec& owner) const {
    if (owner.kind == OwnerKind::library)
      return {owner.kind, *model_.find_library(sample_.libraries[owner.id].name)};
    if (owner.kind == OwnerKind::method)
      return {owner.kind, *model_.find_method(sample_.methods[owner.id].name)};
    return {};
  }

  const StorageSample& storage_of(const TensorSpec& tensor) const {
    return sample_.storages[static_cast<std::uint32_t>(tensor.storage)];
  }

  void compare(const TensorSpec& expected, std::uint32_t place) {
    SCOPED_TRACE(expected.name);
    const Tensor& read = model_.tensors[place];
    EXPECT_EQ(read.dtype, expected.dtype);
    EXPECT_EQ(read.storage_offset, expected.storage_offset);
    EXPECT_EQ(Sizes(read.sizes.begin(), read.sizes.end()), expected.sizes);
    EXPECT_EQ(Sizes(read.strides.begin(), read.strides.end()), expected.strides);
    EXPECT_EQ(read.scheme, expected.scheme);
    EXPECT_EQ(Sizes(read.logical_sizes.begin(), read.logical_sizes.end()), expected.logical_sizes);
    expect_pairs(read.metadata, expected.metadata);
    const StorageSample& from = storage_of(expected);
    const Storage& storage = model_.storages[read.storage];
    EXPECT_EQ(storage.size, from.size);
    EXPECT_EQ(storage.access, from.access);
    EXPECT_EQ(storage.origin, from.origin);
    EXPECT_EQ(storage.placement, from.placement);
    compare_bytes(place, from);
  }

  void compare_bytes(std::uint32_t place, const StorageSample& from) {
    const Tensor& read = model_.tensors[place];
    Buffer out(logical_bytes(read), std::byte{0xA5});
    const auto report = reader_.read_tensor(place, out, {true, 1 + place % 3});
    if (from.origin == Origin::external) {
      EXPECT_EQ(code_of(report), "argument");
      return;
    }
    ASSERT_TRUE(report) << report.error().to_string();
    EXPECT_EQ(report->wanted_bytes, out.size());
    EXPECT_EQ(out, gather_slowly(read, from.held(), whole(read.sizes)));
    Buffer bytes(from.size, std::byte{0xA5}), expected = from.held();
    expected.resize(from.size);
    must(reader_.read_storage(read.storage, 0, bytes));
    EXPECT_EQ(bytes, expected);
  }

  // One storage is one; two are one only if nothing can tell them apart.
  void compare_sharing() {
    std::set<Buffer> contents;
    for (const auto& storage : sample_.storages) contents.insert(storage.held());
    for (const auto& blob : sample_.blobs)
      if (blob.content)
        contents.insert(segment::all_zero(blob.content->in_memory())
                            ? Buffer()
                            : slice(blob.content->in_memory(), 0, blob.content->size()));
    contents.erase(Buffer());
    EXPECT_EQ(model_.contents.size(), contents.size());
    using Identity = std::tuple<bool, std::uint32_t, Buffer, std::uint64_t, Placement>;
    std::map<Identity, std::uint32_t> storages;
    for (std::size_t i = 0; i < places_.size(); ++i) {
      const auto& from = storage_of(sample_.tensors[i]);
      const bool mergeable = from.access == Access::immutable && from.origin == Origin::stored;
      const Identity identity{mergeable,
                              mergeable ? 0 : static_cast<std::uint32_t>(sample_.tensors[i].storage),
                              from.held(), from.size, from.placement};
      const auto storage = model_.tensors[places_[i]].storage;
      EXPECT_EQ(storages.emplace(identity, storage).first->second, storage);
    }
    EXPECT_EQ(storages.size(), model_.storages.size());
  }

  void compare_blobs() {
    ASSERT_EQ(model_.blobs.size(), sample_.blobs.size());
    for (std::size_t i = 0; i < sample_.blobs.size(); ++i) {
      const auto& expected = sample_.blobs[i];
      const auto place = *model_.find_blob(expected.name);
      EXPECT_EQ(model_.blobs[place].media_type, expected.media_type);
      expect_pairs(model_.blobs[place].metadata, expected.metadata);
      ASSERT_EQ(model_.blobs[place].size, sample_.blob_bytes[i].size());
      Buffer out(sample_.blob_bytes[i].size(), std::byte{0xA5});
      must(reader_.read_blob(place, 0, out));
      EXPECT_EQ(out, segment::all_zero(sample_.blob_bytes[i]) ? Buffer(out.size()) : sample_.blob_bytes[i]);
    }
  }

  void compare_libraries() {
    ASSERT_EQ(model_.libraries.size(), sample_.libraries.size());
    for (const auto& expected : sample_.libraries) {
      const auto& read = model_.libraries[*model_.find_library(expected.name)];
      expect_pairs(read.metadata, expected.metadata);
      ASSERT_EQ(read.variants.size(), expected.variants.size());
      for (const auto& variant : expected.variants) {
        const auto blob =
            variant.has_blob ? *model_.find_blob(sample_.blobs[static_cast<std::uint32_t>(variant.blob)].name)
                             : no_index;
        EXPECT_TRUE(std::ranges::any_of(read.variants, [&](const Variant& v) {
          return v.blob == blob && v.sm == variant.sm && v.ptx == variant.ptx && v.kind == variant.kind &&
                 v.target == variant.target;
        }));
      }
    }
  }

  void compare_methods() {
    ASSERT_EQ(model_.methods.size(), sample_.methods.size());
    for (const auto& expected : sample_.methods) {
      const auto& read = model_.methods[*model_.find_method(expected.name)];
      expect_pairs(read.metadata, expected.metadata);
      std::set<std::uint32_t> tensors, libraries, blobs;
      for (const auto i : expected.tensors) tensors.insert(places_[i]);
      for (const auto i : expected.libraries)
        libraries.insert(*model_.find_library(sample_.libraries[i].name));
      for (const auto i : expected.blobs) blobs.insert(*model_.find_blob(sample_.blobs[i].name));
      EXPECT_TRUE(std::ranges::equal(read.tensors, tensors));
      EXPECT_TRUE(std::ranges::equal(read.libraries, libraries));
      EXPECT_TRUE(std::ranges::equal(read.blobs, blobs));
    }
  }

  const Sample& sample_;
  const Reader& reader_;
  const Model& model_;
  std::vector<std::uint32_t> places_;  // of the sample's tensors in the model
};

// --- the property --------------------------------------------------------------------------------------

class RandomModels : public testing::TestWithParam<std::uint64_t> {};

INSTANTIATE_TEST_SUITE_P(Seeds, RandomModels, testing::Range(std::uint64_t{0}, std::uint64_t{60}));

TEST_P(RandomModels, ComeBackAsTheyWere) {
  const Sample sample = Maker(GetParam()).make();
  std::set<Digest> ids;
  for (const bool compress : {false, true})
    for (const unsigned chunk_log2 : {14U, 16U}) {
      SCOPED_TRACE((compress ? "compressed, chunks of 2^" : "raw, chunks of 2^") +
                   std::to_string(chunk_log2));
      Buffer file;
      for (const unsigned threads : {1U, 2U, 7U}) {
        Writer writer;
        fill(writer, sample);
        const auto now = written(writer, options_of(compress, threads, chunk_log2));
        if (file.empty()) file = now;
        ASSERT_EQ(now, file) << threads << " threads";
      }
      const auto reader = opened(file);
      ids.insert(reader.model_id());
      for (const unsigned threads : {1U, 7U}) {
        const auto verified = reader.verify({threads, {}});
        ASSERT_TRUE(verified) << verified.error().to_string();
        EXPECT_EQ(verified->tensors, sample.tensors.size());
      }
      Comparison(sample, reader).run();
    }
  EXPECT_EQ(ids.size(), 1U);
}

TEST_P(RandomModels, AreCopiedExactly) {
  const Sample sample = Maker(GetParam()).make();
  for (const bool compress : {false, true}) {
    Writer writer;
    fill(writer, sample);
    const auto original = opened(written(writer, options_of(compress)));
    // Where the original merged storages of different methods, a copy may put their bytes elsewhere; but
    // once.
    Writer first = copy_of(original);
    const auto copy = written(first, options_of(compress));
    EXPECT_EQ(opened(copy).model_id(), original.model_id());
    Writer second = copy_of(opened(copy));
    EXPECT_EQ(written(second, options_of(compress)), copy);
    // The raw file knows nothing of having been compressed.
    Writer raw = copy_of(opened(copy));
    Writer raw_again = copy_of(opened(written(raw)));
    Writer direct = copy_of(original);
    EXPECT_EQ(opened(written(direct)).model_id(), original.model_id());
    EXPECT_EQ(written(raw_again), written(raw));
    Comparison(sample, opened(copy)).run();
  }
}

TEST(Roundtrip, ACopyOfAFileWithoutMergedStoragesIsTheSameFile) {
  for (const bool compress : {false, true}) {
    Writer writer;
    const auto one = must(writer.add_method("one")), two = must(writer.add_method("two"));
    must(writer.add_blob({"b", own_memory(soft(70'000)), 0, "", {}}));
    must(writer.add_blob({"a", own_memory(noise(3)), 0, "", {}}));
    must(writer.bind(two, put(writer, "z", soft(300'001, 2))));
    must(writer.bind(one, put(writer, "y", soft(2'400'000, 3), {.dtype = DType::bfloat16})));
    const auto both = put(writer, "x", soft(131'072, 4), {.dtype = DType::float32});
    must(writer.bind(two, both));
    must(writer.bind(one, both));
    must(writer.bind(one, put(writer, "w", noise(131'071, 5), {.access = Access::mutable_})));
    put(writer, "v", zero_source(1000));
    const auto file = written(writer, options_of(compress));
    Writer copy = copy_of(opened(file));
    EXPECT_EQ(written(copy, options_of(compress)), file);
  }
}

// Contents of many pieces, of every plane width, with duplicates between them, whatever the number of
// threads.
TEST(Roundtrip, LargeContents) {
  const DType dtypes[] = {DType::uint8,   DType::bfloat16,  DType::float32,
                          DType::float64, DType::complex64, DType::uint4};
  for (const bool compress : {false, true}) {
    std::set<std::vector<std::byte>> files;
    for (const unsigned threads : {1U, 2U, 7U}) {
      Writer writer;
      for (std::size_t i = 0; i < 12; ++i) {
        const auto dtype = dtypes[i % 6];
        put(writer, "t" + std::to_string(i), file_like(soft((3 << 20) - 16 * (i / 2 % 3), i / 2)),
            {.dtype = dtype});
      }
      files.insert(written(writer, options_of(compress, threads)));
    }
    ASSERT_EQ(files.size(), 1U);
    const auto reader = opened(*files.begin());
    EXPECT_EQ(reader.model().contents.size(), 6U);
    EXPECT_EQ(reader.layout().segments.size(), 6U);
    EXPECT_EQ(must(reader.verify()).raw_bytes, [&] {
      std::uint64_t sum = 0;
      for (const auto& content : reader.model().contents) sum += content.size;
      return sum;
    }());
    for (std::size_t i = 0; i < 12; ++i)
      EXPECT_EQ(read_all(reader, "t" + std::to_string(i)), soft((3 << 20) - 16 * (i / 2 % 3), i / 2)) << i;
  }
}

// --- many ----------------------------------------------------------------------------------------------

TEST(Roundtrip, ManySmallTensors) {
  constexpr std::uint32_t count = file_test::sanitized ? 20'000 : 100'000;
  Writer writer;
  const auto method = must(writer.add_method("all"));
  const auto bytes_of_number = [](std::uint32_t i) {
    Buffer out(8);
    wire::store(MutableBytes(out), 0, std::uint64_t{i} / 3 + 1);
    return out;
  };
  for (std::uint32_t i = 0; i < count; ++i)
    must(writer.bind(
        method, put(writer, "layers." + std::to_string(i), bytes_of_number(i), {.dtype = DType::uint64})));
  WriteReport report;
  Buffer file;
  report = must(writer.write(file));
  EXPECT_EQ(report.input_bytes, 8U * count);
  EXPECT_EQ(report.raw_bytes, 8U * (count / 3 + 1));
  EXPECT_EQ(report.shared_bytes, report.input_bytes - report.raw_bytes);
  const auto reader = opened(std::move(file));
  EXPECT_EQ(reader.model().tensors.size(), count);
  EXPECT_EQ(reader.model().storages.size(), count / 3 + 1);
  EXPECT_EQ(must(reader.verify()).segments, count / 3 + 1);
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto name = "layers." + std::to_string(i);
    const auto found = reader.model().find_in_method(0, name);
    ASSERT_TRUE(found);
    Buffer out(8);
    must(reader.read_tensor(*found, out, {true, 1}));
    ASSERT_EQ(out, bytes_of_number(i)) << name;
  }
}

// --- large (C059) --------------------------------------------------------------------------------------

constexpr std::uint64_t gib = std::uint64_t{1} << 30U;
constexpr std::array<std::uint64_t, 6> marks = {0,           2 * gib - 1, 2 * gib,
                                                4 * gib - 1, 4 * gib + 1, 4 * gib + 65'535};

// Zeros but for a byte at each mark.
SourcePtr marked_source() {
  return std::make_shared<FunctionSource>(4 * gib + 65'536,
                                          [](std::uint64_t offset, MutableBytes to) -> Result<void> {
                                            std::ranges::fill(to, std::byte{0});
                                            for (std::size_t i = 0; i < marks.size(); ++i)
                                              if (marks[i] >= offset && marks[i] - offset < to.size())
                                                to[marks[i] - offset] = static_cast<std::byte>(i + 1);
                                            return {};
                                          });
}

class LargeFiles : public file_test::Folder {};

TEST_F(LargeFiles, OffsetsBeyondFourGibibytes) {
  if (file_test::sanitized) GTEST_SKIP() << "hashing 4 GiB takes minutes under a sanitizer";
  Writer writer;
  auto content = marked_source();
  const auto size = content->size();
  const auto storage = must(writer.add_storage(storage_of(std::move(content))));
  must(writer.add_tensor(view_of(storage, "bytes", size)));
  // Positions in elements, and in bits, that need more than 32 bits; strides, too.
  must(writer.add_tensor(
      view_of(storage, "far", size, {.dtype = DType::uint4, .sizes = {{4}}, .offset = 2 * (4 * gib)})));
  must(writer.add_tensor(
      view_of(storage, "ends", size, {.sizes = {{2, 2}}, .strides = {{4 * gib + 65'534, 1}}})));
  put(writer, "after", noise(1000));
  const auto report = must(writer.write(in("large.ptd")));
  EXPECT_GT(report.file_bytes, 4 * gib);

  struct stat status {};
  ASSERT_EQ(::stat(in("large.ptd").c_str(), &status), 0);
  EXPECT_EQ(static_cast<std::uint64_t>(status.st_size), report.file_bytes);
  EXPECT_LT(status.st_blocks * 512, 64 << 20) << "zeros must not take room on the disk";

  const auto reader = must(Reader::open(in("large.ptd")));
  const auto bytes = index_of(reader, "bytes");
  for (std::size_t i = 0; i < marks.size(); ++i) {
    Buffer out(1);
    const Slice element{marks[i], marks[i] + 1, 1};
    must(reader.read_region(bytes, {&element, 1}, out));
    EXPECT_EQ(std::to_integer<unsigned>(out[0]), i + 1) << marks[i];
    Buffer around(3, std::byte{0xA5});
    const auto begin = std::min(marks[i] - std::min<std::uint64_t>(marks[i], 1), size - 3);
    must(reader.read_storage(reader.model().tensors[bytes].storage, begin, around));
    EXPECT_EQ(std::to_integer<unsigned>(around[marks[i] - begin]), i + 1) << marks[i];
  }
  EXPECT_EQ(read_all(reader, "far"), ptd::write_test::bytes({0, 5}));
  EXPECT_EQ(read_all(reader, "ends"), ptd::write_test::bytes({1, 0, 0, 6}));
  EXPECT_EQ(read_all(reader, "after"), noise(1000));
  Buffer every(5);
  const Slice steps{4 * gib - 1, size, 16'384};
  must(reader.read_region(bytes, {&steps, 1}, every));
  EXPECT_EQ(every, ptd::write_test::bytes({4, 0, 0, 0, 6}));
}

// A file of 1 TiB, of which nothing but header and manifest is there (C056). Opening it must not depend on
// its size.
TEST(Roundtrip, OpeningDoesNotDependOnThePayload) {
  Writer writer;
  put(writer, "weight", noise(100));
  FileEdit edit(written(writer));
  constexpr std::uint64_t size = 1024 * gib;
  const Sizes sizes{size};
  auto& segment = edit.layout.segments[0];
  edit.model.contents[0].size = edit.model.storages[0].size = segment.stored_size = size;
  edit.model.tensors[0].sizes = sizes;
  segment.chunk_log2 = 24;
  const std::uint64_t layout_offset = segment.offset + size + 8 * (size >> 24U);
  const auto layout = must(wire::encode_layout(edit.layout)), model = must(wire::encode_model(edit.model));
  wire::Header header;
  header.layout_offset = layout_offset;
  header.layout_size = layout.size() * 8;
  header.model_size = model.size() * 8;
  header.layout_hash = wire::xxh3(std::as_bytes(std::span(layout)));
  header.model_hash = wire::xxh3(std::as_bytes(std::span(model)));
  Buffer head(80), tail;
  std::ranges::copy(wire::encode_header(header), head.begin());
  for (const auto* words : {&layout, &model}) {
    const auto part = std::as_bytes(std::span(*words));
    tail.insert(tail.end(), part.begin(), part.end());
  }
  std::uint64_t read_bytes = 0;
  const auto source = std::make_shared<FunctionSource>(
      header.file_size(), [&](std::uint64_t offset, MutableBytes to) -> Result<void> {
        read_bytes += to.size();
        const auto& from = offset < layout_offset ? head : tail;
        std::ranges::copy(
            Bytes(from).subspan(offset < layout_offset ? offset : offset - layout_offset, to.size()),
            to.begin());
        return {};
      });
  const auto reader = must(Reader::open(source));
  EXPECT_EQ(reader.model().storages[0].size, size);
  EXPECT_EQ(reader.layout().segments[0].chunks, size >> 24U);
  EXPECT_EQ(read_bytes, 80 + tail.size());
}

}  // namespace
}  // namespace ptd
