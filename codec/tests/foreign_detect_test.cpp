// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// What a file is, from its first bytes.
#include "foreign/detect.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "tests/foreign_samples.hpp"

namespace ptd::foreign {
namespace {

using namespace std::string_literals;

const std::string magic = "\x89PTD\r\n\x1a\n"s;

Detection detect_in(std::string_view file) { return detect(bytes_of(file), file.size()); }
FileKind kind_of(std::string_view file) { return detect_in(file).kind; }

std::string padded(std::string_view start, std::size_t size = 4096, char fill = '\xA5') {
  std::string file(start);
  file.resize(std::max(size, file.size()), fill);
  return file;
}

/// A PTD header as far as detection looks: magic, version, header size.
std::string ptd_header(char major = 1, char minor = 0) {
  auto file = magic + major + "\0"s + minor + "\0\x50\0\0\0"s;
  return padded(file, 80, '\0');
}

std::string number(std::uint64_t value, std::size_t width) {
  std::string out;
  for (std::size_t i = 0; i < width; ++i) out += static_cast<char>(value >> (8 * i) & 0xFF);
  return out;
}

// --- PTD -----------------------------------------------------------------------------------------------

TEST(DetectPtd, NeedsMagicAndHeader) {
  EXPECT_EQ(kind_of(ptd_header()), FileKind::ptd);
  EXPECT_EQ(detect_in(ptd_header()).detail, "");
  EXPECT_EQ(kind_of(ptd_header().substr(0, 79)), FileKind::ptd_truncated_header);
  EXPECT_EQ(detect(bytes_of(ptd_header()).first(8), 80).kind, FileKind::ptd);
}

TEST(DetectPtd, ALaterMajorIsStillPtd) {
  const auto later = detect_in(ptd_header(2, 7));
  EXPECT_EQ(later.kind, FileKind::ptd);
  EXPECT_EQ(later.detail, "version 2.7");
  EXPECT_EQ(describe(later), "a PTD file of version 2.7");
}

TEST(DetectPtd, PayloadNeverFlipsIt) {
  for (const auto& inner :
       {"PK\5\6"s + std::string(18, '\0'), "GGUF\3\0\0\0"s, "\0\0\0\0FT01FH01"s, "ustar"s})
    for (std::size_t at = 80; at < 300; ++at) {
      auto file = ptd_header();
      file.resize(at, '\0');
      EXPECT_EQ(kind_of(file + inner), FileKind::ptd);
    }
}

TEST(DetectPtd, EverySingleByteOfTheMagicCounts) {
  for (std::size_t i = 0; i < magic.size(); ++i)
    for (int bit = 0; bit < 8; ++bit) {
      auto file = ptd_header();
      file[i] = static_cast<char>(static_cast<unsigned char>(file[i]) ^ (1U << bit));
      EXPECT_NE(kind_of(file), FileKind::ptd) << i;
    }
}

TEST(DetectPtd, CutHeaders) {
  const auto whole = ptd_header();
  EXPECT_EQ(kind_of(""), FileKind::empty);
  for (std::size_t cut = 1; cut < 4; ++cut)
    EXPECT_EQ(kind_of(whole.substr(0, cut)), FileKind::unknown) << cut;
  for (std::size_t cut = 4; cut < 80; ++cut) {
    const auto expected = cut == 6 ? FileKind::ptd_text_damaged : FileKind::ptd_truncated_header;
    EXPECT_EQ(kind_of(whole.substr(0, cut)), expected) << cut;
  }
  EXPECT_EQ(kind_of("\x89PTD\r\nxx"s), FileKind::unknown);
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

TEST(DetectPtd, TextTransfersAreNamed) {
  const auto rest = ptd_header().substr(8);
  const auto damaged = [&](const std::string& broken, std::string_view detail) {
    const auto found = detect_in(broken + rest);
    EXPECT_EQ(found.kind, FileKind::ptd_text_damaged) << detail;
    EXPECT_EQ(found.detail, detail);
  };
  damaged(replaced(magic, "\r\n", "\n"), "CR LF became LF");
  damaged(replaced(magic, "\n", "\r\n"), "LF became CR LF");
  damaged("\x89PTD\r\n\x1a\r\n"s, "LF became CR LF");
  damaged(replaced(magic, "\r", "\n"), "CR became LF");
  damaged(replaced(magic, "\n", "\r"), "LF became CR");
  damaged(replaced(magic, "\x89", "\x09"), "the high bit of its bytes was cut off");
  damaged("\x09PTD\n\x1a\n", "the high bit of its bytes was cut off and CR LF became LF");
  damaged(replaced(magic, "\x89", "\xC2\x89"), "its bytes were re-encoded as UTF-8");
  damaged(replaced(magic, "\x89", "\xE2\x80\xB0"), "its bytes were re-encoded as UTF-8");
  damaged(replaced(magic, "\x89", "\xEF\xBF\xBD"), "its bytes were decoded as UTF-8");
  damaged(replaced(magic, "\x89", "?"), "its bytes were re-encoded as ASCII");
  damaged(magic.substr(1), "bytes that are not ASCII were dropped");
  EXPECT_EQ(detect_in(magic.substr(0, 6)).detail, "it was cut at an end-of-file character");
}

TEST(DetectPtd, ByteOrder) {
  auto swapped_numbers = magic + "\0\1\0\0\0\0\0\x50"s;
  EXPECT_EQ(kind_of(padded(swapped_numbers, 80)), FileKind::ptd_byte_swapped);
  for (const std::size_t width : {2U, 4U, 8U}) {
    auto file = ptd_header();
    for (std::size_t i = 0; i < file.size(); i += width)
      std::reverse(file.begin() + static_cast<std::ptrdiff_t>(i),
                   file.begin() + static_cast<std::ptrdiff_t>(i + width));
    EXPECT_EQ(kind_of(file), FileKind::ptd_byte_swapped) << width;
  }
}

TEST(DetectPtd, RandomBytesAreNeverPtd) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 10'000; ++i) {
    std::string file(1 + random() % 300, '\0');
    for (auto& byte : file) byte = static_cast<char>(random());
    const auto kind = kind_of(file);
    EXPECT_TRUE(kind == FileKind::unknown || file.size() < 9) << kind_name(kind);
    EXPECT_GT(kind, FileKind::ptd_truncated_header);
  }
}

// --- models --------------------------------------------------------------------------------------------

TEST(Detect, FlatTensorIsToldFromPtd) {
  const auto found = detect_in(padded("\x30\0\0\0FT01FH01\x28\0\0\0"s));
  EXPECT_EQ(found.kind, FileKind::flat_tensor);
  EXPECT_EQ(found.detail, "FT01");
  EXPECT_EQ(describe(found), "an ExecuTorch FlatTensor file (also named .ptd), identifier \"FT01\"");
  EXPECT_EQ(kind_of(padded("\xF0\xFF\xFF\xFF"
                           "FT01FH01"s)),
            FileKind::flat_tensor);
  EXPECT_EQ(kind_of(padded("\x30\0\0\0FT01"s)), FileKind::flat_tensor);
  EXPECT_EQ(kind_of(padded("\xF0\xFF\xFF\xFF"
                           "FT01"s)),
            FileKind::unknown);
}

TEST(Detect, ExecuTorchPrograms) {
  EXPECT_EQ(kind_of(padded("\x30\0\0\0ET12eh00"s)), FileKind::executorch_program);
  EXPECT_EQ(detect_in(padded("\x30\0\0\0ET13"s)).detail, "ET13");
  EXPECT_EQ(kind_of(padded("\x30\0\0\0ETxx"s)), FileKind::unknown);
}

/// identifier, a table of one 4-byte field, its field table before it
std::string flatbuffer(std::string_view identifier) {
  return number(20, 4).append(identifier) + "\0\0\0\0"s + number(6, 2) + number(8, 2) + number(4, 2) +
         "\0\0"s + number(8, 4) + number(42, 4);
}

TEST(Detect, OtherFlatBuffersByTheirRootTable) {
  const auto found = detect_in(flatbuffer("TFL3"));
  EXPECT_EQ(found.kind, FileKind::flatbuffers);
  EXPECT_EQ(describe(found), "a FlatBuffers file with the identifier \"TFL3\"");
  auto broken = flatbuffer("TFL3");
  broken[12] = 7;  // an odd field table
  EXPECT_EQ(kind_of(broken), FileKind::unknown);
  EXPECT_EQ(kind_of(padded("\x14\0\0\0TFL3"s)), FileKind::unknown);
  EXPECT_EQ(kind_of(flatbuffer("T\0L3"s)), FileKind::unknown);
}

TEST(Detect, CudaManifests) {
  for (const char digit : {'0', '2', '3', '4', '5', '1', '9'})
    EXPECT_EQ(detect_in("ETCUDAFQN"s + digit + "\1\0\0\0"s).detail, std::string(1, digit));
  EXPECT_EQ(describe(detect_in("ETCUDAFQN3\1\0\0\0"s)),
            "a weight manifest of ExecuTorch's CUDA backend, version 3");
  EXPECT_EQ(describe(detect_in("ETCUDAFQN\x07\1\0\0\0"s)),
            "a weight manifest of ExecuTorch's CUDA backend, version unknown");
  EXPECT_EQ(kind_of("ETCUDAFQN"s), FileKind::et_cuda_manifest);
  EXPECT_EQ(kind_of("ETCUDAFQx0000000"s), FileKind::text);
}

TEST(Detect, NewlineKeys) {
  const std::string digest(64, 'a');
  const auto keys = digest + "_so_blob\n" + digest + "_weights_blob";
  EXPECT_EQ(kind_of(keys), FileKind::et_newline_keys);
  EXPECT_EQ(kind_of(keys + "\n"), FileKind::et_newline_keys);
  EXPECT_EQ(kind_of(keys + "\n\n"), FileKind::text);
  EXPECT_EQ(kind_of("g" + keys.substr(1)), FileKind::text);
  EXPECT_EQ(kind_of(keys.substr(1)), FileKind::text);
  EXPECT_EQ(kind_of(digest + "_so_blob\n" + digest + "_so_blob"), FileKind::text);
}

TEST(Detect, Safetensors) {
  EXPECT_EQ(kind_of(header_of("{}")), FileKind::safetensors);
  EXPECT_EQ(kind_of(header_of(R"({"__metadata__":{"format":"pt"}})") + padded("")), FileKind::safetensors);
  EXPECT_EQ(kind_of(number(1, 8) + padded("{}")), FileKind::unknown);
  EXPECT_EQ(kind_of(number(100'000'001, 8) + padded("{}")), FileKind::unknown);
  EXPECT_EQ(detect(bytes_of(number(100'000'000, 8) + "{ "), 100'000'008).kind, FileKind::safetensors);
  EXPECT_EQ(kind_of(number(10, 8) + padded("[]")), FileKind::unknown);
  EXPECT_EQ(kind_of(number(std::uint64_t{1} << 63, 8) + padded("{}")), FileKind::unknown);
}

TEST(Detect, SafetensorsCutInsideTheHeader) {
  const auto found = detect_in(number(100, 8) + "{\"a\":{");
  EXPECT_EQ(found.kind, FileKind::safetensors);
  EXPECT_EQ(describe(found), "a safetensors file, cut short inside its header");
  EXPECT_EQ(kind_of(number(100, 8) + "{a"), FileKind::unknown);
}

TEST(Detect, SafetensorsIndex) {
  EXPECT_EQ(kind_of(R"({"metadata":{"total_size":1},"weight_map":{"a":"b"}})"), FileKind::safetensors_index);
  EXPECT_EQ(kind_of(R"({"metadata":{"total_size":1}})"), FileKind::json);
  EXPECT_EQ(kind_of(R"(["weight_map"])"), FileKind::json);
}

TEST(Detect, Gguf) {
  EXPECT_EQ(detect_in(padded("GGUF\3\0\0\0"s)).detail, "version 3");
  EXPECT_EQ(kind_of(padded("GGUF\3\0\0\0"s)), FileKind::gguf);
  EXPECT_EQ(kind_of(padded("GGUF\0\0\0\3"s)), FileKind::gguf_big_endian);
  EXPECT_EQ(kind_of(padded("FUGG\0\0\0\3"s)), FileKind::gguf_big_endian);
  EXPECT_EQ(describe(detect_in(padded("GGUF\0\0\0\3"s))), "a big-endian GGUF file, version 3");
  EXPECT_EQ(kind_of("GGUF is a file format"), FileKind::text);
  EXPECT_EQ(kind_of("GGUF"), FileKind::unknown);
}

// --- containers ----------------------------------------------------------------------------------------

std::string zip_with(std::string_view name) {
  return padded(
      "PK\3\4\x0A\0"s + std::string(20, '\0') + number(name.size(), 2) + "\0\0"s + std::string(name), 100,
      '\0');
}

TEST(Detect, Zip) {
  EXPECT_EQ(kind_of(zip_with("readme")), FileKind::zip);
  EXPECT_EQ(describe(detect_in(zip_with("archive/data.pkl"))), "a zip archive (a PyTorch checkpoint)");
  EXPECT_EQ(describe(detect_in(zip_with("w.npy"))), "a zip archive (NumPy arrays)");
  EXPECT_EQ(kind_of("PK\5\6"s + std::string(18, '\0')), FileKind::zip);
  EXPECT_EQ(kind_of(padded("PK\5\6\xA5"s)), FileKind::unknown);
  EXPECT_EQ(kind_of("PK\3\4\xFF"s), FileKind::unknown);
}

TEST(Detect, Magics) {
  EXPECT_EQ(kind_of(padded("\x89HDF\r\n\x1a\n"s)), FileKind::hdf5);
  EXPECT_EQ(kind_of(padded("\x89PNG\r\n\x1a\n"s)), FileKind::png);
  EXPECT_EQ(kind_of(padded("\x93NUMPY\1\0"s)), FileKind::npy);
  EXPECT_EQ(kind_of(padded("\x28\xB5\x2F\xFD\x24"s)), FileKind::zstd);
  EXPECT_EQ(kind_of(padded("\x28\xB5\x2F\xFD\x08"s)), FileKind::unknown);
  EXPECT_EQ(kind_of(padded("\x7F"
                           "ELF\2\1\1"s)),
            FileKind::elf);
  EXPECT_EQ(kind_of(padded("\x7F"
                           "ELF\7\1\1"s)),
            FileKind::unknown);
  EXPECT_EQ(kind_of(padded("\x04\x22\x4D\x18\x64\x40"s)), FileKind::lz4);
  EXPECT_EQ(kind_of(padded("\x04\x22\x4D\x18\xFF\xFF"s)), FileKind::unknown);
  auto tar = std::string(512, '\0');
  tar.replace(257, 5, "ustar");
  EXPECT_EQ(kind_of(tar), FileKind::torch_tar);
}

// A name or a weight may hold what a tar archive has at this place.
TEST(Detect, WhatIsInsideAFileDoesNotSayWhatItIs) {
  const auto header =
      "{\"w\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}"s + std::string(400, ' ');
  const std::pair<std::string, FileKind> starts[] = {
      {"\0\0\0\0FT01FH01"s, FileKind::flat_tensor},
      {"\0\0\0\0ET12eh00"s, FileKind::executorch_program},
      {"ETCUDAFQN3"s, FileKind::et_cuda_manifest},
      {"GGUF\3\0\0\0"s, FileKind::gguf},
      {"\x80\1\0\0\0\0\0\0"s + header, FileKind::safetensors},
      {"\x80\2}q\0(NNNN"s, FileKind::pickle},
  };
  for (const auto& [start, kind] : starts)
    for (const auto& inside : {"ustar\0"s, "ustar  \0"s, "ustar"s}) {
      auto file = start + std::string(600 - start.size(), '\0');
      EXPECT_EQ(kind_of(file), kind) << start;
      file.replace(257, inside.size(), inside);
      EXPECT_EQ(kind_of(file), kind) << start;
    }
  auto text = "{\"weight_map\":" + std::string(600, ' ') + "}";
  const auto kind = kind_of(text);
  text.replace(257, 7, "ustar  ");
  EXPECT_EQ(kind_of(text), kind);
}

TEST(Detect, SkippableFramesMustFit) {
  for (int i = 0; i < 16; ++i)
    EXPECT_EQ(kind_of(static_cast<char>(0x50 + i) + "\x2A\x4D\x18\4\0\0\0abcd"s), FileKind::zstd_skippable);
  EXPECT_EQ(kind_of("\x50\x2A\x4D\x18\5\0\0\0abcd"s), FileKind::unknown);
  EXPECT_EQ(kind_of("\x60\x2A\x4D\x18\4\0\0\0abcd"s), FileKind::unknown);
  EXPECT_EQ(kind_of("\x50\x2A\x4D\x18\1\0"s), FileKind::unknown);
}

TEST(Detect, GzipNeedsMoreThanTwoBytes) {
  const auto gzip = "\x1F\x8B\x08\0\0\0\0\0\0\x03"s;
  EXPECT_EQ(kind_of(padded(gzip)), FileKind::gzip);
  EXPECT_EQ(kind_of(padded("\x1F\x8B"s)), FileKind::unknown);
  EXPECT_EQ(kind_of(gzip), FileKind::unknown);
  for (const std::size_t at : {2U, 3U, 8U, 9U}) {
    auto broken = padded(gzip);
    broken[at] = '\xE1';
    EXPECT_EQ(kind_of(broken), FileKind::unknown) << at;
  }
}

// Made with Python's pickle module and torch.save.
TEST(Detect, Pickle) {
  EXPECT_EQ(kind_of("\x80\x02N."s), FileKind::pickle);
  EXPECT_EQ(kind_of("\x80\x02}q\x00."s), FileKind::pickle);
  EXPECT_EQ(kind_of("\x80\x02\x8A\x0A\x6C\xFC\x9C\x46\xF9\x20\x6A\xA8\x50\x19.\x80\x02M\xE9\x03."s),
            FileKind::pickle);
  EXPECT_EQ(kind_of("\x80\x04\x95\x0B\0\0\0\0\0\0\0}\x94\x8C\x01"s
                    "a\x94K\x01s."s),
            FileKind::pickle);
  EXPECT_EQ(kind_of("\x80\x03"
                    "ccollections\nOrderedDict\nq\0)Rq\x01."s),
            FileKind::pickle);
  EXPECT_EQ(detect(bytes_of(padded("\x80\x03"
                                   "B\0\0\1\0"s)),
                   1 << 20)
                .kind,
            FileKind::pickle);
}

TEST(Detect, PickleNeedsMoreThanTwoBytes) {
  EXPECT_EQ(kind_of(padded("\x80\x02"s)), FileKind::unknown);
  EXPECT_EQ(kind_of("\x80\x02"s), FileKind::unknown);
  EXPECT_EQ(kind_of(padded("\x80\x04}}"s)), FileKind::unknown);
  EXPECT_EQ(kind_of(padded("\x80\x06N."s)), FileKind::unknown);
  EXPECT_EQ(kind_of(padded("\x80\x03N."s)), FileKind::unknown);
  EXPECT_EQ(kind_of(padded("\x80\x04\x95\xFF\xFF\xFF\0\0\0\0\0}}}}"s)), FileKind::unknown);
  EXPECT_EQ(kind_of(padded("\x80\x03"
                           "B\xFF\xFF\xFF\x7F"s)),
            FileKind::unknown);
}

// --- text ----------------------------------------------------------------------------------------------

TEST(Detect, GitLfsPointers) {
  EXPECT_EQ(kind_of("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"),
            FileKind::git_lfs_pointer);
}

TEST(Detect, Html) {
  EXPECT_EQ(kind_of("<!DOCTYPE html><p>"), FileKind::html);
  EXPECT_EQ(kind_of("\xEF\xBB\xBF\r\n <HTML\n>"), FileKind::html);
  EXPECT_EQ(kind_of("<!doctype html>\xff\xfe"), FileKind::html);
  EXPECT_EQ(kind_of("<htmlish text>"), FileKind::text);
}

TEST(Detect, Json) {
  EXPECT_EQ(kind_of("{}"), FileKind::json);
  EXPECT_EQ(kind_of("\xEF\xBB\xBF \n{ \"error\": 404 }"), FileKind::json);
  EXPECT_EQ(kind_of("[ 1, 2 ]"), FileKind::json);
  EXPECT_EQ(kind_of("{not json}"), FileKind::text);
  EXPECT_EQ(kind_of("[x] a list"), FileKind::text);
  EXPECT_EQ(kind_of("{\"a\":\"\x01\"}"), FileKind::unknown);
}

TEST(Detect, TextIsPrintableUtf8) {
  EXPECT_EQ(kind_of("Not found.\n"), FileKind::text);
  EXPECT_EQ(kind_of("na\xC3\xAFve text"), FileKind::text);
  EXPECT_EQ(kind_of("Latin-1: \xE9 text"), FileKind::unknown);
  EXPECT_EQ(kind_of("some text\0more"s), FileKind::unknown);
  EXPECT_EQ(kind_of("escape \x1b[2J text"), FileKind::unknown);
  EXPECT_EQ(kind_of("C1 control \xC2\x9B text"), FileKind::unknown);
  EXPECT_EQ(kind_of("delete \x7F text"), FileKind::unknown);
  EXPECT_EQ(kind_of("short"), FileKind::unknown);
}

TEST(Detect, ACharacterCutByTheWindowIsStillText) {
  std::string text(detect_bytes - 1, 'a');
  text += "\xC3\xA9 and so on";
  EXPECT_EQ(kind_of(text), FileKind::text);
  EXPECT_EQ(kind_of(text.substr(0, detect_bytes)), FileKind::unknown);
}

TEST(Detect, LooksAtItsWindowOnly) {
  const auto text = std::string(detect_bytes, 'a') + "\0\xff"s;
  EXPECT_EQ(kind_of(text), FileKind::text);
}

TEST(Detect, RawWeightsAreUnknown) {
  EXPECT_EQ(kind_of(std::string(4096, '\0')), FileKind::unknown);
  std::string floats;
  for (int i = 0; i < 1000; ++i) floats += "\0\0\x80\x3F"s;
  EXPECT_EQ(kind_of(floats), FileKind::unknown);
  EXPECT_EQ(detect({}, 100).kind, FileKind::unknown);
}

// Every prefix of every magic: no read past the end (run under a sanitizer), no wild guess.
TEST(Detect, ShortFilesAreSafe) {
  for (const auto& whole : {ptd_header(), zip_with("a"), flatbuffer("TFL3"), header_of("{}"), "GGUF\3\0\0\0"s,
                            "\x80\x04\x95\x0B\0\0\0\0\0\0\0}\x94\x8C\x01"s
                            "a\x94K\x01s."s,
                            "\x1F\x8B\x08\0\0\0\0\0\0\x03"s, "\x50\x2A\x4D\x18\4\0\0\0abcd"s})
    for (std::size_t cut = 0; cut < whole.size(); ++cut) {
      const std::vector<char> exact(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(cut));
      EXPECT_NE(kind_of({exact.data(), exact.size()}), FileKind::ptd) << cut;
    }
}

// --- words ---------------------------------------------------------------------------------------------

TEST(FileKinds, NamesAreDistinctAndDescribed) {
  std::set<std::string_view> names;
  for (int i = 0; i <= static_cast<int>(FileKind::unknown); ++i) {
    const auto kind = static_cast<FileKind>(i);
    EXPECT_TRUE(names.insert(kind_name(kind)).second);
    EXPECT_FALSE(describe({kind, {}}).empty());
  }
  EXPECT_EQ(kind_name(FileKind::flat_tensor), "flat-tensor");
  EXPECT_EQ(kind_name(FileKind::safetensors_index), "safetensors-index");
}

TEST(FileKinds, AdviceSaysWhatToRun) {
  EXPECT_EQ(advice(FileKind::safetensors), "run `ptd convert FILE -o OUT.ptd`");
  EXPECT_EQ(advice(FileKind::git_lfs_pointer), "run `git lfs pull` in its repository");
  EXPECT_EQ(advice(FileKind::ptd), "");
  EXPECT_EQ(advice(FileKind::unknown), "");
}

TEST(FileKinds, DetailsAreEscaped) {
  EXPECT_EQ(describe({FileKind::flatbuffers, "\x1b[2J"}),
            "a FlatBuffers file with the identifier \"\\x1b[2J\"");
}

}  // namespace
}  // namespace ptd::foreign
