// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
#include <ctime>
#include <string>

#include "support/meter.hpp"
#include "support/require.hpp"
#include "support/target.hpp"

namespace ptd::fuzz {
namespace {

// Far above what any input takes, sanitizers and all: what grows faster than its input is found, what the
// machine is doing besides is not. CPU time, since the machine may be busy.
constexpr double fixed_seconds = 4;
constexpr double seconds_per_byte = 100e-6;

double cpu_seconds() noexcept {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

void check_memory(const Target& target, std::size_t input_bytes, std::uint64_t used) {
  const auto allowed = target.memory.fixed + target.memory.per_byte * input_bytes;
  if (used > allowed)
    broken("memory is bounded by the input", std::to_string(used) + " bytes for an input of " +
                                                 std::to_string(input_bytes) + ", " +
                                                 std::to_string(allowed) + " allowed");
}

void check_time(std::size_t input_bytes, double used) {
  if (used > fixed_seconds + seconds_per_byte * static_cast<double>(input_bytes))
    broken("time is bounded by the input",
           std::to_string(used) + " s for an input of " + std::to_string(input_bytes) + " bytes");
}

}  // namespace

void run_within_limits(const Target& target, Bytes input) {
  const double begin = cpu_seconds();
  MemoryMeter::start();
  target.run(input);
  check_memory(target, input.size(), MemoryMeter::stop());
  check_time(input.size(), cpu_seconds() - begin);
}

}  // namespace ptd::fuzz
