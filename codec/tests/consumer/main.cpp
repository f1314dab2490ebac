// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// The smallest program that needs both the installed headers and the installed library.
#include <iostream>
#include <ptd/dtype.hpp>
#include <ptd/error.hpp>

namespace {

ptd::Result<ptd::DType> find_dtype(std::string_view name) {
  if (const auto dtype = ptd::dtype_from_name(name)) return *dtype;
  return ptd::fail_on(ptd::ErrorCode::not_found, "", name, "no such dtype");
}

}  // namespace

int main() {
  const auto known = find_dtype("bfloat16");
  const auto unknown = find_dtype("bfloat17");
  if (!known || unknown) return 1;
  std::cout << ptd::dtype_name(*known) << ", and " << unknown.error().to_string() << '\n';
}
