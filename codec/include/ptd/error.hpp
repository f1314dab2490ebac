// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// How every call of this library says that it failed: a value, never an exception.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace ptd {

/// What kind of failure an error is. The first four classify files and are normative (SPEC.md,
/// "Errors"); the others are about the caller and the machine and never describe a file.
enum class ErrorClass : std::uint8_t {
  malformed,    ///< the bytes break the grammar
  invalid,      ///< well-formed, but breaks a rule
  unsupported,  ///< valid, but needs what this reader lacks
  corrupt,      ///< a digest or a decoder disagrees
  usage,        ///< the call asks for something that does not exist or cannot be
  environment,  ///< the machine failed: I/O, space, permission, memory
  internal,     ///< a fault of this library; fuzzers assert that it never appears
};

/// Stable error codes. `error_name` gives the spelling used by SPEC.md, vectors and the CLI.
enum class ErrorCode : std::uint8_t {
  // Found when a file is opened (SPEC.md, "Order of checks").
  not_ptd,
  too_short,
  byte_order,
  header_hash,
  major_version,
  header_size,
  required_feature,
  header_range,
  truncated,
  trailing_bytes,
  reader_limit,
  layout_hash,
  model_hash,
  encoding,
  version_mismatch,
  limit,
  unlisted_number,
  size,
  reference,
  external,
  name,
  variant,
  metadata,
  duplicate,
  order,
  owner,
  view_shape,
  view_bounds,
  sub_byte,
  packed,
  binding,
  unreferenced,
  content_conflict,
  segment_map,
  alignment,
  chunk_size,
  stored_size,
  plane_width,
  tiling,
  // Found when payload is read or verified.
  padding,
  table_hash,
  chunk_table,
  stored_hash,
  frame,
  chunk_data,
  zero_content,
  content_digest,
  pad_bits,
  // Not about a .ptd file's own bytes.
  conflict,           ///< writer: one key, two different tensors
  foreign_input,      ///< an input of another format breaks that format's rules
  unsupported_input,  ///< an input or target that PTD or the other format cannot express
  argument,           ///< a call or command line that cannot be meant
  not_found,          ///< no tensor, method or blob of that name
  io,                 ///< reading or writing failed; nothing was lost
  no_memory,          ///< an allocation of a checked size failed
  device,             ///< a GPU or its driver is missing or failed
  cancelled,          ///< the caller's progress callback asked to stop
  internal,           ///< a fault of this library
};

/// The stable spelling, for example "header-hash".
std::string_view error_name(ErrorCode code) noexcept;

/// The class that SPEC.md gives the code.
ErrorClass error_class(ErrorCode code) noexcept;

/// The stable spelling of a class, for example "malformed".
std::string_view error_class_name(ErrorClass error_class) noexcept;

/// One failure: which rule, where, and what to do about it.
struct Error {
  ErrorCode code = ErrorCode::internal;
  std::string_view rule;  ///< id of the broken rule in SPEC.md, "" outside the format; static storage
  std::string message;    ///< one sentence: what is wrong and what to do; control characters escaped
  std::string subject;    ///< the name or path at fault, raw bytes; empty when there is none
  std::optional<std::uint64_t> offset;  ///< byte offset in the file, where one can be named

  /// "header-hash [HDR-4] at byte 72: ..." with `subject` and control characters escaped.
  [[nodiscard]] std::string to_string() const;
};

template <class T>
using Result = tl::expected<T, Error>;

/// A value that converts to the failed state of any Result.
using Failure = tl::unexpected<Error>;

/// Makes a failure. `rule` must be a string literal.
Failure fail(ErrorCode code, std::string_view rule, std::string message);
Failure fail_at(ErrorCode code, std::string_view rule, std::uint64_t offset, std::string message);
Failure fail_on(ErrorCode code, std::string_view rule, std::string_view subject, std::string message);

/// Makes bytes from a stranger fit for a terminal or a log: control characters, bytes that are not
/// UTF-8 and bidirectional overrides become \xNN or \u{N}; everything else stays. Complexity: linear.
std::string escaped(std::string_view bytes);

}  // namespace ptd

/// Leaves the enclosing function with the error of a failed Result<T> expression.
#define PTD_TRY(expression)                                            \
  do {                                                                 \
    if (auto ptd_try_result = (expression); !ptd_try_result)           \
      return ::tl::make_unexpected(std::move(ptd_try_result).error()); \
  } while (false)

#define PTD_CONCAT_INNER(a, b) a##b
#define PTD_CONCAT(a, b) PTD_CONCAT_INNER(a, b)

/// `PTD_LET(name, expression);` declares `name` as the value, or leaves with the error.
#define PTD_LET(name, expression)                                               \
  auto PTD_CONCAT(name, _result) = (expression);                                \
  if (!PTD_CONCAT(name, _result))                                               \
    return ::tl::make_unexpected(std::move(PTD_CONCAT(name, _result)).error()); \
  auto& name = *PTD_CONCAT(name, _result)
