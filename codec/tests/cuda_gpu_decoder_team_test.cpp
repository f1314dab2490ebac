// Copyright The PTD Authors. SPDX-License-Identifier: Apache-2.0
//
// The GPU's decoder run by a team of 32 threads in place of a warp: that the members share the work rightly,
// and meet where they must, shows without a GPU. (A thread sanitizer would see where they do not.)
#include <gtest/gtest.h>

#include <barrier>
#include <memory>
#include <thread>

#include "cuda/gpu/block.hpp"
#include "cuda/gpu/on_host.hpp"
#include "tests/cuda_gpu_samples.hpp"

namespace ptd::cuda::gpu {
namespace {

using namespace samples;

constexpr std::uint32_t members = 32;

/// Where the members meet and show each other numbers.
struct Meeting {
  std::barrier<> barrier{members};
  std::uint32_t numbers[members] = {};
};

/// One member's view of the team: what warp.cuh has for a warp.
class Threads {
 public:
  static constexpr std::uint32_t groups = 4;
  static constexpr std::uint32_t group_size = 8;

  Threads(Meeting& meeting, std::uint32_t rank) : meeting_(meeting), rank_(rank) {}

  [[nodiscard]] std::uint32_t rank() const { return rank_; }
  [[nodiscard]] static std::uint32_t size() { return members; }
  [[nodiscard]] std::uint32_t group() const { return rank_ / group_size; }
  [[nodiscard]] std::uint32_t group_rank() const { return rank_ % group_size; }
  void sync() const { meeting_.barrier.arrive_and_wait(); }
  [[nodiscard]] std::uint32_t most(std::uint32_t number) const {
    return shown(number, [&] { return *std::ranges::max_element(meeting_.numbers); });
  }
  [[nodiscard]] bool any(bool said) const { return most(said ? 1 : 0) != 0; }
  [[nodiscard]] std::uint32_t leaders(std::uint32_t number) const {
    return shown(number, [&] { return meeting_.numbers[group() * group_size]; });
  }
  [[nodiscard]] std::uint32_t sum_before(std::uint32_t number, std::uint32_t& total) const {
    return shown(number, [&] {
      std::uint32_t before = total = 0;
      for (std::uint32_t i = 0; i < group_size; ++i) {
        if (i == group_rank()) before = total;
        total += meeting_.numbers[group() * group_size + i];
      }
      return before;
    });
  }

 private:
  template <class Look>
  std::uint32_t shown(std::uint32_t number, Look look) const {
    meeting_.numbers[rank_] = number;
    sync();
    const std::uint32_t seen = look();
    sync();
    return seen;
  }

  Meeting& meeting_;
  std::uint32_t rank_;
};

/// Each block of the frame, by all members. The verdicts of each member.
std::vector<Verdict> decode_by_threads(const Chunk& chunk, Buffer& planes) {
  const auto room = std::make_unique<Room>();
  Meeting meeting;
  std::vector<Verdict> verdicts(members);
  const auto* const stored = reinterpret_cast<const std::uint8_t*>(chunk.stored.data());
  const FrameView frame{{stored, stored + chunk.stored.size()},
                        static_cast<std::uint32_t>(chunk.raw_size),
                        plane_width(chunk.encoding)};
  const Cut cut(frame.raw_bytes, frame.width);
  planes.assign(chunk.raw_size, std::byte{0xA5});
  auto* const to = reinterpret_cast<std::uint8_t*>(planes.data());
  const auto work = [&](std::uint32_t rank) {
    for (std::uint32_t block = 0; block < cut.blocks; ++block) {
      Piece piece{};
      const Verdict verdict = decode_block(Threads(meeting, rank), frame, block, *room, to, piece);
      verdicts[rank] = std::max(verdicts[rank], verdict);
      if (verdict != Verdict::ok || rank != 0) continue;
      for (std::uint32_t i = 0; i < cut.size_of(block); ++i)
        to[cut.begin_of(block) + i] =
            piece.bytes != nullptr ? piece.bytes[i] : static_cast<std::uint8_t>(piece.value);
    }
  };
  std::vector<std::jthread> threads;
  for (std::uint32_t rank = 0; rank < members; ++rank) threads.emplace_back(work, rank);
  return threads.clear(), verdicts;
}

void expect_the_same(const Chunk& chunk) {
  Buffer alone(chunk.raw_size), together;
  const Verdict verdict = decode_on_host(chunk.stored, plane_width(chunk.encoding), alone);
  ASSERT_EQ(decode_by_threads(chunk, together), std::vector<Verdict>(members, verdict)) << chunk.name;
  if (verdict == Verdict::ok) {
    ASSERT_EQ(together, alone) << chunk.name;
  }
}

std::vector<Chunk> some_frames() {
  std::vector<Chunk> frames;
  for (auto& chunk : valid_chunks())
    if (is_frame(chunk) && chunk.raw_size <= 5000) frames.push_back(std::move(chunk));
  return frames;
}

TEST(CudaGpuDecoderTeam, ThreadsComeToWhatOneComesTo) {
  const auto frames = some_frames();
  for (std::size_t i = 0; i < frames.size(); i += 100) ASSERT_NO_FATAL_FAILURE(expect_the_same(frames[i]));
}

TEST(CudaGpuDecoderTeam, AlsoAboutHostileFrames) {
  const auto frames = some_frames();
  Mutator mutator(3);
  for (int i = 0; i < 4; ++i) {
    Chunk chunk = frames[mutator.below(frames.size())];
    mutator.change(chunk.stored);
    if (!is_frame(chunk) || chunk.stored.empty()) continue;
    ASSERT_NO_FATAL_FAILURE(expect_the_same(chunk));
  }
}

}  // namespace
}  // namespace ptd::cuda::gpu
