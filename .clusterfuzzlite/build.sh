#!/usr/bin/env bash
# Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#
# Builds the fuzzers into $OUT, each with its seeds and its dictionary. The environment is that of OSS-Fuzz: SRC, WORK,
# OUT, SANITIZER, CC, CXX, CXXFLAGS, LIB_FUZZING_ENGINE.
set -euo pipefail

readonly source=$SRC/ptd build=$WORK/build seeds=$WORK/seeds

fatal() { printf 'build.sh: %s\n' "$*" >&2; exit 1; }

# OSS-Fuzz compiles with libc++, but Ubuntu's Cap'n Proto was compiled with libstdc++, and a std::string of one is none
# of the other. Clang takes the newest GCC that it finds, of which there may be no more than a runtime; the one that
# compiles C++ has the headers. The machine that runs the fuzzers may lack the library; PTD_STATIC links it in.
use_libstdcxx() {
  local gcc
  gcc=$(dirname "$(/usr/bin/g++ -print-libgcc-file-name)")
  export CXXFLAGS="${CXXFLAGS//-stdlib=libc++/} -stdlib=libstdc++ --gcc-install-dir=$gcc"
}

compile() {
  rm -rf "$build"
  cmake -S "$source" -B "$build" -G Ninja -DPTD_FUZZ=ON -DPTD_FUZZ_ENGINE="$LIB_FUZZING_ENGINE" \
    -DPTD_TESTS=OFF -DPTD_BENCH=OFF -DPTD_STATIC=ON
  cmake --build "$build" --target fuzzers --parallel "$(nproc)"
}

# deliver FUZZER: the program, and what belongs to it, under names that are made of the program's.
deliver() {
  local name=${1##*/}
  local target=${name#fuzz_}
  cp "$1" "$OUT/$name"
  cp "$source/fuzz/dictionaries/$target.dict" "$OUT/$name.dict"
  python3 "$source/fuzz/seeds.py" "$seeds" "$target"
  rm -f "$OUT/${name}_seed_corpus.zip"
  zip -q -X -j -r "$OUT/${name}_seed_corpus.zip" "$seeds/$target"
}

main() {
  [[ ${SANITIZER:-} != memory ]] || fatal "MemorySanitizer needs every library instrumented, and Ubuntu's are not"
  use_libstdcxx
  compile
  local fuzzers=("$build"/bin/fuzz_*)
  [[ -x ${fuzzers[0]} ]] || fatal "no fuzzers in $build/bin"
  local fuzzer
  for fuzzer in "${fuzzers[@]}"; do deliver "$fuzzer"; done
}

main "$@"
