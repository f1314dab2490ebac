// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// What differs between two objects of two models that should be one.
#pragma once

#include <ptd/model.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ptd::cli {

/// One property with two values. An empty side means that there is none of it there; where both are empty,
/// `what` says it all. Raw text: names and metadata in it are not escaped.
struct Detail {
  std::string what;  ///< for example "dtype", or "metadata" and the key in quotes
  std::string before;
  std::string after;

  friend bool operator==(const Detail&, const Detail&) = default;
};

// Each compares by content digests, never by where or how a file stores something. Complexity: linear in
// the objects' sizes, lists and metadata.

/// Views and what they view. Strides of dimensions of size 1 or 0 mean nothing. "content" is that of the
/// whole storage. Neither names nor owners are compared.
std::vector<Detail> compare_tensors(const Model& before, const Tensor& a, const Model& after,
                                    const Tensor& b);

std::vector<Detail> compare_blobs(const Model& before, const Blob& a, const Model& after, const Blob& b);

/// Variants with the names of their blobs, and metadata. What is in the blobs is the blobs' affair.
std::vector<Detail> compare_libraries(const Model& before, const Library& a, const Model& after,
                                      const Library& b);

/// Two lists ascending by key.
std::vector<Detail> compare_metadata(const std::vector<Pair>& a, const std::vector<Pair>& b);

/// The same with the bare key as `what`.
std::vector<Detail> compare_pairs(const std::vector<Pair>& a, const std::vector<Pair>& b);

/// The kind of an owner and its name, which is empty for the model. Models order their tensors by it and the
/// tensors' names.
using OwnerName = std::pair<OwnerKind, std::string_view>;
OwnerName owner_name(const Model& model, const Owner& owner);

/// 'library "kernels"', 'method "decode"', 'the model'. Raw text.
std::string owner_text(const OwnerName& owner);

/// The same, but empty for the model, which goes without saying.
std::string owner_note(const Model& model, const Owner& owner);

/// "[3, 4]".
std::string list_text(std::span<const std::uint64_t> values);

}  // namespace ptd::cli
