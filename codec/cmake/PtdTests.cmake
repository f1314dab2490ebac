# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#
# Four kinds of tests: units (GoogleTest), the examples, the command from outside (pytest), an installed copy in other
# projects.
find_package(GTest REQUIRED)
include(GoogleTest)

# --- units: codec/tests/*_test.cpp ---------------------------------------------------------------------
ptd_glob(test_sources tests/*_test.cpp)
if(test_sources)
  set(unit_sources ${test_sources})
  list(FILTER unit_sources EXCLUDE REGEX "/cuda_gpu(_decoder_device)?_test\\.cpp$")
  add_executable(ptd_tests ${unit_sources})
  # Tests may look below the public surface, at rooms and at the generated schema.
  target_link_libraries(ptd_tests PRIVATE
      ptd::core ptd::cuda ptd::foreign ptd_verbs ptd_schema_headers ptd_flat_headers
      ptd_dep::zstd ptd_dep::xxhash ptd_dep::crypto
      GTest::gmock GTest::gtest_main)
  target_compile_definitions(ptd_tests PRIVATE PTD_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  ptd_own_test(ptd_tests)
  # The library is what must be fast; its tests should rather compile fast.
  target_compile_options(ptd_tests PRIVATE $<$<CONFIG:Release>:-O1>)
  gtest_discover_tests(ptd_tests DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 300)
endif()

# --- on GPUs: a program of its own, since it has to be carried to a machine that has one ---------------
list(FILTER test_sources INCLUDE REGEX "/cuda_gpu(_decoder_device)?_test\\.cpp$")
if(test_sources AND CUDA_INCLUDE_DIR)
  add_executable(ptd_cuda_tests ${test_sources})
  target_include_directories(ptd_cuda_tests SYSTEM PRIVATE "${CUDA_INCLUDE_DIR}")
  target_link_libraries(ptd_cuda_tests PRIVATE
      ptd::core ptd::cuda ptd_schema_headers ptd_dep::xxhash GTest::gmock GTest::gtest_main ${CMAKE_DL_LIBS})
  target_compile_definitions(ptd_cuda_tests PRIVATE PTD_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  ptd_own_test(ptd_cuda_tests)
  gtest_discover_tests(ptd_cuda_tests DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 300)
endif()

# --- models for end-to-end tests -----------------------------------------------------------------------
add_executable(ptd_sample_models tests/sample_models.cpp)
target_link_libraries(ptd_sample_models PRIVATE ptd::core)
ptd_own_test(ptd_sample_models)

# --- the command from outside: codec/tests/e2e/*.py ----------------------------------------------------
ptd_glob(e2e_sources tests/e2e/*.py)
if(e2e_sources AND NOT EXISTS "${PTD_PYTHON}")
  message(WARNING "No ${PTD_PYTHON}: end-to-end tests are left out. ./dev build makes it.")
elseif(e2e_sources)
  add_test(NAME e2e COMMAND "${PTD_PYTHON}" -m pytest -q -p no:cacheprovider "${CMAKE_CURRENT_SOURCE_DIR}/tests/e2e")
  # The longest of all, on one core: what it costs lets it start first.
  set_tests_properties(e2e PROPERTIES TIMEOUT 900 COST 100 ENVIRONMENT
      "PTD_BIN=$<TARGET_FILE:ptd_cli>;PTD_BUILD=${PROJECT_BINARY_DIR};PYTHONDONTWRITEBYTECODE=1")
endif()

# --- examples: codec/examples --------------------------------------------------------------------------
add_subdirectory(examples)
foreach(example write_two_methods load_two_methods)
  if(TARGET ${example})
    ptd_own(${example})
  endif()
endforeach()
set(example_model "${PROJECT_BINARY_DIR}/two_methods.ptd")
add_test(NAME examples.write_two_methods COMMAND write_two_methods "${example_model}")
set_tests_properties(examples.write_two_methods PROPERTIES FIXTURES_SETUP ptd_example_model)
if(TARGET load_two_methods)
  add_test(NAME examples.load_two_methods COMMAND load_two_methods "${example_model}")
  # Without a GPU it says so, and is skipped.
  set_tests_properties(examples.load_two_methods PROPERTIES
      FIXTURES_REQUIRED ptd_example_model SKIP_RETURN_CODE 77 TIMEOUT 300)
endif()

# --- an installed copy in other projects: codec/tests/consumer, codec/examples -------------------------
set(consumer_dir "${PROJECT_BINARY_DIR}/consumer")
add_test(NAME consumer.install
    COMMAND "${CMAKE_COMMAND}" --install "${PROJECT_BINARY_DIR}" --prefix "${consumer_dir}/prefix")
set_tests_properties(consumer.install PROPERTIES FIXTURES_SETUP ptd_installed)

# ptd_consumer_test(NAME PROJECT SOURCES [OPTIONS OPTION...] TEST COMMAND...): builds the project, runs the command.
function(ptd_consumer_test name project sources)
  cmake_parse_arguments(PARSE_ARGV 3 with "" "" "OPTIONS;TEST")
  add_test(NAME consumer.${name}
      COMMAND "${CMAKE_CTEST_COMMAND}"
          --build-and-test "${CMAKE_CURRENT_SOURCE_DIR}/${sources}" "${consumer_dir}/${name}"
          --build-generator "${CMAKE_GENERATOR}" --build-project ${project}
          --build-options "-DCMAKE_PREFIX_PATH=${consumer_dir}/prefix"
              "-DCMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER}" "-DCMAKE_CXX_FLAGS=${CMAKE_CXX_FLAGS}" ${with_OPTIONS}
          --test-command ${with_TEST})
  set_tests_properties(consumer.${name} PROPERTIES FIXTURES_REQUIRED ptd_installed TIMEOUT 300)
endfunction()
foreach(way find_package pkg_config)
  ptd_consumer_test(${way} consumer tests/consumer OPTIONS "-DPTD_WAY=${way}"
      TEST "${consumer_dir}/${way}/consumer")
  add_test(NAME consumer.${way}.cuda COMMAND "${consumer_dir}/${way}/consumer_cuda")
  set_tests_properties(consumer.${way} PROPERTIES FIXTURES_SETUP ptd_consumer_${way})
  set_tests_properties(consumer.${way}.cuda PROPERTIES FIXTURES_REQUIRED ptd_consumer_${way} TIMEOUT 300)
endforeach()
ptd_consumer_test(examples ptd_examples examples
    TEST "${consumer_dir}/examples/write_two_methods" "${consumer_dir}/examples/two_methods.ptd")
