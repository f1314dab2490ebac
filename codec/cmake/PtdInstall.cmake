# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#
# What `cmake --install` lays down: the libraries with their headers and schema, packages for CMake and pkg-config,
# the command.
include(CMakePackageConfigHelpers)

set(PTD_PACKAGE_DIR "${CMAKE_INSTALL_LIBDIR}/cmake/ptd")
set(PTD_PC_DIR "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
set(PTD_SCHEMA_INSTALL "${CMAKE_INSTALL_DATADIR}/ptd/ptd.capnp")

install(TARGETS ptd_core ptd_cuda EXPORT ptd-targets FILE_SET HEADERS)
install(FILES "${PROJECT_SOURCE_DIR}/schema/ptd.capnp" DESTINATION "${CMAKE_INSTALL_DATADIR}/ptd")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
if(TARGET ptd_cli)
  install(TARGETS ptd_cli)
endif()

set(PTD_USES_URING FALSE)
if(TARGET ptd_dep::uring)
  set(PTD_USES_URING TRUE)
endif()
install(EXPORT ptd-targets NAMESPACE ptd:: DESTINATION "${PTD_PACKAGE_DIR}")
configure_package_config_file(cmake/ptd-config.cmake.in ptd-config.cmake
    INSTALL_DESTINATION "${PTD_PACKAGE_DIR}" PATH_VARS PTD_SCHEMA_INSTALL)
# Before 1.0 a minor version may change the interface.
write_basic_package_version_file("${CMAKE_CURRENT_BINARY_DIR}/ptd-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(FILES
    "${CMAKE_CURRENT_BINARY_DIR}/ptd-config.cmake"
    "${CMAKE_CURRENT_BINARY_DIR}/ptd-config-version.cmake"
    "${CMAKE_CURRENT_SOURCE_DIR}/cmake/FindPtdLibraries.cmake"
    DESTINATION "${PTD_PACKAGE_DIR}")

# pkg-config users must name a static library's dependencies at every link, a shared one's only with --static.
if(BUILD_SHARED_LIBS)
  set(PTD_PC_REQUIRES Requires.private)
  set(PTD_PC_THREADS "")
  set(PTD_PC_DL "")
else()
  set(PTD_PC_REQUIRES Requires)
  set(PTD_PC_THREADS " -pthread")
  set(PTD_PC_DL " -ldl")
endif()
set(PTD_PC_URING "")
if(PTD_USES_URING AND BUILD_SHARED_LIBS)
  set(PTD_PC_URING "\nRequires.private: liburing")
elseif(PTD_USES_URING)
  set(PTD_PC_URING ", liburing")
endif()
file(RELATIVE_PATH PTD_PC_TO_PREFIX "/prefix/${PTD_PC_DIR}" /prefix)
string(REGEX REPLACE "/$" "" PTD_PC_TO_PREFIX "${PTD_PC_TO_PREFIX}")
foreach(name ptd ptd-cuda)
  configure_file(cmake/${name}.pc.in ${name}.pc @ONLY)
  install(FILES "${CMAKE_CURRENT_BINARY_DIR}/${name}.pc" DESTINATION "${PTD_PC_DIR}")
endforeach()
