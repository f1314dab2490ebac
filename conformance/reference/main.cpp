// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// The reference codec as an adapter of the conformance suite (PROTOCOL.md).
#include <array>
#include <exception>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "describe.hpp"
#include "encode.hpp"
#include "foreign/detect.hpp"

namespace ptd::conformance {
namespace {

enum class Level { open, verify };

std::string line_of(const Json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

Json rejection(const Error& error, const char* level) {
  Json out = {{"result", "reject"},
              {"class", error_class_name(error_class(error.code))},
              {"code", error_name(error.code)}};
  if (level != nullptr) out["level"] = level;
  return out;
}

// What the file is, where it is not PTD.
void name_foreign(const Error& error, const ByteSource& source, Json& out) {
  if (error.code != ErrorCode::not_ptd && error.code != ErrorCode::too_short &&
      error.code != ErrorCode::byte_order)
    return;
  std::vector<std::byte> first(std::min<std::uint64_t>(source.size(), foreign::detect_bytes));
  if (!source.read(0, first)) return;
  out["foreign"] = foreign::kind_name(foreign::detect(first, source.size()).kind);
}

// An error of the machine is no verdict on a file.
[[noreturn]] void fail_of_machine(const Error& error) { throw std::runtime_error(error.to_string()); }

bool is_of_machine(ErrorCode code) {
  return code == ErrorCode::io || code == ErrorCode::no_memory || code == ErrorCode::internal;
}

Json judge(const SourcePtr& source, Level level) {
  const auto file = Reader::open(source);
  if (!file) {
    if (is_of_machine(file.error().code)) fail_of_machine(file.error());
    auto out = rejection(file.error(), "open");
    name_foreign(file.error(), *source, out);
    return out;
  }
  if (level == Level::open) return {{"result", "accept"}};
  if (const auto verified = file->verify({1, {}}); !verified) {
    if (is_of_machine(verified.error().code)) fail_of_machine(verified.error());
    return rejection(verified.error(), "verify");
  }
  auto description = describe(*file);
  if (!description) fail_of_machine(description.error());
  return {{"result", "accept"}, {"description", *std::move(description)}};
}

SourcePtr read_standard_input() {
  const std::string text(std::istreambuf_iterator<char>(std::cin), {});
  const auto bytes = std::as_bytes(std::span(text));
  return own_memory({bytes.begin(), bytes.end()});
}

SourcePtr open_path(const std::string& path) {
  const auto opened = open_file(path);
  if (!opened) fail_of_machine(opened.error());
  return opened->source;
}

int decode(const std::vector<std::string>& arguments, Level level) {
  const auto out = judge(arguments.empty() ? read_standard_input() : open_path(arguments.front()), level);
  std::cout << line_of(out) << std::flush;
  return out.at("result") == "accept" ? 0 : 1;
}

int batch(Level level) {
  for (std::string path; std::getline(std::cin, path);)
    std::cout << line_of(judge(open_path(path), level)) << std::flush;
  return 0;
}

int encode_file(const std::vector<std::string>& arguments) {
  std::ifstream file(arguments.at(0), std::ios::binary);
  const auto written = encode(nlohmann::json::parse(file), arguments.at(1));
  if (written) return 0;
  if (is_of_machine(written.error().code)) fail_of_machine(written.error());
  std::cout << line_of(rejection(written.error(), nullptr)) << std::flush;
  return 1;
}

// Takes "--level LEVEL" out of the arguments.
Level take_level(std::vector<std::string>& arguments) {
  for (std::size_t i = 0; i + 1 < arguments.size(); ++i) {
    if (arguments[i] != "--level") continue;
    const auto level = arguments[i + 1] == "open" ? Level::open : Level::verify;
    const auto at = arguments.begin() + static_cast<std::ptrdiff_t>(i);
    arguments.erase(at, at + 2);
    return level;
  }
  return Level::verify;
}

constexpr const char* usage =
    "usage: ptd_adapter decode [--level open|verify] [FILE]\n"
    "       ptd_adapter batch  [--level open|verify]\n"
    "       ptd_adapter encode DESCRIPTION OUT\n";

int run(std::vector<std::string> arguments) {
  constexpr int wrong_usage = 64;
  const auto level = take_level(arguments);
  const auto verb = arguments.empty() ? std::string() : arguments.front();
  if (!arguments.empty()) arguments.erase(arguments.begin());
  if (verb == "decode" && arguments.size() <= 1) return decode(arguments, level);
  if (verb == "batch" && arguments.empty()) return batch(level);
  if (verb == "encode" && arguments.size() == 2) return encode_file(arguments);
  std::cerr << usage;
  return wrong_usage;
}

}  // namespace
}  // namespace ptd::conformance

int main(int argc, char** argv) {
  constexpr int broken = 70;
  try {
    std::ios::sync_with_stdio(false);
    return ptd::conformance::run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::cerr << "ptd_adapter: " << error.what() << "\n";
    return broken;
  }
}
