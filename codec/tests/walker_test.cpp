// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Messages are built here word by word, without Cap'n Proto, so that each can break exactly one rule.
#include "wire/walker.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "tests/model_samples.hpp"
#include "wire/messages.hpp"

namespace ptd::wire {
namespace {

using Message = std::vector<std::uint64_t>;
using namespace std::literals;

// --- Building messages ------------------------------------------------------------------------

constexpr unsigned null_code = 99;

constexpr std::uint64_t struct_word(std::uint64_t count, std::uint64_t data, std::uint64_t pointers) {
  return count << 2 | data << 32 | pointers << 48;
}
constexpr std::uint64_t list_word(std::int64_t offset, std::uint64_t code, std::uint64_t count) {
  return (static_cast<std::uint64_t>(offset) << 2 & 0xFFFFFFFC) | 1 | code << 32 | count << 35;
}

struct Struct;

/// What a pointer leads to: nothing, a list of plain elements, or a list of structs.
struct Object {
  unsigned code = null_code;
  std::uint64_t count = 0;  // of a plain list
  Message words;            // of a plain list
  std::vector<Struct> elements;
};

struct Struct {
  Message data;
  std::vector<Object> pointers;
};

Message words_of(const std::string& bytes) {
  Message words((bytes.size() + 7) / 8);
  std::memcpy(words.data(), bytes.data(), bytes.size());
  return words;
}

Object null() { return {}; }
Object plain(unsigned code, std::uint64_t count, Message words) {
  return {code, count, std::move(words), {}};
}
Object bytes(const std::string& value) { return plain(2, value.size(), words_of(value)); }
Object text(const std::string& value) { return bytes(value + '\0'); }
Object u32(std::uint64_t count, Message words) { return plain(4, count, std::move(words)); }
Object u64(Message words) { return plain(5, words.size(), words); }
Object structs(std::vector<Struct> elements) { return {7, 0, {}, std::move(elements)}; }

/// Lays objects out in preorder.
class Assembler {
 public:
  explicit Assembler(const Struct& root) {
    words_.push_back(struct_word(0, root.data.size(), root.pointers.size()));
    append(root);
    follow(1, root);
  }
  Message take() { return std::move(words_); }

 private:
  void append(const Struct& one) {
    words_.insert(words_.end(), one.data.begin(), one.data.end());
    words_.resize(words_.size() + one.pointers.size());
  }

  void follow(std::size_t at, const Struct& one) {
    for (std::size_t i = 0; i < one.pointers.size(); ++i) point(at + one.data.size() + i, one.pointers[i]);
  }

  void point(std::size_t at, const Object& object) {
    if (object.code == null_code) return;
    const auto offset = static_cast<std::int64_t>(words_.size() - at) - 1;
    if (object.elements.empty()) {
      words_[at] = list_word(offset, object.code, object.count);
      words_.insert(words_.end(), object.words.begin(), object.words.end());
      return;
    }
    const auto& first = object.elements.front();
    const std::size_t stride = first.data.size() + first.pointers.size();
    words_[at] = list_word(offset, 7, stride * object.elements.size());
    words_.push_back(struct_word(object.elements.size(), first.data.size(), first.pointers.size()));
    const std::size_t begin = words_.size();
    for (const auto& element : object.elements) append(element);
    for (std::size_t i = 0; i < object.elements.size(); ++i) follow(begin + i * stride, object.elements[i]);
  }

  Message words_;
};

Message assemble(const Struct& root) { return Assembler(root).take(); }

/// A model of version 1.0 with one list, at the pointer that the schema gives it.
Struct model_with(std::size_t pointer, Object list) {
  Struct root{{1}, std::vector<Object>(pointer + 1)};
  root.pointers[pointer] = std::move(list);
  return root;
}
constexpr std::size_t contents = 0, storages = 1, libraries = 2, methods = 3, tensors = 4, blobs = 5,
                      metadata = 6;

// --- The worked message of SPEC.md, appendix B ------------------------------------------------

/// One content, one storage, tensor "w" of sizes [2, 2], method "run" that binds it.
Struct worked_model() {
  Struct root{{1}, std::vector<Object>(5)};
  root.pointers[contents] =
      structs({{{16, 0x9F379FAF759C75A1, 0x251EDB2C58C3687C, 0xF5B6BFD0E7D1AAFE, 0x8AEA0D739E971F6F}, {}}});
  root.pointers[storages] = structs({{{16, 0x0001010100000001}, {}}});
  root.pointers[methods] = structs({{{}, {text("run"), u32(1, {0})}}});
  root.pointers[tensors] = structs({{{0x0001000C00000000}, {text("w"), u64({2, 2}), u64({2, 1})}}});
  return root;
}

namespace worked {  // words of the message
constexpr std::size_t contents_pointer = 2, storages_pointer = 3, methods_pointer = 5, tensors_pointer = 6,
                      contents_tag = 7, storages_tag = 13, storage = 14, methods_tag = 16, name_pointer = 17,
                      indices_pointer = 18, name = 19, indices = 20, tensors_tag = 21,
                      tensor_name_pointer = 23, sizes_pointer = 24, strides_pointer = 25, size = 31;
constexpr std::size_t pointers[] = {contents_pointer,    storages_pointer, methods_pointer,
                                    tensors_pointer,     name_pointer,     indices_pointer,
                                    tensor_name_pointer, sizes_pointer,    strides_pointer};
constexpr std::size_t tags[] = {contents_tag, storages_tag, methods_tag, tensors_tag};
}  // namespace worked

// --- Expectations -----------------------------------------------------------------------------

Result<void> check(const Message& words, const StructShape& shape = model_shape,
                   Unknown unknown = Unknown::refused) {
  return check_message(words, shape, unknown, 0);
}

/// The rule that a message breaks; "" if none.
std::string broken(const Message& words, const StructShape& shape = model_shape,
                   Unknown unknown = Unknown::refused) {
  const auto result = check(words, shape, unknown);
  if (result) return "";
  if (result.error().code != ErrorCode::encoding) return std::string(error_name(result.error().code));
  return std::string(result.error().rule);
}
std::string broken(const Struct& root, Unknown unknown = Unknown::refused) {
  return broken(assemble(root), model_shape, unknown);
}

/// The rule that the worked message breaks after a change.
std::string broken_by(const std::function<void(Message&)>& change) {
  Message words = assemble(worked_model());
  change(words);
  return broken(words);
}
std::string broken_by_word(std::size_t at, std::uint64_t word) {
  return broken_by([&](Message& words) { words[at] = word; });
}

// --- What is accepted -------------------------------------------------------------------------

TEST(Walker, WorkedMessageIsWhatTheEncoderMakes) {
  const Message words = assemble(worked_model());
  ASSERT_EQ(words.size(), worked::size);
  EXPECT_EQ(broken(words), "");
  const auto model = decode_model(words);
  ASSERT_TRUE(model);
  EXPECT_EQ(model->methods.at(0).name, "run");
  EXPECT_EQ(model->tensors.at(0).strides[0], 2);
  EXPECT_EQ(encode_model(*model).value(), words);
}

TEST(Walker, EncodedModelsAreAccepted) {
  EXPECT_EQ(broken(encode_model(samples::rich_model().model).value()), "");
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const auto sample = samples::random_model(seed);
    ASSERT_EQ(broken(encode_model(sample.model).value()), "") << seed;
    const auto layout = encode_layout(samples::random_layout(sample.model, seed)).value();
    ASSERT_EQ(broken(layout, layout_shape), "") << seed;
  }
}

TEST(Walker, ErrorsNameTheByteInTheFile) {
  struct Case {
    std::string rule;
    std::size_t word;
    std::function<void(Message&)> change;
  };
  const auto setting = [](std::size_t at, std::uint64_t word) {
    return [=](Message& words) { words[at] = word; };
  };
  const Case cases[] = {
      {"ENC-2", 0, setting(0, 1)},
      {"ENC-3", worked::name_pointer, setting(worked::name_pointer, 2)},
      {"ENC-4", worked::sizes_pointer, setting(worked::sizes_pointer, list_word(9, 5, 2))},
      {"ENC-4", 0, [](Message& words) { words.resize(3); }},
      {"ENC-4", worked::methods_pointer, [](Message& words) { words.resize(worked::methods_tag + 2); }},
      {"ENC-4", worked::strides_pointer, [](Message& words) { words.pop_back(); }},
      {"ENC-5", worked::size, [](Message& words) { words.push_back(0); }},
      {"ENC-6", 1, setting(1, 0)},
      {"ENC-6", worked::storage, setting(worked::storage + 1, 0)},
      {"ENC-6", worked::tensors_tag + 1, setting(worked::strides_pointer, 0)},
      {"ENC-7", worked::storages_tag, setting(worked::storages_tag, 0)},
      {"ENC-8", worked::sizes_pointer, setting(worked::sizes_pointer, list_word(2, 4, 4))},
      {"ENC-9", worked::sizes_pointer, setting(worked::sizes_pointer, list_word(2, 5, 0))},
      {"ENC-10", worked::indices, setting(worked::indices, ~std::uint64_t{0})},
      {"ENC-11", worked::name, setting(worked::name, 0)},
      {"ENC-12", worked::storage + 1, setting(worked::storage + 1, ~std::uint64_t{0})},
      {"ENC-12", worked::methods_tag + 1,
       [](Message& words) {  // a data word instead of the first pointer
         words[worked::methods_tag] = struct_word(1, 1, 1);
       }},
  };
  for (const auto& c : cases) {
    Message words = assemble(worked_model());
    c.change(words);
    const auto result = check_message(words, model_shape, Unknown::refused, 1000);
    ASSERT_FALSE(result) << c.rule;
    EXPECT_EQ(result.error().code, ErrorCode::encoding);
    EXPECT_EQ(result.error().rule, c.rule);
    EXPECT_EQ(result.error().offset, 1000 + 8 * c.word) << c.rule;
  }
}

TEST(Walker, OneShapeIsNotTheOther) {
  EXPECT_NE(broken(encode_model(samples::rich_model().model).value(), layout_shape), "");
}

// --- ENC-2: the root --------------------------------------------------------------------------

TEST(Walker, Enc2Root) {
  EXPECT_EQ(broken(Message{}), "ENC-2");
  EXPECT_EQ(broken(Message{0}), "ENC-2") << "null root";
  EXPECT_EQ(broken(Message{0, 1}), "ENC-2") << "null root before data";
  EXPECT_EQ(broken(Message{struct_word(0x3FFFFFFF, 0, 0)}), "ENC-2") << "struct of no size at offset -1";
  EXPECT_EQ(broken(Message{list_word(0, 2, 1), 1}), "ENC-2") << "list root";
  EXPECT_EQ(broken(Message{list_word(0, 7, 1), struct_word(1, 1, 0), 1}), "ENC-2")
      << "list of structs as root";
  EXPECT_EQ(broken_by_word(0, struct_word(1, 1, 5)), "ENC-2") << "offset 1";
  EXPECT_EQ(broken_by_word(0, struct_word(0x3FFFFFFF, 1, 5)), "ENC-2") << "offset -1";
  EXPECT_EQ(broken_by_word(0, struct_word(0x20000000, 1, 5)), "ENC-2") << "offset -2^29";
  for (const unsigned kind : {1, 2, 3})
    EXPECT_EQ(broken_by_word(0, struct_word(0, 1, 5) | kind), "ENC-2") << kind;
}

TEST(Walker, Enc2SegmentTableInFront) {  // ENC-1
  EXPECT_NE(broken_by([](Message& words) { words.insert(words.begin(), std::uint64_t{worked::size} << 32); }),
            "");
}

TEST(Walker, Enc4RootBehindTheEnd) {
  EXPECT_EQ(broken(Message{struct_word(0, 1, 0)}), "ENC-4");
  EXPECT_EQ(broken(Message{struct_word(0, 2, 0), 1}), "ENC-4");
  EXPECT_EQ(broken(Message{struct_word(0, 0xFFFF, 0xFFFF), 1}), "ENC-4");
}

// --- ENC-3: kinds of pointers -----------------------------------------------------------------

TEST(Walker, Enc3StructFarAndCapabilityPointersEverywhere) {
  const Message good = assemble(worked_model());
  for (const auto at : worked::pointers)
    for (const unsigned kind : {0, 2, 3}) {
      EXPECT_EQ(broken_by_word(at, (good[at] & ~std::uint64_t{3}) | kind), "ENC-3") << at << " " << kind;
      // As they look in a message of several segments, or with a capability.
      EXPECT_EQ(broken_by_word(at, kind | 1U << 3 | std::uint64_t{1} << 32), "ENC-3") << at << " " << kind;
    }
}

TEST(Walker, Enc3HoldsForUnknownPointers) {
  Message words = assemble(model_with(7, text("x")));
  EXPECT_EQ(broken(words, model_shape, Unknown::ignored), "");
  words[9] = struct_word(0, 1, 0);
  EXPECT_EQ(broken(words, model_shape, Unknown::ignored), "ENC-3");
}

// --- ENC-4 and ENC-5: preorder without gaps ---------------------------------------------------

TEST(Walker, Enc4OffsetsOneOffEverywhere) {
  const Message good = assemble(worked_model());
  for (const auto at : worked::pointers)
    for (const std::uint64_t step : {std::uint64_t{4}, 0 - std::uint64_t{4}}) {
      const auto low = static_cast<std::uint32_t>(good[at] + step);
      EXPECT_EQ(broken_by_word(at, (good[at] >> 32 << 32) | low), "ENC-4") << at;
    }
}

TEST(Walker, Enc4WildOffsetsEverywhere) {
  const Message good = assemble(worked_model());
  constexpr std::int64_t most = (1 << 29) - 1;
  for (const auto at : worked::pointers)
    for (const std::int64_t offset :
         {most, -most - 1, most / 2, std::int64_t{-1}, -static_cast<std::int64_t>(at) - 1})
      for (const unsigned count_bit : {0, 1})  // an empty list's offset leads nowhere, but is checked
        EXPECT_EQ(broken_by_word(at, list_word(offset, good[at] >> 32 & 7, count_bit * (good[at] >> 35))),
                  "ENC-4")
            << at << " " << offset;
}

TEST(Walker, Enc4TwoPointersToOneTarget) {
  // Strides that are the sizes: legal Cap'n Proto, and the target is not at the cursor.
  EXPECT_EQ(broken_by([](Message& words) {
              words[worked::strides_pointer] = list_word(1, 5, 2);
              words.resize(worked::size - 2);
            }),
            "ENC-4");
  // Two methods that share their name.
  const Struct method{{}, {text("run"), u32(1, {0})}};
  Message words = assemble(model_with(methods, structs({method, method})));
  ASSERT_EQ(broken(words), "");
  const std::size_t second = 1 + 1 + 4 + 1 + 2;  // root pointer, data, pointers, tag, first element
  words[second] = list_word(1, 2, 4);
  EXPECT_EQ(broken(words), "ENC-4");
}

TEST(Walker, Enc4GapsAndSwappedObjects) {
  // A word between the method's name and its indices.
  EXPECT_EQ(broken_by([](Message& words) {
              words.insert(words.begin() + worked::indices, 0);
              words[worked::indices_pointer] += 1 << 2;
              words[worked::tensors_pointer] += 1 << 2;
            }),
            "ENC-4");
  // Name and indices in the other order, with right offsets.
  EXPECT_EQ(broken_by([](Message& words) {
              std::swap(words[worked::name], words[worked::indices]);
              words[worked::name_pointer] += 1 << 2;
              words[worked::indices_pointer] -= 1 << 2;
            }),
            "ENC-4");
  // A gap behind the root.
  EXPECT_EQ(broken_by([](Message& words) {
              words.insert(words.begin() + worked::contents_tag, 0);
              for (const auto at : {worked::contents_pointer, worked::storages_pointer,
                                    worked::methods_pointer, worked::tensors_pointer})
                words[at] += 1 << 2;
            }),
            "ENC-4");
}

TEST(Walker, Enc4ListsPastTheEndEverywhere) {
  const Message good = assemble(worked_model());
  for (const auto at : worked::pointers) {
    const auto offset = static_cast<std::int64_t>(static_cast<std::int32_t>(good[at]) >> 2);
    const std::uint64_t code = good[at] >> 32 & 7;
    EXPECT_EQ(broken_by_word(at, list_word(offset, code, (1 << 29) - 1)), "ENC-4") << at;
    EXPECT_EQ(broken_by_word(at, list_word(offset, code, 8 * worked::size)), "ENC-4") << at;
  }
  EXPECT_EQ(broken_by([](Message& words) { words.pop_back(); }), "ENC-4");
  EXPECT_EQ(broken_by([](Message& words) { words.resize(worked::tensors_tag); }), "ENC-4")
      << "tag behind the end";
}

TEST(Walker, Enc4EveryCut) {
  const Message good = encode_model(samples::rich_model().model).value();
  for (std::size_t size = 0; size < good.size(); ++size)
    EXPECT_EQ(broken(Message(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size))),
              size ? "ENC-4" : "ENC-2");
}

TEST(Walker, Enc5WordsBehindTheLastObject) {
  for (const std::uint64_t word : {std::uint64_t{0}, ~std::uint64_t{0}})
    EXPECT_EQ(broken_by([&](Message& words) { words.push_back(word); }), "ENC-5");
  EXPECT_EQ(broken(Message{struct_word(0, 1, 0), 1, 0}), "ENC-5");
}

// --- ENC-6: sizes of structs ------------------------------------------------------------------

TEST(Walker, Enc6RootIsTrimmed) {
  EXPECT_EQ(broken(Struct{{1}, {}}), "");
  EXPECT_EQ(broken(Struct{{0, 1}, {}}), "") << "a zero word before the last";
  EXPECT_EQ(broken(Struct{{1, 0}, {}}), "ENC-6");
  EXPECT_EQ(broken(Struct{{0}, {}}), "ENC-6");
  EXPECT_EQ(broken(Struct{{1}, {null()}}), "ENC-6");
  Struct root = model_with(storages, structs({{{1}, {}}}));
  EXPECT_EQ(broken(root), "");
  root.pointers.push_back(null());
  EXPECT_EQ(broken(root), "ENC-6");
  root.data = {0};
  EXPECT_EQ(broken(root), "ENC-6");
}

TEST(Walker, Enc6ListsOfStructsAreTrimmedTogether) {
  const auto pairs = [](std::vector<Struct> elements) {
    return model_with(metadata, structs(std::move(elements)));
  };
  // One element that needs a word keeps it for all.
  EXPECT_EQ(broken(pairs({{{1}, {text("a"), null()}}, {{0}, {text("b"), bytes("v")}}})), "");
  EXPECT_EQ(broken(pairs({{{0}, {null(), bytes("v")}}, {{1}, {text("b"), null()}}})), "");
  // No element needs it.
  EXPECT_EQ(broken(pairs({{{0}, {text("a"), bytes("v")}}, {{0}, {text("b"), bytes("v")}}})), "ENC-6");
  EXPECT_EQ(broken(pairs({{{1}, {text("a"), null()}}, {{1}, {text("b"), null()}}})), "ENC-6");
  EXPECT_EQ(broken(pairs({{{0}, {null()}}})), "ENC-6");
  // The second of two data words.
  EXPECT_EQ(broken(model_with(storages, structs({{{5, 0}, {}}, {{6, 0}, {}}}))), "ENC-6");
  EXPECT_EQ(broken(model_with(storages, structs({{{5, 0}, {}}, {{0, 1}, {}}}))), "");
}

TEST(Walker, Enc6HoldsForUnknownWords) {
  const auto ignored = [](const Struct& root) { return broken(root, Unknown::ignored); };
  EXPECT_EQ(ignored({{1, 0, 7}, {}}), "");
  EXPECT_EQ(ignored({{1, 0, 0}, {}}), "ENC-6");
  EXPECT_EQ(ignored(model_with(7, structs({{{0}, {}}}))), "ENC-6");
  EXPECT_EQ(ignored(model_with(7, structs({{{1}, {null()}}}))), "ENC-6");
  Struct root = model_with(8, text("x"));
  EXPECT_EQ(ignored(root), "");
  root.pointers.push_back(null());
  EXPECT_EQ(ignored(root), "ENC-6");
}

// --- ENC-7: tags ------------------------------------------------------------------------------

TEST(Walker, Enc7TagKinds) {
  const Message good = assemble(worked_model());
  for (const auto at : worked::tags)
    for (const unsigned kind : {1, 2, 3})
      EXPECT_EQ(broken_by_word(at, good[at] | kind), "ENC-7") << at << " " << kind;
}

TEST(Walker, Enc7TagCountWithTopBit) {
  const Message good = assemble(worked_model());
  for (const auto at : worked::tags)
    for (const unsigned bit : {29, 30, 31})
      EXPECT_EQ(broken_by_word(at, good[at] | std::uint64_t{1} << bit), "ENC-7") << at << " " << bit;
}

TEST(Walker, Enc7TagThatDoesNotMatchTheList) {
  const Message good = assemble(worked_model());
  for (const auto at : worked::tags) {
    const std::uint64_t sizes = good[at] >> 32 << 32;
    EXPECT_EQ(broken_by_word(at, sizes), "ENC-7") << "no elements";
    EXPECT_EQ(broken_by_word(at, sizes | 2 << 2), "ENC-7") << "two elements";
    EXPECT_EQ(broken_by_word(at, good[at] + (std::uint64_t{1} << 32)), "ENC-7") << "one data word more";
    EXPECT_EQ(broken_by_word(at, good[at] + (std::uint64_t{1} << 48)), "ENC-7") << "one pointer more";
    EXPECT_EQ(broken_by_word(at, 1 << 2), "ENC-7") << "no words";
    EXPECT_EQ(broken_by_word(at, 0), "ENC-7") << "null tag";
  }
  // A word behind the last element that belongs to the list, but to no element.
  EXPECT_EQ(broken_by([](Message& words) {
              words[worked::storages_pointer] += std::uint64_t{1} << 35;
              words.insert(words.begin() + worked::storage + 2, 0);
              words[worked::methods_pointer] += 1 << 2;
              words[worked::tensors_pointer] += 1 << 2;
            }),
            "ENC-7");
}

// Cap'n Proto reads each of these in seconds, element by element.
TEST(Walker, Enc7MillionsOfStructsOfNoSizeAreRefusedAtOnce) {
  const auto start = std::chrono::steady_clock::now();
  constexpr std::uint64_t most = (1 << 29) - 1;
  for (const std::uint64_t list_count : {std::uint64_t{0}, std::uint64_t{1}, most})
    for (const std::uint64_t tag_count : {most, most + 1, 2 * most + 1}) {
      Message words(8);
      words[0] = struct_word(0, 1, 1);
      words[1] = 1;
      words[2] = list_word(0, 7, list_count);
      words[3] = struct_word(tag_count, 0, 0);
      EXPECT_NE(broken(words), "");
      words.resize(4);
      EXPECT_NE(broken(words), "");
    }
  EXPECT_LT(std::chrono::steady_clock::now() - start, 1s);
}

TEST(Walker, Enc7HoldsForUnknownLists) {
  Message words = assemble(model_with(7, structs({{{1}, {}}, {{2}, {}}})));
  ASSERT_EQ(broken(words, model_shape, Unknown::ignored), "");
  words[10] = struct_word(1, 1, 0);
  EXPECT_EQ(broken(words, model_shape, Unknown::ignored), "ENC-7");
}

// --- ENC-8: element codes ---------------------------------------------------------------------

/// A list of `words` words, well-formed but for its element code.
Object list_with_code(unsigned code, std::uint64_t words) {
  constexpr std::uint64_t per_word[] = {0, 64, 8, 4, 2, 1, 1, 0};
  if (code == 0) return plain(0, 1000, {});
  if (code == 7) return structs(std::vector<Struct>(words, Struct{{7}, {}}));
  // Bytes like those of a text, and pointers like null ones.
  Message body(words, code == 6 ? 0 : 0x6161616161616161);
  if (code == 2) body.back() = 0x0061616161616161;
  return plain(code, words * per_word[code], std::move(body));
}

struct Field {
  const char* what;
  unsigned code;
  std::function<Struct(Object)> model;
};

const std::vector<Field>& fields_of_each_kind() {
  static const std::vector<Field> fields = {
      {"Text", 2,
       [](Object list) {
         return model_with(libraries, structs({{{}, {std::move(list)}}}));
       }},
      {"Data", 2,
       [](Object list) {
         return model_with(metadata, structs({{{1}, {text("k"), std::move(list)}}}));
       }},
      {"List(UInt32)", 4,
       [](Object list) {
         return model_with(methods, structs({{{}, {text("m"), std::move(list)}}}));
       }},
      {"List(UInt64)", 5,
       [](Object list) {
         return model_with(tensors, structs({{{1}, {text("t"), std::move(list)}}}));
       }},
      {"List(Storage)", 7, [](Object list) { return model_with(storages, std::move(list)); }},
      {"List(Variant)", 7,
       [](Object list) {
         return model_with(libraries, structs({{{}, {text("l"), std::move(list)}}}));
       }},
  };
  return fields;
}

TEST(Walker, Enc8EveryOtherElementCodeIsRefused) {
  for (const auto& field : fields_of_each_kind())
    for (unsigned code = 0; code < 8; ++code)
      for (const std::uint64_t words : {1, 3})
        for (const auto unknown : {Unknown::refused, Unknown::ignored})
          EXPECT_EQ(broken(field.model(list_with_code(code, words)), unknown),
                    code == field.code ? "" : "ENC-8")
              << field.what << " as " << code;
}

TEST(Walker, Enc8UnknownListsHaveACodeThatStays) {
  for (unsigned code = 0; code < 8; ++code) {
    const bool lasting = code != 0 && code != 1 && code != 6;
    EXPECT_EQ(broken(model_with(7, list_with_code(code, 2)), Unknown::ignored), lasting ? "" : "ENC-8")
        << code;
  }
}

// --- ENC-9: empty is null ---------------------------------------------------------------------

TEST(Walker, Enc9EmptyListsThatAreNotNull) {
  for (const auto& field : fields_of_each_kind())
    EXPECT_EQ(broken(field.model(plain(field.code, 0, {}))), "ENC-9") << field.what;
  for (const unsigned code : {2, 3, 4, 5, 7})
    EXPECT_EQ(broken(model_with(7, plain(code, 0, {})), Unknown::ignored), "ENC-9") << code;
  // An empty list of structs with its tag, as Cap'n Proto would write it.
  EXPECT_EQ(broken(model_with(storages, plain(7, 0, {struct_word(0, 2, 0)}))), "ENC-9");
}

// --- ENC-10: bits behind the last element -----------------------------------------------------

TEST(Walker, Enc10EveryPaddingBit) {
  struct Case {
    const char* what;
    Struct root;
    unsigned used_bits;  // of the last word, which ends the message
  };
  std::vector<Case> cases = {
      {"u32", model_with(methods, structs({{{}, {text("m"), u32(3, {0, 7})}}})), 32},
      {"u16", model_with(7, plain(3, 5, {1, 2})), 16},
      {"u16", model_with(7, plain(3, 7, {1, 2})), 48},
  };
  for (unsigned length = 1; length < 8; ++length) {
    const std::string value(length, 'x');
    cases.push_back({"data", model_with(metadata, structs({{{1}, {text("k"), bytes(value)}}})), 8 * length});
    cases.push_back({"long data",
                     model_with(metadata, structs({{{1}, {text("k"), bytes("12345678" + value)}}})),
                     8 * length});
    if (length > 1)
      cases.push_back({"text", model_with(libraries, structs({{{}, {text(value.substr(1))}}})), 8 * length});
  }
  for (const auto& c : cases) {
    const Message good = assemble(c.root);
    ASSERT_EQ(broken(good, model_shape, Unknown::ignored), "") << c.what;
    for (unsigned bit = c.used_bits; bit < 64; ++bit) {
      Message words = good;
      words.back() |= std::uint64_t{1} << bit;
      EXPECT_EQ(broken(words, model_shape, Unknown::ignored), "ENC-10") << c.what << " " << bit;
    }
  }
}

// --- ENC-11: texts ----------------------------------------------------------------------------

TEST(Walker, Enc11Texts) {
  const auto named = [](Object name) {
    return broken(model_with(libraries, structs({{{}, {std::move(name)}}})));
  };
  EXPECT_EQ(named(bytes("a\0"s)), "");
  EXPECT_EQ(named(bytes("\xFF\x01\0"s)), "") << "UTF-8 is not the encoding's business";
  EXPECT_EQ(named(bytes("1234567\0"s)), "");
  EXPECT_EQ(named(bytes("12345678\0"s)), "");
  EXPECT_EQ(named(bytes("a")), "ENC-11") << "no NUL";
  EXPECT_EQ(named(bytes("12345678")), "ENC-11") << "no NUL in a full word";
  EXPECT_EQ(named(bytes("1234567")), "ENC-11") << "a NUL behind the end";
  EXPECT_EQ(named(bytes("\0"s)), "ENC-11") << "empty";
  EXPECT_EQ(named(bytes("\0\0"s)), "ENC-11") << "only NULs";
  EXPECT_EQ(named(bytes("a\0b\0"s)), "ENC-11") << "NUL inside";
  EXPECT_EQ(named(bytes("a\0\0"s)), "ENC-11") << "two NULs at the end";
  EXPECT_EQ(named(bytes("\0a\0"s)), "ENC-11") << "NUL first";
  EXPECT_EQ(named(bytes("a\0b"s)), "ENC-11") << "NUL inside, none at the end";
  EXPECT_EQ(named(bytes(std::string(100, 'a') + '\0' + std::string(100, 'b') + '\0')), "ENC-11");
}

TEST(Walker, Enc11EveryTextField) {
  const Object bad = bytes("a\0b\0"s);
  const std::pair<const char*, Struct> fields[] = {
      {"Library.name", model_with(libraries, structs({{{}, {bad}}}))},
      {"Variant.target", model_with(libraries, structs({{{}, {text("l"), structs({{{1}, {bad}}})}}}))},
      {"Library.metadata.key",
       model_with(libraries, structs({{{}, {null(), null(), structs({{{1}, {bad}}})}}}))},
      {"Method.name", model_with(methods, structs({{{}, {bad}}}))},
      {"Tensor.name", model_with(tensors, structs({{{1}, {bad}}}))},
      {"Tensor.scheme", model_with(tensors, structs({{{1}, {null(), null(), null(), null(), bad}}}))},
      {"Blob.name", model_with(blobs, structs({{{1}, {bad}}}))},
      {"Blob.mediaType", model_with(blobs, structs({{{1}, {null(), bad}}}))},
      {"Model.metadata.key", model_with(metadata, structs({{{1}, {bad}}}))},
  };
  for (const auto& [what, root] : fields) {
    EXPECT_EQ(broken(root), "ENC-11") << what;
    EXPECT_EQ(broken(root, Unknown::ignored), "ENC-11") << what;
  }
}

TEST(Walker, Enc11DataAndUnknownListsMayHoldNul) {
  EXPECT_EQ(broken(model_with(metadata, structs({{{1}, {text("k"), bytes("\0a\0b"s)}}}))), "");
  EXPECT_EQ(broken(model_with(7, bytes("\0a\0b"s)), Unknown::ignored), "");
}

// --- ENC-12: what this minor does not know ----------------------------------------------------

/// Structs of each kind, with all data words and pointers that 1.0 has, and their holes.
struct Known {
  const char* what;
  const StructShape& shape;
  Message masks;  // written out here, from the schema's places
  std::size_t pointers;
  std::function<Struct(Struct)> message;  // around a struct of that kind
};

const std::vector<Known>& known_structs() {
  constexpr std::uint64_t all = ~std::uint64_t{0};
  const auto in_list = [](std::size_t list) {
    return [list](Struct one) { return model_with(list, structs({std::move(one)})); };
  };
  static const std::vector<Known> kinds = {
      {"Model", model_shape, {0xFFFFFFFF, all}, 7, [](Struct one) { return one; }},
      {"Content", model_shape, {all, all, all, all, all}, 0, in_list(contents)},
      {"Storage", model_shape, {all, 0x00FFFFFFFFFFFFFF}, 0, in_list(storages)},
      {"Library", model_shape, {}, 3, in_list(libraries)},
      {"Variant",
       model_shape,
       {0x000000FFFFFFFFFF, all},
       1,
       [](Struct one) {
         return model_with(libraries, structs({{{}, {text("l"), structs({std::move(one)})}}}));
       }},
      {"Method", model_shape, {}, 5, in_list(methods)},
      {"Tensor", model_shape, {0x00FFFFFFFFFFFFFF, all, 0xFFFFFFFF}, 6, in_list(tensors)},
      {"Blob", model_shape, {all, 0xFFFFFFFF}, 3, in_list(blobs)},
      {"Pair", model_shape, {0xFF}, 2, in_list(metadata)},
      {"Layout", layout_shape, {0xFFFFFFFF}, 1, [](Struct one) { return one; }},
      {"Segment",
       layout_shape,
       {0x00FFFFFFFFFFFFFF, all, all},
       0,
       [](Struct one) {
         return Struct{{1}, {structs({std::move(one)})}};
       }},
  };
  return kinds;
}

TEST(Walker, Enc12EveryBitThatNoFieldCovers) {
  for (const auto& known : known_structs()) {
    if (known.masks.empty()) continue;
    const Struct full{known.masks, {}};
    ASSERT_EQ(broken(assemble(known.message(full)), known.shape), "") << known.what;
    for (std::size_t bit = 0; bit < 64 * known.masks.size(); ++bit) {
      const std::uint64_t flag = std::uint64_t{1} << bit % 64;
      if ((known.masks[bit / 64] & flag) != 0) continue;
      Struct one = full;
      one.data[bit / 64] |= flag;
      const Message words = assemble(known.message(one));
      EXPECT_EQ(broken(words, known.shape), "ENC-12") << known.what << " " << bit;
      EXPECT_EQ(broken(words, known.shape, Unknown::ignored), "") << known.what << " " << bit;
    }
  }
}

TEST(Walker, Enc12DataWordsAndPointersBehindTheLast) {
  for (const auto& known : known_structs()) {
    Struct wide{known.masks, {}};
    wide.data.push_back(1);
    Struct long_one{known.masks, std::vector<Object>(known.pointers + 1)};
    long_one.pointers.back() = text("later");
    for (const auto& one : {wide, long_one}) {
      const Message words = assemble(known.message(one));
      EXPECT_EQ(broken(words, known.shape), "ENC-12") << known.what;
      EXPECT_EQ(broken(words, known.shape, Unknown::ignored), "") << known.what;
    }
  }
}

TEST(Walker, Enc12SecondElementOfAList) {
  EXPECT_EQ(broken(model_with(metadata, structs({{{1}, {text("a")}}, {{0x101}, {text("b")}}}))), "ENC-12");
}

// A reader of 1.0 sees in a message of a later minor what it would see without the later fields.
TEST(Walker, Enc12LaterFieldsDoNotChangeWhatIsRead) {
  Struct root = worked_model();
  const auto plain_model = assemble(root);
  root.data = {1, 0, 0, 0xABCDEF};
  root.pointers.resize(9);
  root.pointers[8] = structs({{{1, 2}, {text("later"), structs({{{3}, {}}})}}});
  root.pointers[contents].elements[0].data.push_back(9);
  root.pointers[storages].elements[0].pointers = {bytes("later")};
  root.pointers[methods].elements[0].data = {5};
  root.pointers[methods].elements[0].pointers.resize(7);
  root.pointers[methods].elements[0].pointers[6] = plain(3, 3, {1});
  root.pointers[tensors].elements[0].data[0] |= std::uint64_t{1} << 63;
  const auto later_model = assemble(root);
  ASSERT_EQ(broken(later_model), "ENC-12");
  ASSERT_EQ(broken(later_model, model_shape, Unknown::ignored), "");
  const auto later = decode_model(later_model);
  ASSERT_TRUE(later) << later.error().to_string();
  EXPECT_EQ(samples::describe(*later), samples::describe(decode_model(plain_model).value()));
}

// --- ENC-13: depth ----------------------------------------------------------------------------

Object nested(int depth) {
  return structs({{{1}, depth > 1 ? std::vector<Object>{nested(depth - 1)} : std::vector<Object>{}}});
}

TEST(Walker, Enc13Depth) {
  for (int depth = 1; depth <= 4; ++depth)
    EXPECT_EQ(broken(model_with(7, nested(depth)), Unknown::ignored), "");
  for (const int depth : {5, 6, 50})
    EXPECT_EQ(broken(model_with(7, nested(depth)), Unknown::ignored), "ENC-13") << depth;
}

TEST(Walker, Enc13ADepthThatNoStackHolds) {
  Message words = assemble(model_with(7, text("x")));
  words.pop_back();
  for (int depth = 0; depth < 1'000'000; ++depth) {
    words.back() = list_word(0, 7, 2);
    words.insert(words.end(), {struct_word(1, 1, 1), 1, 0});
  }
  const auto result = check(words, model_shape, Unknown::ignored);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().rule, "ENC-13");
  EXPECT_EQ(result.error().offset, 8 * (9 + 3 * 4)) << "the pointer of the fifth list";
}

TEST(Walker, Enc13KnownListsCount) {
  const auto with_pairs = [](int depth) {
    return model_with(
        tensors,
        structs({{{1}, {text("t"), null(), null(), structs({{{1}, {text("k"), null(), nested(depth)}}})}}}));
  };
  EXPECT_EQ(broken(with_pairs(2), Unknown::ignored), "");
  EXPECT_EQ(broken(with_pairs(3), Unknown::ignored), "ENC-13");
}

TEST(Walker, Enc13SiblingsDoNotAddUp) {
  Struct root = model_with(7, nested(4));
  for (int i = 0; i < 20; ++i) root.pointers.push_back(nested(4));
  EXPECT_EQ(broken(root, Unknown::ignored), "");
  const Struct two{{1}, {nested(3)}};
  EXPECT_EQ(broken(model_with(7, structs({two, two, two})), Unknown::ignored), "");
}

// --- One encoding: the oracle of the fuzzers --------------------------------------------------

/// What must hold for any words: what is accepted can be read, and its encoding is the words themselves.
template <class Decode, class Encode>
bool accepted_in_one_form(const Message& words, const StructShape& shape, Decode decode, Encode encode) {
  const bool ignorable = check(words, shape, Unknown::ignored).has_value();
  EXPECT_TRUE(!ignorable || decode(words)) << "accepted, but cannot be read";
  const auto strict = check(words, shape);
  if (!strict) {
    EXPECT_EQ(strict.error().code, ErrorCode::encoding);
    return false;
  }
  EXPECT_TRUE(ignorable);
  const auto value = decode(words);
  if (!value) return true;  // said above
  const auto again = encode(*value);
  EXPECT_TRUE(again && *again == words) << "accepted, but its encoding is another";
  return true;
}
bool model_in_one_form(const Message& words) {
  return accepted_in_one_form(words, model_shape, decode_model, encode_model);
}
bool layout_in_one_form(const Message& words) {
  return accepted_in_one_form(words, layout_shape, decode_layout, encode_layout);
}

template <class InOneForm>
std::size_t accepted_flips(const Message& good, InOneForm in_one_form) {
  EXPECT_TRUE(in_one_form(good));
  std::size_t accepted = 0;
  for (std::size_t bit = 0; bit < good.size() * 64 && !testing::Test::HasFailure(); ++bit) {
    Message words = good;
    words[bit / 64] ^= std::uint64_t{1} << bit % 64;
    accepted += in_one_form(words) ? 1 : 0;
    EXPECT_FALSE(testing::Test::HasFailure()) << "bit " << bit % 64 << " of word " << bit / 64;
  }
  return accepted;
}

TEST(WalkerFuzz, EverySingleBitOfAModel) {
  const auto good = encode_model(samples::rich_model().model).value();
  const auto accepted = accepted_flips(good, model_in_one_form);
  // Fields have other values then: some flips must be accepted, and pointers and padding must not.
  EXPECT_GT(accepted, good.size() * 64 / 10);
  EXPECT_LT(accepted, good.size() * 64 * 9 / 10);
}

TEST(WalkerFuzz, EverySingleBitOfRandomModels) {
  for (std::uint64_t seed = 0, models = 0; models < 5; ++seed) {
    const auto good = encode_model(samples::random_model(seed).model).value();
    if (good.size() < 20 || good.size() > 250) continue;
    accepted_flips(good, model_in_one_form);
    ++models;
  }
}

TEST(WalkerFuzz, EverySingleBitOfALayout) {
  EXPECT_GT(accepted_flips(encode_layout(samples::rich_layout()).value(), layout_in_one_form), 100);
}

/// Damage that keeps words plausible: pointers of elsewhere, small steps, objects that come and go.
Message mutate(Message words, std::mt19937_64& random) {
  const auto at = [&](std::size_t i) { return words.begin() + static_cast<std::ptrdiff_t>(i); };
  for (auto rounds = 1 + random() % 3; rounds > 0 && !words.empty(); --rounds) {
    const auto i = random() % words.size();
    const std::uint64_t other = words[random() % words.size()];
    const std::uint64_t bit = std::uint64_t{1} << random() % 64;
    const std::uint64_t any = random();
    switch (random() % 11) {
      case 0:
        words[i] = any;
        break;
      case 1:
        words[i] = other;
        break;
      case 2:
        std::swap(words[i], words[any % words.size()]);
        break;
      case 3:
        words[i] += bit;
        break;
      case 4:
        words[i] -= bit;
        break;
      case 5:
        words[i] = 0;
        break;
      case 6:
        words[i] ^= bit;
        break;
      case 7:
        words.insert(at(i), any % 2 == 0 ? 0 : other);
        break;
      case 8:
        words.erase(at(i));
        break;
      case 9:
        words[i] = list_word(static_cast<std::int64_t>(any % 40) - 5, any / 40 % 8, any / 320 % 20);
        break;
      default:
        words[i] = struct_word(any % 4, any / 4 % 6, any / 24 % 8);
        break;
    }
  }
  return words;
}

template <class InOneForm>
std::size_t accepted_mutations(const std::vector<Message>& seeds, int count, InOneForm in_one_form) {
  std::mt19937_64 random(20240611);
  std::size_t accepted = 0;
  for (int i = 0; i < count && !testing::Test::HasFailure(); ++i) {
    accepted += in_one_form(mutate(seeds[random() % seeds.size()], random)) ? 1 : 0;
    EXPECT_FALSE(testing::Test::HasFailure()) << "mutation " << i;
  }
  return accepted;
}

TEST(WalkerFuzz, TwentyThousandMutatedModels) {
  std::vector<Message> seeds = {assemble(worked_model()), encode_model(samples::rich_model().model).value()};
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    auto words = encode_model(samples::random_model(seed).model).value();
    if (words.size() < 400) seeds.push_back(std::move(words));
  }
  EXPECT_GT(accepted_mutations(seeds, 20'000, model_in_one_form), 500);
}

TEST(WalkerFuzz, TwentyThousandMutatedLayouts) {
  EXPECT_GT(accepted_mutations({encode_layout(samples::rich_layout()).value()}, 20'000, layout_in_one_form),
            500);
}

}  // namespace
}  // namespace ptd::wire
