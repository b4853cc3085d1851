// Asynchronous launches on Vulkan: rules W74 to W78, W37 and P3 on a real device.
// SPDX-License-Identifier: MIT
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/spirv/layout.hpp"
#include "rules/vulkan_fixture.hpp"
#include "salvo/salvo.hpp"

namespace salvo::tests {
namespace {

using backends::vulkan::Settings;
using ir::Op;
using ir::Scalar;
using runtime::AccessMode;
using runtime::Argument;
using runtime::Buffer;

TEST_F(VulkanRules, W74_ABatchIsSubmittedWhenItIsFull) {
  open(4);
  if (!driver_) return;
  const Buffer x = buffer();
  for (int i = 0; i < 3; ++i) launch(*first_, x);
  EXPECT_EQ(submissions(), 0u);
  launch(*first_, x);
  EXPECT_EQ(submissions(), 1u);
}

TEST_F(VulkanRules, W74_ReadingSubmitsAndSeesEveryLaunch) {
  open(32);
  if (!driver_) return;
  const Buffer x = buffer();
  zero(x);
  const std::uint64_t before = submissions();
  launch(*first_, x);
  launch(*second_, x);
  EXPECT_EQ(submissions(), before);
  EXPECT_THAT(read(x), testing::Each(4));
  EXPECT_EQ(submissions(), before + 1);
}

TEST_F(VulkanRules, P9_TheDriversOwnFillIsOrderedWithLaunches) {
  open(32);
  if (!driver_) return;
  const Buffer x = buffer();
  zero(x);
  launch(*first_, x);
  backends::vulkan::fill_by_driver(*driver_, x, 4, 7, kCount * 4 - 8);
  launch(*second_, x);
  std::vector<std::int32_t> expected(kCount, 16);
  expected.front() = expected.back() = 4;
  EXPECT_EQ(read(x), expected);
}

TEST_F(VulkanRules, W74_ALaunchOfAnotherStreamSubmits) {
  open(32);
  if (!driver_) return;
  const auto stream = driver_->make_queue(0);
  const Buffer x = buffer();
  const Buffer y = buffer();
  launch(*first_, x);
  EXPECT_EQ(submissions(), 0u);
  launch(*first_, y, 0, AccessMode::read_write, stream.get());
  EXPECT_EQ(submissions(), 1u);
}

TEST_F(VulkanRules, W74_FlushAndSynchronizeSubmit) {
  open(32);
  if (!driver_) return;
  const Buffer x = buffer();
  launch(*first_, x);
  driver_->submit(driver_->queue());
  EXPECT_EQ(submissions(), 1u);
  launch(*first_, x);
  driver_->finish(driver_->queue());
  EXPECT_EQ(submissions(), 2u);
  driver_->finish(driver_->queue());
  EXPECT_EQ(submissions(), 2u) << "an empty batch was submitted";
}

TEST_F(VulkanRules, W75_FreeingNeitherSubmitsNorWaits) {
  open(32);
  if (!driver_) return;
  const Buffer x = driver_->allocate(kCount * 4);
  const std::uint64_t live = backends::vulkan::live_buffers_of(*driver_);
  launch(*first_, x);
  const std::uint64_t waits = backends::vulkan::api_of(*driver_).WaitSemaphores.calls();
  driver_->release(x);
  EXPECT_EQ(submissions(), 0u);
  EXPECT_EQ(backends::vulkan::api_of(*driver_).WaitSemaphores.calls(), waits);
  EXPECT_EQ(backends::vulkan::live_buffers_of(*driver_), live) << "freed under a pending launch";
  driver_->finish(driver_->queue());
  EXPECT_EQ(backends::vulkan::live_buffers_of(*driver_), live - 1);
}

TEST_F(VulkanRules, W76_NoBarrierBetweenIndependentLaunches) {
  open(32);
  if (!driver_) return;
  for (int i = 0; i < 8; ++i) launch(*first_, buffer());
  EXPECT_EQ(barriers(), 0u);
}

TEST_F(VulkanRules, W76_ABarrierBeforeEachDependentLaunch) {
  open(32);
  if (!driver_) return;
  const Buffer x = buffer();
  for (int i = 0; i < 8; ++i) launch(*first_, x);
  EXPECT_EQ(barriers(), 7u);
}

TEST_F(VulkanRules, W76_WriteAfterReadIsADependence) {
  open(32);
  if (!driver_) return;
  const Buffer x = buffer();
  launch(*first_, x, 0, AccessMode::read);
  launch(*first_, x, 0, AccessMode::read);
  EXPECT_EQ(barriers(), 0u) << "between two readers";
  launch(*first_, x, 0, AccessMode::write);
  EXPECT_EQ(barriers(), 1u);
}

TEST_F(VulkanRules, W76_ViewsMeetWhereTheirBytesDo) {
  open(32);
  if (!driver_) return;
  const Buffer x = buffer(3 * kCount);
  launch(*first_, x, 0);
  launch(*first_, x, 2 * kCount);
  launch(*first_, x, kCount);
  EXPECT_EQ(barriers(), 0u) << "neighbours share no byte";
  launch(*first_, x, kCount / 2);
  EXPECT_EQ(barriers(), 1u);
}

TEST_F(VulkanRules, W76_ADependenceReachesAcrossBatches) {
  open(2);
  if (!driver_) return;
  const Buffer x = buffer();
  zero(x);
  const std::uint64_t before = barriers();
  for (int i = 0; i < 10; ++i) launch(*first_, x);
  EXPECT_GE(barriers(), before + 9);
  EXPECT_THAT(read(x), testing::Each(1023));
}

VkResult VKAPI_PTR lose_submission(VkQueue, std::uint32_t, const VkSubmitInfo*, VkFence) {
  return VK_ERROR_DEVICE_LOST;
}
/// A fast device may be done before it is asked; then there is nothing to wait for, nor to fail.
VkResult VKAPI_PTR tell_no_progress(VkDevice, VkSemaphore, std::uint64_t*) {
  return VK_ERROR_OUT_OF_HOST_MEMORY;
}
VkResult VKAPI_PTR fail_wait(VkDevice, const VkSemaphoreWaitInfo*, std::uint64_t) {
  return VK_ERROR_UNKNOWN;
}

TEST_F(VulkanRules, W77_AFailedSubmissionIsRaisedByTheNextWaitNamingTheKernels) {
  open(3);
  if (!driver_) return;
  auto& submit = backends::vulkan::api_of(*driver_).QueueSubmit;
  const auto real = submit.get();
  const Buffer x = buffer();
  submit.assign(lose_submission);
  launch(*first_, x);
  launch(*second_, x);
  EXPECT_NO_THROW(launch(*second_, x));
  submit.assign(real);
  try {
    driver_->finish(driver_->queue());
    FAIL() << "nothing was raised";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::device_lost) << error.what();
    EXPECT_EQ(error.operation(), "vkQueueSubmit");
    EXPECT_EQ(error.kernel(), "first, second (2 times)");
  }
  zero(x);
  launch(*first_, x);
  EXPECT_THAT(read(x), testing::Each(1)) << "the device works on after the failure was told";
}

TEST_F(VulkanRules, W77_AFailedWaitNamesThePendingKernelsOnce) {
  open(32);
  if (!driver_) return;
  auto& wait = backends::vulkan::api_of(*driver_).WaitSemaphores;
  auto& progress = backends::vulkan::api_of(*driver_).GetSemaphoreCounterValue;
  const auto real = wait.get();
  const auto real_progress = progress.get();
  const auto restore = [&] {
    wait.assign(real);
    progress.assign(real_progress);
  };
  const Buffer x = buffer();
  zero(x);
  launch(*first_, x);
  wait.assign(fail_wait);
  progress.assign(tell_no_progress);
  try {
    driver_->finish(driver_->queue());
    restore();
    FAIL() << "nothing was raised";
  } catch (const Error& error) {
    restore();
    EXPECT_EQ(error.code(), Errc::launch_failed) << error.what();
    EXPECT_EQ(error.operation(), "vkWaitSemaphores");
    EXPECT_EQ(error.kernel(), "first");
    EXPECT_TRUE(error.details().may_have_started);
  }
  EXPECT_NO_THROW(driver_->finish(driver_->queue()));
}

TEST_F(VulkanRules, W78_ABatchOfOneSubmitsAndWaitsAtEveryLaunch) {
  open(1);
  if (!driver_) return;
  for (std::uint64_t i = 1; i <= 3; ++i) {
    const Buffer x = driver_->allocate(kCount * 4);
    const std::uint64_t live = backends::vulkan::live_buffers_of(*driver_);
    launch(*first_, x);
    EXPECT_EQ(submissions(), i);
    driver_->release(x);
    EXPECT_EQ(backends::vulkan::live_buffers_of(*driver_), live - 1) << "the launch is pending";
  }
}

TEST_F(VulkanRules, P3_ARepeatLaunchMakesNothing) {
  open(32);
  if (!driver_) return;
  const Buffer x = buffer();
  for (int i = 0; i < 100; ++i) launch(*first_, x);
  driver_->finish(driver_->queue());
  const auto& api = backends::vulkan::api_of(*driver_);
  const auto made = [&] {
    return api.AllocateMemory.calls() + api.CreateBuffer.calls() + api.CreateCommandPool.calls() +
           api.AllocateDescriptorSets.calls() + api.CreateDescriptorPool.calls() +
           api.CreateComputePipelines.calls() + api.CreateSemaphore.calls();
  };
  const std::uint64_t before = made();
  const std::uint64_t waits = api.WaitSemaphores.calls();
  for (int i = 0; i < 31; ++i) launch(*first_, x);
  EXPECT_EQ(made(), before);
  EXPECT_EQ(api.WaitSemaphores.calls(), waits);
}

// W37, through the window.

struct Windowed {
  Windowed() {
    RuntimeOptions options;
    options.built_in_backends = false;
    options.environment = [](const char*) { return nullptr; };
    options.own.list.push_back(
        backends::vulkan::make_backend(Settings{.validation = test::vulkan_validation()}));
    runtime.emplace(std::move(options));
    runtime->window().set_cpu_devices(true);
    runtime->window().set_planner(Planner::always);
  }
  std::optional<Runtime> runtime;
};

TEST(VulkanWindow, W37_SixLaunchesOf24BytesAreFiveFusedAndOne) {
  Windowed on;
  if (on.runtime->devices().empty()) GTEST_SKIP() << "no Vulkan device";
  const Device device = on.runtime->devices().front();
  const auto sum = kernel("sum", [](Span<float> x, Int a, Int b, Int n) {
    auto i = global_thread_id();
    if_(i < n, [&] { x[i] = cast<float>(a + b); });
  });
  std::vector<Vector<float>> outputs;
  for (int k = 0; k < 6; ++k) outputs.emplace_back(std::size_t{kCount});
  on.runtime->window().reset_stats();
  for (int k = 0; k < 6; ++k) device.launch(sum, over(kCount), outputs[k], k, 10, int{kCount});
  on.runtime->window().flush();
  const auto stats = on.runtime->window().stats();
  EXPECT_EQ(stats.submitted, 6u);
  EXPECT_EQ(stats.issued, 2u);
  EXPECT_EQ(stats.fused_groups, 1u);
  for (int k = 0; k < 6; ++k) EXPECT_EQ(outputs[k][kCount - 1], static_cast<float>(k + 10));
}

TEST(VulkanWindow, W37_Exactly128BytesFit) {
  Windowed on;
  if (on.runtime->devices().empty()) GTEST_SKIP() << "no Vulkan device";
  const Device device = on.runtime->devices().front();
  // 4 bytes of length, 20 of scalars, 8 of offset and size: four members fill the block.
  const auto sum = kernel("sum", [](Span<float> x, Int a, Int b, Int c, Int d, Int n) {
    auto i = global_thread_id();
    if_(i < n, [&] { x[i] = cast<float>(a + b + c + d); });
  });
  std::vector<Vector<float>> outputs;
  for (int k = 0; k < 4; ++k) outputs.emplace_back(std::size_t{kCount});
  on.runtime->window().reset_stats();
  for (int k = 0; k < 4; ++k) device.launch(sum, over(kCount), outputs[k], k, 1, 2, 3, int{kCount});
  on.runtime->window().flush();
  EXPECT_EQ(on.runtime->window().stats().issued, 1u);
  for (int k = 0; k < 4; ++k) EXPECT_EQ(outputs[k][0], static_cast<float>(k + 6));
}

TEST_F(VulkanRules, W37_AKernelOverTheLimitTakesItsValuesFromABuffer) {
  open(32);
  if (!driver_) return;
  test::Shapes k("many_scalars");
  const auto x = k.span_parameter("x", ir::Element::scalar(Scalar::I32), false);
  ir::ValueId sum = k.constant_i32(0);
  for (int i = 0; i < 40; ++i) {
    const auto scalar = k.scalar_parameter("s" + std::to_string(i), Scalar::I32);
    sum = k.op(Op::Add, {sum, k.param(scalar)});
  }
  k.store(x, k.position(Op::GlobalIdx, 0), sum);
  const ir::Kernel kernel = k.finish();
  EXPECT_TRUE(codegen::spirv::lay_out(kernel, 128).values_in_table);
  const auto code = driver_->build(kernel, driver_->translate(kernel, {}), {});
  const Buffer to = buffer();
  std::vector<Argument> arguments{{.buffer = to, .length = kCount}};
  for (std::uint64_t i = 0; i < 40; ++i) arguments.push_back({.bits = i});
  driver_->launch(driver_->queue(), *code, {{1, 1, 1}, {kCount, 1, 1}, 0}, arguments);
  EXPECT_THAT(read(to), testing::Each(780));
}

TEST(VulkanLayout, W37_LengthsThenScalarsWithEightByteOnesAligned) {
  test::Shapes k("layout");
  k.span_parameter("x", ir::Element::scalar(Scalar::F32), false);
  k.scalar_parameter("a", Scalar::F32);
  k.scalar_parameter("b", Scalar::I64);
  k.scalar_parameter("c", Scalar::U8);
  const codegen::spirv::Layout layout = codegen::spirv::lay_out(k.finish(), 128);
  EXPECT_EQ(layout.places[0].value, 0u);
  EXPECT_EQ(layout.places[2].value, 8u);
  EXPECT_EQ(layout.places[1].value, 16u);
  EXPECT_EQ(layout.places[3].value, 20u);
  EXPECT_EQ(layout.push_bytes, 24u);
  EXPECT_EQ(layout.table_bytes, 8u);
}

}  // namespace
}  // namespace salvo::tests
