// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// How fast weights get to a GPU, beside the link's own speed and other ways. See README.md.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "cuda_host.hpp"
#include "cuda_models.hpp"

namespace {

using namespace ptd::bench;

constexpr const char* usage =
    "usage: ptd_cuda_bench [--make-only | --decoding] [flags of Google Benchmark]\n"
    "  --decoding  chunks and hashes alone, without any model\n"
    "environment: PTD_BENCH_DIR      folder of the models, which are made where they are missing "
    "(/tmp/ptd-bench)\n"
    "             PTD_BENCH_SCALE    of their sizes (1: 53 GB in all)\n"
    "             PTD_BENCH_WEIGHTS  folder of real weights for --decoding: NAME.bf16, NAME.fp16 and "
    "NAME.f32, "
    "little-endian elements and nothing else\n"
    "             PTD_NVCOMP         libnvcomp.so.6 for --decoding (the system's, if there is one)\n";

void read_environment() {
  const char* folder = std::getenv("PTD_BENCH_DIR");
  const char* scale = std::getenv("PTD_BENCH_SCALE");
  auto& setting = setup();
  setting.folder = folder != nullptr ? folder : "/tmp/ptd-bench";
  if (scale == nullptr) return;
  setting.scale = std::strtod(scale, nullptr);
  need_that(setting.scale > 0 && setting.scale <= 1, "PTD_BENCH_SCALE must be over 0 and at most 1");
  // Models of another size are other models.
  if (setting.scale < 1) setting.folder /= "scale-" + std::string(scale);
}

// Takes one flag of ours out of the arguments.
bool take_flag(int& argc, char** argv, const char* flag) {
  for (int i = 1; i < argc; ++i)
    if (std::strcmp(argv[i], flag) == 0) {
      std::copy(argv + i + 1, argv + argc, argv + i);
      --argc;
      return true;
    }
  return false;
}

// Names can be listed without models.
bool only_lists(int argc, char** argv) {
  return std::any_of(argv, argv + argc, [](const char* argument) {
    return std::string_view(argument).starts_with("--benchmark_list_tests");
  });
}

void add_all_decoding() {
  add_decoding();
  add_sweep();
  add_profiles();
  add_nvcomp();
  add_hashes();
}

void add_all(bool decoding) {
  if (decoding) return add_all_decoding();
  add_link("start");
  add_results();
  add_loads();
  add_second_methods();
  add_rivals();
  add_cold_loads();
  add_link("end");
}

int run(int argc, char** argv) {
  const bool make_only = take_flag(argc, argv, "--make-only");
  const bool decoding = take_flag(argc, argv, "--decoding");
  const bool lists = only_lists(argc, argv);
  read_environment();
  benchmark::Initialize(&argc, argv);
  if (argc > 1) return std::fputs(usage, stderr), 2;
  if (!lists && !decoding) make_models();
  if (make_only) return 0;
  add_all(decoding);
  benchmark::RunSpecifiedBenchmarks();
  return has_failed() ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ptd_cuda_bench: %s\n", error.what());
    return 1;
  }
}
