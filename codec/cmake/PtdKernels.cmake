# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#
# The kernels of cuda/gpu/: nvcc makes one file of them for all GPUs, and the library carries it as bytes. nvcc is only run for
# that: nothing else is compiled by it, and CUDA's runtime library is not used.
find_program(PTD_NVCC nvcc HINTS "$ENV{CUDA_HOME}/bin" /usr/local/cuda/bin DOC "CUDA's compiler")
mark_as_advanced(PTD_NVCC)

# Machine code for the GPUs that we know, and code that the driver compiles for later ones.
set(PTD_GPU_CODE
    -gencode=arch=compute_80,code=sm_80
    -gencode=arch=compute_90,code=sm_90
    -gencode=arch=compute_80,code=compute_80)

function(ptd_kernels target)
  if(NOT PTD_NVCC OR NOT CUDA_INCLUDE_DIR)
    message(STATUS "No nvcc: ptd::cuda is built without the decoder for GPUs")
    return()
  endif()
  set(source "${CMAKE_CURRENT_SOURCE_DIR}/cuda/gpu/kernels.cu")
  set(image "${CMAKE_CURRENT_BINARY_DIR}/kernels.fatbin")
  set(embedding "${CMAKE_CURRENT_SOURCE_DIR}/cuda/gpu/module.cpp")
  add_custom_command(OUTPUT "${image}"
      COMMAND "${PTD_NVCC}" -std=c++20 -O3 -fatbin ${PTD_GPU_CODE} -Werror all-warnings
          "-I${CMAKE_CURRENT_SOURCE_DIR}" -MD -MF "${image}.d" -o "${image}" "${source}"
      DEPENDS "${source}" DEPFILE "${image}.d" COMMENT "Compiling kernels.cu" VERBATIM)
  set_source_files_properties("${embedding}" PROPERTIES OBJECT_DEPENDS "${image}"
      COMPILE_DEFINITIONS "PTD_GPU_MODULE=\"${image}\"")
  target_sources(${target} PRIVATE "${image}")
endfunction()
