// P2-P4: a kernel's second and later launches ask, make and wait for nothing, on every backend, and
// threads that share it keep their own arguments.
// SPDX-License-Identifier: MIT
#include <bit>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

#include "runtime/device_state.hpp"
#include "salvo/salvo.hpp"
#include "window/kernel_record.hpp"

namespace salvo::tests {
namespace {

using runtime::CallCounts;

const std::set<std::string_view> kCuda{"cuCtxGetCurrent",    "cuCtxPushCurrent_v2",
                                       "cuCtxPopCurrent_v2", "cuLaunchKernel",
                                       "cuGraphLaunch",      "cuGraphExecKernelNodeSetParams"};

/// What a repeat launch may call: setting what changed, and the launch. The tests stay within one
/// Vulkan command buffer; each 32 launches it is submitted, and another begun. Level Zero's barrier
/// is P10's.
const std::map<std::string, std::set<std::string_view>> kAllowed{
    {"OpenCL", {"clSetKernelArg", "clEnqueueNDRangeKernel"}},
    {"Vulkan",
     {"vkCmdBindPipeline", "vkCmdPushConstants", "vkCmdBindDescriptorSets", "vkCmdDispatch",
      "vkCmdPipelineBarrier"}},
    {"LevelZero",
     {"zeKernelSetArgumentValue", "zeKernelSetGroupSize", "zeCommandListAppendLaunchKernel",
      "zeCommandListAppendLaunchKernelWithArguments", "zeCommandListAppendBarrier"}},
    {"CUDA/PTX", kCuda},
    {"CUDA/C", kCuda},
    {"HIP", {"hipSetDevice", "hipGetDevice", "hipModuleLaunchKernel"}},
};

std::vector<std::string> device_ids() {
  std::vector<std::string> ids;
  for (const Device& device : Device::all()) {
    if (kAllowed.contains(device.backend())) ids.push_back(device.id());
  }
  return ids;
}

class P3RepeatLaunch : public testing::TestWithParam<std::string> {
 protected:
  static constexpr int kCount = 1000;

  void SetUp() override {
    window::current().set_enabled(true);
    window::current().set_cpu_devices(true);
    window::current().set_planner(Planner::always);
    window::current().set_limits(8, 8);
  }

  CallCounts counts() { return device_.state()->driver().driver_calls(); }
  /// Fails for each function that was called since `before` and that a repeat launch may not call.
  void expect_only_launches_since(const CallCounts& before) {
    const CallCounts called = runtime::calls_between(before, counts());
    EXPECT_FALSE(called.empty());
    for (const auto& [function, count] : called) {
      EXPECT_TRUE(kAllowed.at(device_.backend()).contains(function))
          << function << " was called " << count << " times";
    }
  }

  Device device_ = Device::get(GetParam());
  Kernel<Span<float>, Value<float>, Int> scale_ =
      kernel("scale", [](Span<float> x, Value<float> by, Int n) {
        auto i = global_thread_id();
        if_(i < n, [&] { x[i] *= by; });
      });
  Kernel<Span<float>, Int> increment_ = kernel("increment", [](Span<float> x, Int n) {
    auto i = global_thread_id();
    if_(i < n, [&] { x[i] += 1.0f; });
  });
};

TEST_P(P3RepeatLaunch, P3_EveryFunctionOfTheDriverIsCounted) {
  EXPECT_GT(counts().size(), 20U);
}

TEST_P(P3RepeatLaunch, P3_ALaunchOfItsOwnIsSetAndLaunched) {
  window::current().set_enabled(false);
  Vector<float> x(kCount, 1.0f), y(kCount, 1.0f);
  for (Vector<float>* vector : {&x, &y})
    device_.launch(scale_, over(kCount), *vector, 1.0f, kCount);
  device_.synchronize();
  device_.launch(scale_, over(kCount), x, 1.0f, kCount);  // Vulkan begins a command buffer
  const CallCounts before = counts();
  for (int i = 0; i < 5; ++i) {
    device_.launch(scale_, over(kCount), x, 2.0f, kCount);
    device_.launch(scale_, over(kCount - i), y, 0.5f, kCount);
  }
  expect_only_launches_since(before);
  EXPECT_EQ(x[999], 32.0f);
  EXPECT_EQ(y[0], 1.0f / 32);
}

TEST_P(P3RepeatLaunch, P2_NothingIsAskedForALaunchOfAnotherSize) {
  window::current().set_enabled(false);
  Vector<float> x(kCount, 1.0f);
  device_.launch(scale_, over(kCount), x, 1.0f, kCount);
  device_.synchronize();
  device_.launch(scale_, over(kCount), x, 1.0f, kCount);
  const CallCounts before = counts();
  for (const int n : {1, 7, 64, 100, 999, kCount}) {
    device_.launch(scale_, over(n), x, 2.0f, n);
    EXPECT_GT(device_.properties().max_threads_per_block, 0U);
  }
  expect_only_launches_since(before);
  EXPECT_EQ(x[0], 64.0f);
  EXPECT_EQ(x[kCount - 1], 2.0f);
}

TEST_P(P3RepeatLaunch, P3_AWindowThatRepeatsIsSetAndLaunched) {
  std::vector<Vector<float>> vectors;
  for (int i = 0; i < 8; ++i) vectors.emplace_back(kCount, 1.0f);  // 4 after three rounds
  const auto round = [&](float by) {
    for (auto& vector : vectors) device_.launch(scale_, over(kCount), vector, by, kCount);
    for (auto& vector : vectors) device_.launch(increment_, over(kCount), vector, kCount);
    device_.state()->held_work()->issue(*device_.state());
  };
  round(1.0f);
  round(1.0f);
  device_.synchronize();
  round(1.0f);
  window::current().reset_stats();
  const CallCounts before = counts();
  round(3.0f);
  expect_only_launches_since(before);
  EXPECT_EQ(window::current().stats().fallbacks, 0U);
  EXPECT_LT(window::current().stats().issued, 16U);
  for (auto& vector : vectors) EXPECT_EQ(vector[kCount - 1], 13.0f);
}

/// On the driver itself: above it one thread at a time has a device's issue lock.
TEST_P(P3RepeatLaunch, P4_ThreadsThatShareAKernelKeepTheirArgumentsAndBlocks) {
  if (device_.backend() != "OpenCL" && device_.backend() != "LevelZero") {
    GTEST_SKIP() << "arguments are not the kernel's here, but the launch's";
  }
  constexpr std::uint32_t kThreads = 4, kElements = 256;
  runtime::DeviceDriver& driver = device_.state()->driver();
  const ir::Kernel& kernel = scale_.record()->kernel;
  const auto executable = driver.build(kernel, driver.translate(kernel, {}), {});
  struct Own {
    std::unique_ptr<runtime::Queue> queue;
    runtime::Buffer buffer;
    std::vector<float> data = std::vector<float>(kElements, 1.0f);
  };
  std::vector<Own> all(kThreads);
  for (Own& own : all) {
    own.queue = driver.make_queue(0);
    own.buffer = driver.allocate(kElements * sizeof(float));
    driver.write(*own.queue, own.buffer, 0, own.data.data(), kElements * sizeof(float));
  }
  {
    std::vector<std::jthread> threads;
    for (std::uint32_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        const float factors[] = {static_cast<float>(t + 2), 1.0f / static_cast<float>(1U << t)};
        for (std::uint32_t i = 0; i < 24; ++i) {
          const runtime::Argument arguments[] = {
              {.buffer = all[t].buffer, .length = kElements},
              {.bits = std::bit_cast<std::uint32_t>(factors[i % 2])},
              {.bits = kElements}};
          const std::uint32_t block = 16U << (t + i) % 4;
          driver.launch(*all[t].queue, *executable, {{kElements / block, 1, 1}, {block, 1, 1}, 0},
                        arguments);
        }
      });
    }
  }
  for (std::uint32_t t = 0; t < kThreads; ++t) {
    float expected = 1.0f;
    for (std::uint32_t i = 0; i < 24; ++i) {
      expected *= i % 2 == 0 ? static_cast<float>(t + 2) : 1.0f / static_cast<float>(1U << t);
    }
    driver.read(*all[t].queue, all[t].data.data(), all[t].buffer, 0, kElements * sizeof(float));
    EXPECT_THAT(all[t].data, testing::Each(expected)) << "thread " << t;
    driver.release(all[t].buffer);
  }
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(P3RepeatLaunch);
INSTANTIATE_TEST_SUITE_P(On, P3RepeatLaunch, testing::ValuesIn(device_ids()), [](const auto& one) {
  std::string name = one.param;
  std::erase_if(name, [](char c) { return c == ':' || c == '/'; });
  return name;
});

}  // namespace
}  // namespace salvo::tests
