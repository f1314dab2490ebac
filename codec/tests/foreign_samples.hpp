// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// Files of other formats, made for tests.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <ptd/bytes.hpp>
#include <string>
#include <string_view>

#include "foreign/safetensors.hpp"

namespace ptd::foreign {

inline Bytes bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

/// The 8-byte length and the JSON.
inline std::string header_of(std::string_view json) {
  std::string out(8, '\0');
  const std::uint64_t size = json.size();
  std::memcpy(out.data(), &size, sizeof size);
  return out.append(json);
}

/// Parses a header as if `data_bytes` bytes of data followed.
inline Result<SafetensorsHeader> parse(std::string_view json, std::uint64_t data_bytes,
                                       const SafetensorsOptions& options = {}) {
  const auto header = header_of(json);
  return parse_safetensors(bytes_of(header), header.size() + data_bytes, options);
}

/// A header's entry: `"name":{...}`; name and shape as JSON.
inline std::string entry(std::string_view name, std::string_view dtype, std::string_view shape,
                         std::uint64_t begin, std::uint64_t end) {
  return std::string("\"")
      .append(name)
      .append("\":{\"dtype\":\"")
      .append(dtype)
      .append("\",\"shape\":")
      .append(shape)
      .append(",\"data_offsets\":[" + std::to_string(begin) + "," + std::to_string(end) + "]}");
}

inline std::string object(std::string_view members) { return std::string("{").append(members).append("}"); }

template <class T>
testing::AssertionResult refuses(const Result<T>& result, ErrorCode code, std::string_view subject,
                                 std::string_view part_of_message) {
  if (result) return testing::AssertionFailure() << "accepted";
  const auto& error = result.error();
  if (error.code == code && error.subject == subject &&
      error.message.find(part_of_message) != std::string::npos)
    return testing::AssertionSuccess();
  return testing::AssertionFailure() << error_name(error.code) << ", subject \"" << escaped(error.subject)
                                     << "\", message: " << error.message;
}

}  // namespace ptd::foreign
