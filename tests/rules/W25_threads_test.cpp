// W25, R13: launching, reading and flushing from many threads, compared with one thread alone.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <random>
#include <thread>

#include "rules/window_fixture.hpp"

namespace salvo::tests {
namespace {

constexpr int kElements = 257;
constexpr int kVectors = 4;
constexpr int kSteps = 150;

struct Kernels {
  Floats twice = scaled("twice", 0.5f);
  Floats negate = scaled("negate", -1.0f);
  Kernel<Span<float>, Int> increment = incremented();
  Floats add = kernel("add", [](Span<float> from, Span<float> to, Int n) {
    auto i = global_thread_id();
    if_(i < n, [&] { to[i] += from[i]; });
  });
};

/// A program of one thread on vectors of its own and one shared input; gives all it computed.
std::vector<float> program(const Device& device, Window& window, const Kernels& kernels,
                           Vector<float>& input, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<Vector<float>> vectors;
  for (int v = 0; v < kVectors; ++v) vectors.emplace_back(kElements, static_cast<float>(v));
  std::vector<float> seen;
  for (int step = 0; step < kSteps; ++step) {
    Vector<float>& a = vectors[random() % kVectors];
    Vector<float>& b = vectors[random() % kVectors];
    switch (random() % 8) {
      case 0:
        device.launch(kernels.increment, over(kElements), a, kElements);
        break;
      case 1:
        device.launch(kernels.add, over(kElements), input, a, kElements);
        break;
      case 2:
        seen.push_back(a[random() % kElements]);
        break;
      case 3:
        a[random() % kElements] = static_cast<float>(random() % 100);
        break;
      case 4:
        if (random() % 8 == 0) window.flush();
        break;
      case 5:
        if (random() % 8 == 0) a = Vector<float>(kElements, 2.0f);
        break;
      default:
        if (&a != &b) {
          device.launch(random() % 2 ? kernels.twice : kernels.negate, over(kElements), a, b,
                        kElements);
        }
    }
  }
  for (const auto& vector : vectors) {
    const auto all = values(vector);
    seen.insert(seen.end(), all.begin(), all.end());
  }
  return seen;
}

class W25Threads : public ::testing::TestWithParam<std::uint32_t> {};

}  // namespace

TEST_P(W25Threads, W25_ManyThreadsComputeWhatEachComputesAlone) {
  constexpr int kThreads = 6;
  const Kernels kernels;
  const auto run = [&](bool together) {
    FakeRuntime fake{FakeOptions{.devices = GetParam()}};
    fake.window().set_epilogue_enabled(true);
    // One input for each device: a vector lives on one device at a time.
    std::vector<Vector<float>> inputs;
    for (std::uint32_t d = 0; d < GetParam(); ++d) inputs.emplace_back(kElements, 0.25f);
    std::vector<std::vector<float>> results(kThreads);
    const auto work = [&](int t) {
      const std::size_t d = static_cast<std::size_t>(t) % GetParam();
      results[static_cast<std::size_t>(t)] =
          program(fake.device(d), fake.window(), kernels, inputs[d], static_cast<std::uint32_t>(t));
    };
    if (together) {
      std::vector<std::thread> threads;
      for (int t = 0; t < kThreads; ++t) threads.emplace_back(work, t);
      for (auto& thread : threads) thread.join();
    } else {
      for (int t = 0; t < kThreads; ++t) work(t);
    }
    EXPECT_EQ(fake.window().stats().failed, 0U);
    return results;
  };
  const auto alone = run(false), together = run(true);
  for (int t = 0; t < kThreads; ++t) {
    EXPECT_TRUE(
        same_bits(alone[static_cast<std::size_t>(t)], together[static_cast<std::size_t>(t)]))
        << "thread " << t;
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, W25Threads, ::testing::Values(1U, 2U));

TEST(W25Shared, W25_OneVectorLaunchedOnAndReadByManyThreadsLosesNoLaunch) {
  FakeRuntime fake;
  const auto increment = incremented();
  Vector<float> shared(64);
  constexpr int kThreads = 4, kEach = 100;
  std::vector<std::thread> threads;
  std::atomic<bool> went_back{false};
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      float last = 0.0f;
      for (int i = 0; i < kEach; ++i) {
        fake.device().launch(increment, over(64), shared, 64);
        if (t == 0 && i % 10 == 0) {
          const float now = std::as_const(shared)[63];
          went_back = went_back || now < last;
          last = now;
        }
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_FALSE(went_back);
  EXPECT_EQ(shared[0], static_cast<float>(kThreads * kEach));
  EXPECT_EQ(fake.window().stats().submitted, static_cast<std::uint64_t>(kThreads * kEach));
}

TEST(W25Moving, W25_AVectorUsedOnTwoDevicesInTurnsByThreadsKeepsItsBytes) {
  FakeRuntime fake{FakeOptions{.devices = 2}};
  const auto copy = scaled("copy", 1.0f);
  Vector<float> from(64, 7.0f);
  std::vector<std::thread> threads;
  std::vector<std::vector<float>> results(4);
  for (std::size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      Vector<float> to(64);
      for (int i = 0; i < 40; ++i) fake.device(t % 2).launch(copy, over(64), from, to, 64);
      results[t] = values(to);
    });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& result : results) EXPECT_EQ(result, std::vector<float>(64, 7.0f));
}

}  // namespace salvo::tests
