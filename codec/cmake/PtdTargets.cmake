# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#
# What the project's own targets have in common.

# The warnings that our code is free of. Whether they are errors is the builder's choice
# (CMAKE_COMPILE_WARNING_AS_ERROR, on in every preset), so that a newer compiler does not break packages.
add_library(ptd_warnings INTERFACE)
target_compile_options(ptd_warnings INTERFACE
    -Wall -Wextra -Wpedantic
    -Wconversion -Wsign-conversion -Wdouble-promotion
    -Wshadow -Wold-style-cast -Wcast-qual -Wcast-align
    -Wnon-virtual-dtor -Woverloaded-virtual -Wextra-semi
    -Wformat=2 -Wimplicit-fallthrough -Wundef
    $<$<CXX_COMPILER_ID:GNU>:-Wduplicated-cond -Wlogical-op>
    # GCC 12 sees overlapping copies in "literal" + std::string where there are none.
    $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)

# Sources are globbed, so that adding a file to a room needs no edit here.
function(ptd_glob result)
  file(GLOB sources CONFIGURE_DEPENDS ${ARGN})
  set(${result} ${sources} PARENT_SCOPE)
endfunction()

# Every target of ours sees the public headers, the rooms ("wire/header.hpp") and the warnings.
function(ptd_own target)
  ptd_own_or_test(${target})
  ptd_lint(${target})
endfunction()

function(ptd_own_or_test target)
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/codec")
  target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:ptd_warnings>)
endfunction()

# What clang-tidy reads, where it is switched on (the preset "lint").
add_custom_target(ptd_linted)

# A changed set of checks must meet every source again, and the compiler's dependencies do not know of it.
function(ptd_lint target)
  add_dependencies(ptd_linted ${target})
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.cpp$")
  if(CMAKE_CXX_CLANG_TIDY)
    set_property(SOURCE ${sources} APPEND PROPERTY OBJECT_DEPENDS "${PROJECT_SOURCE_DIR}/.clang-tidy")
  endif()
endfunction()

# Tests and benchmarks: ours, but the macros they lean on leave clang-tidy little to say, and counting with plain
# numbers is no fault there. (An interface library, since a target's own options come before those it links.)
add_library(ptd_test_warnings INTERFACE)
# GCC 12 takes the comparison of two vectors of bytes for one of more bytes than there can be.
target_compile_options(ptd_test_warnings INTERFACE
    -Wno-sign-conversion $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overread>)

function(ptd_own_test target)
  ptd_own_or_test(${target})
  target_link_libraries(${target} PRIVATE ptd_test_warnings)
  set_target_properties(${target} PROPERTIES CXX_CLANG_TIDY "")
endfunction()
