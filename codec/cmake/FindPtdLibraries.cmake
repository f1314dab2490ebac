# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#
# The compiled libraries that ptd::core uses, as imported targets ptd_dep::<name>. One module serves the build
# and the installed package, so that both pick the same ones: not every distribution has a CMake package
# for each, and those that exist do not agree on how to ask for a static library (PTD_STATIC).
include(FindPackageHandleStandardArgs)

set(_ptd_capnp capnp/message.h)
set(_ptd_kj kj/exception.h)
set(_ptd_zstd zstd.h)
set(_ptd_xxhash xxhash.h)
set(_ptd_crypto openssl/evp.h)
set(_ptd_names capnp kj zstd xxhash crypto)

set(_ptd_required)
foreach(_name IN LISTS _ptd_names)
  find_path(PTD_${_name}_INCLUDE_DIR ${_ptd_${_name}})
  if(PTD_STATIC)
    find_library(PTD_${_name}_LIBRARY NAMES lib${_name}.a)
  else()
    find_library(PTD_${_name}_LIBRARY NAMES ${_name})
  endif()
  mark_as_advanced(PTD_${_name}_INCLUDE_DIR PTD_${_name}_LIBRARY)
  list(APPEND _ptd_required PTD_${_name}_LIBRARY PTD_${_name}_INCLUDE_DIR)
endforeach()

# What ptd::cuda does without where it is absent.
find_path(PTD_uring_INCLUDE_DIR liburing.h)
if(PTD_STATIC)
  find_library(PTD_uring_LIBRARY NAMES liburing.a)
else()
  find_library(PTD_uring_LIBRARY NAMES uring)
endif()
mark_as_advanced(PTD_uring_INCLUDE_DIR PTD_uring_LIBRARY)
if(PTD_uring_INCLUDE_DIR AND PTD_uring_LIBRARY)
  list(APPEND _ptd_names uring)
endif()

find_package_handle_standard_args(PtdLibraries REQUIRED_VARS ${_ptd_required}
    REASON_FAILURE_MESSAGE "install the development packages of Cap'n Proto, zstd, xxHash and OpenSSL")

if(PtdLibraries_FOUND)
  foreach(_name IN LISTS _ptd_names)
    if(NOT TARGET ptd_dep::${_name})
      add_library(ptd_dep::${_name} UNKNOWN IMPORTED)
      set_target_properties(ptd_dep::${_name} PROPERTIES
          IMPORTED_LOCATION "${PTD_${_name}_LIBRARY}"
          INTERFACE_INCLUDE_DIRECTORIES "${PTD_${_name}_INCLUDE_DIR}")
    endif()
  endforeach()
  set_property(TARGET ptd_dep::capnp PROPERTY INTERFACE_LINK_LIBRARIES ptd_dep::kj)
  set_property(TARGET ptd_dep::crypto PROPERTY INTERFACE_LINK_LIBRARIES ${CMAKE_DL_LIBS})
endif()
