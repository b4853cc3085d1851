// Vulkan: what repeat launches leave out, older devices, lost ones, pipelines on disk, memory.
// SPDX-License-Identifier: MIT
#include <array>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/vulkan_fixture.hpp"
#include "salvo/salvo.hpp"

namespace salvo::tests {
namespace {

using backends::vulkan::api_of;
using backends::vulkan::Lacking;
using backends::vulkan::live_buffers_of;
using backends::vulkan::Settings;
using runtime::Buffer;

constexpr Lacking kNoAddresses{.buffer_addresses = true};
constexpr Lacking kNoTimeline{.timeline_semaphores = true};

// P3: what an earlier launch of the batch set is not set again.

TEST_F(VulkanRules, P3_ALaunchWhoseAddressesFitBindsNoDescriptorSet) {
  open(32);
  if (!driver_) return;
  const auto& api = api_of(*driver_);
  for (int i = 0; i < 8; ++i) launch(*first_, buffer());
  EXPECT_EQ(api.CmdBindDescriptorSets.calls(), 0u);
  EXPECT_EQ(api.CmdPushConstants.calls(), 8u);
  EXPECT_EQ(api.CmdBindPipeline.calls(), 1u);
}

TEST_F(VulkanRules, P3_ArgumentsThatStayAreNotPushedAgain) {
  open(32);
  if (!driver_) return;
  const auto& api = api_of(*driver_);
  const Buffer x = buffer();
  const Buffer y = buffer();
  zero(x);
  zero(y);
  const std::uint64_t before = api.CmdPushConstants.calls();
  for (int i = 0; i < 3; ++i) launch(*first_, x);
  EXPECT_EQ(api.CmdPushConstants.calls(), before + 1);
  launch(*first_, y);
  EXPECT_EQ(api.CmdPushConstants.calls(), before + 2);
  driver_->submit(driver_->queue());
  launch(*first_, y);
  EXPECT_EQ(api.CmdPushConstants.calls(), before + 3) << "a new command buffer starts with nothing";
  EXPECT_THAT(read(x), testing::Each(7));
  EXPECT_THAT(read(y), testing::Each(3));
}

TEST_F(VulkanRules, P3_OnlyTheArgumentsThatChangedArePushed) {
  open(32);
  if (!driver_) return;
  test::Shapes k("scaled");
  const auto x = k.span_parameter("x", ir::Element::scalar(ir::Scalar::I32), false);
  const auto y = k.span_parameter("y", ir::Element::scalar(ir::Scalar::I32), false);
  const auto a = k.scalar_parameter("a", ir::Scalar::I64);
  const ir::ValueId i = k.position(ir::Op::GlobalIdx, 0);
  k.store(y, i, k.op(ir::Op::Add, {k.load(x, i), k.cast(ir::Scalar::I32, k.param(a))}));
  const ir::Kernel kernel = k.finish();
  const auto code = driver_->build(kernel, driver_->translate(kernel, {}), {});

  static std::vector<std::uint32_t> sizes;
  static PFN_vkCmdPushConstants real = nullptr;
  auto& push = api_of(*driver_).CmdPushConstants;
  real = push.get();
  push.assign([](VkCommandBuffer commands, VkPipelineLayout layout, VkShaderStageFlags stages,
                 std::uint32_t offset, std::uint32_t size, const void* values) {
    sizes.push_back(size);
    real(commands, layout, stages, offset, size, values);
  });
  sizes.clear();
  const Buffer from = buffer();
  const Buffer to = buffer();
  zero(from);
  const auto launch_with = [&](Buffer source, std::uint64_t added) {
    const runtime::Argument arguments[] = {
        {.buffer = source, .length = kCount, .access = runtime::AccessMode::read},
        {.buffer = to, .length = kCount, .access = runtime::AccessMode::write},
        {.bits = added}};
    driver_->launch(driver_->queue(), *code, {{1, 1, 1}, {kCount, 1, 1}, 0}, arguments);
  };
  launch_with(from, 5);  // two lengths, a scalar of 8 bytes, two addresses
  launch_with(from, 6);
  const Buffer other = buffer();
  zero(other);
  sizes.push_back(0);
  launch_with(from, 7);
  launch_with(other, 7);
  EXPECT_THAT(sizes, testing::ElementsAre(32, 8, 0, 32, 8));
  EXPECT_THAT(read(to), testing::Each(7));
}

TEST_F(VulkanRules, BlockSizesSpecialiseOneModule) {
  open(32);
  if (!driver_) return;
  const auto& api = api_of(*driver_);
  const Buffer x = buffer();
  zero(x);
  const std::uint64_t modules = api.CreateShaderModule.calls();
  const std::uint64_t pipelines = api.CreateComputePipelines.calls();
  const runtime::Argument arguments[] = {{.buffer = x, .length = kCount}};
  for (const std::uint32_t threads : {kCount, kCount / 2, kCount / 4, kCount}) {
    driver_->launch(driver_->queue(), *first_, {{kCount / threads, 1, 1}, {threads, 1, 1}, 0},
                    arguments);
  }
  EXPECT_EQ(api.CreateShaderModule.calls(), modules);
  EXPECT_EQ(api.CreateComputePipelines.calls(), pipelines + 3);
  EXPECT_THAT(read(x), testing::Each(15));
}

// W76: a barrier between launches leaves copies out; the next copy has one of its own.

TEST_F(VulkanRules, W76_ACopyWaitsForLaunchesThatABarrierWithoutCopiesOrdered) {
  open(32);
  if (!driver_) return;
  const Buffer x = buffer();
  const Buffer y = buffer();
  zero(x);
  launch(*first_, x);
  launch(*first_, x);
  const std::uint64_t before = barriers();
  driver_->copy(driver_->queue(), y, 0, x, 0, kCount * 4);
  EXPECT_EQ(barriers(), before + 1);
  launch(*second_, y);
  EXPECT_EQ(barriers(), before + 2);
  EXPECT_THAT(read(y), testing::Each(8));
}

// Devices without timeline semaphores: fences count submissions.

TEST_F(VulkanRules, W74_FencesCountWhereThereIsNoTimeline) {
  open(2, kNoTimeline);
  if (!driver_) return;
  const auto& api = api_of(*driver_);
  const Buffer x = buffer();
  zero(x);
  for (int i = 0; i < 20; ++i) launch(*first_, x);
  EXPECT_THAT(read(x), testing::Each((1 << 20) - 1));
  EXPECT_EQ(api.CreateSemaphore.calls(), 0u);
  EXPECT_EQ(api.WaitSemaphores.calls(), 0u);
  EXPECT_GT(api.WaitForFences.calls(), 0u);
  const std::uint64_t made = api.CreateFence.calls();
  for (int i = 0; i < 20; ++i) {
    launch(*first_, x);
    driver_->finish(driver_->queue());
  }
  EXPECT_EQ(api.CreateFence.calls(), made) << "fences are used again";
}

TEST_F(VulkanRules, W75_FreesWaitForFences) {
  open(32, kNoTimeline);
  if (!driver_) return;
  const Buffer x = driver_->allocate(kCount * 4);
  const std::uint64_t live = live_buffers_of(*driver_);
  launch(*first_, x);
  driver_->release(x);
  EXPECT_EQ(live_buffers_of(*driver_), live);
  driver_->finish(driver_->queue());
  EXPECT_EQ(live_buffers_of(*driver_), live - 1);
}

TEST_F(VulkanRules, W77_AFailedWaitForAFenceNamesTheKernels) {
  open(32, kNoTimeline);
  if (!driver_) return;
  auto& wait = api_of(*driver_).WaitForFences;
  auto& status = api_of(*driver_).GetFenceStatus;
  const auto real = wait.get();
  const auto real_status = status.get();
  const Buffer x = buffer();
  launch(*first_, x);
  wait.assign([](VkDevice, std::uint32_t, const VkFence*, VkBool32, std::uint64_t) {
    return VK_ERROR_UNKNOWN;
  });
  status.assign([](VkDevice, VkFence) { return VK_NOT_READY; });
  try {
    driver_->finish(driver_->queue());
    ADD_FAILURE() << "nothing was raised";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::launch_failed) << error.what();
    EXPECT_EQ(error.operation(), "vkWaitForFences");
    EXPECT_EQ(error.kernel(), "first");
  }
  wait.assign(real);
  status.assign(real_status);
}

// Devices without buffer addresses: spans are storage buffers.

TEST_F(VulkanRules, P3_ARepeatLaunchWithoutAddressesMakesAndWritesNoDescriptorSet) {
  open(32, kNoAddresses);
  if (!driver_) return;
  const auto& api = api_of(*driver_);
  const Buffer x = buffer();
  const Buffer y = buffer();
  zero(x);
  zero(y);
  launch(*first_, x);
  launch(*second_, y);
  const auto made = [&] {
    return api.AllocateDescriptorSets.calls() + api.CreateDescriptorPool.calls() +
           api.UpdateDescriptorSets.calls() + api.CreateComputePipelines.calls();
  };
  const std::uint64_t before = made();
  for (int i = 0; i < 20; ++i) {
    launch(*first_, x);
    launch(*second_, y);
  }
  EXPECT_EQ(made(), before);
  EXPECT_EQ(api.GetBufferDeviceAddress.calls(), 0u);
  EXPECT_EQ(x.address, 0u);
  EXPECT_THAT(read(x), testing::Each((1 << 21) - 1));
}

TEST_F(VulkanRules, W13_ViewsAreStorageBuffersWithAnOffset) {
  open(32, kNoAddresses);
  if (!driver_) return;
  const Buffer x = buffer(3 * kCount);
  std::vector<std::int32_t> zeros(std::size_t{3} * kCount, 0);
  driver_->write(driver_->queue(), x, 0, zeros.data(), zeros.size() * 4);
  launch(*second_, x, kCount + 1);  // at no multiple of what a descriptor's offset may be
  std::vector<std::int32_t> data(zeros.size());
  driver_->read(driver_->queue(), data.data(), x, 0, data.size() * 4);
  for (std::uint32_t i = 0; i < data.size(); ++i) {
    ASSERT_EQ(data[i], i > kCount && i < 2 * kCount + 1 ? 2 : 0) << i;
  }
}

TEST_F(VulkanRules, StorageBuffersOfManyAllocationsAreToldApart) {
  open(4, kNoAddresses);
  if (!driver_) return;
  // Each has an allocation of its own, and there are more of them than sets in a pool.
  constexpr std::size_t kOwn = std::size_t{9} << 20;
  std::vector<Buffer> buffers;
  for (int i = 0; i < 20; ++i) {
    buffers.push_back(driver_->allocate(kOwn));
    buffers_.push_back(buffers.back());
    zero(buffers.back());
  }
  for (int round = 0; round < 2; ++round) {
    for (const Buffer& one : buffers) launch(*first_, one);
  }
  for (int i = 0; i < 20; i += 2) launch(*second_, buffers[i]);
  for (int i = 0; i < 20; ++i) EXPECT_THAT(read(buffers[i]), testing::Each(i % 2 ? 3 : 8)) << i;
}

// A lost device.

TEST_F(VulkanRules, W77_ADeviceLostInMidBatchNamesItsKernelsAndTheProcessLives) {
  for (const Lacking& lacking : {Lacking{}, kNoTimeline}) {
    open(32, lacking);
    if (!driver_) return;
    const Buffer x = buffer();
    zero(x);
    auto& api = api_of(*driver_);
    // From now on nobody hears of progress, however fast the device is.
    api.GetSemaphoreCounterValue.assign(
        [](VkDevice, VkSemaphore, std::uint64_t*) { return VK_ERROR_DEVICE_LOST; });
    api.WaitSemaphores.assign(
        [](VkDevice, const VkSemaphoreWaitInfo*, std::uint64_t) { return VK_ERROR_DEVICE_LOST; });
    api.GetFenceStatus.assign([](VkDevice, VkFence) { return VK_ERROR_DEVICE_LOST; });
    api.WaitForFences.assign([](VkDevice, std::uint32_t, const VkFence*, VkBool32, std::uint64_t) {
      return VK_ERROR_DEVICE_LOST;
    });
    launch(*first_, x);
    launch(*second_, x);
    driver_->submit(driver_->queue());
    launch(*second_, x);  // still in the open batch
    api.QueueSubmit.assign(
        [](VkQueue, std::uint32_t, const VkSubmitInfo*, VkFence) { return VK_ERROR_DEVICE_LOST; });
    std::string kernels;
    try {
      driver_->finish(driver_->queue());
      ADD_FAILURE() << "nothing was raised";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::device_lost) << error.what();
      kernels = error.kernel();
      for (const Error& other : error.others()) kernels += "; " + other.kernel();
    }
    EXPECT_EQ(kernels, "second; first, second");
    // The next launch is told too, memory can be freed, and the device closed.
    launch(*first_, x);
    EXPECT_THROW(driver_->finish(driver_->queue()), Error);
    TearDown();
  }
}

// W73: pipelines on disk.

ir::Kernel doubling() {
  test::Shapes k("doubling");
  const auto x = k.span_parameter("x", ir::Element::scalar(ir::Scalar::I32), false);
  const ir::ValueId i = k.position(ir::Op::GlobalIdx, 0);
  k.store(x, i, k.op(ir::Op::Mul, {k.load(x, i), k.constant_i32(2)}));
  return k.finish();
}

TEST_F(VulkanRules, W73_ABinaryIsTheModuleAndPipelinesOfThisDriver) {
  open(32);
  if (!driver_) return;
  const ir::Kernel kernel = doubling();
  const runtime::Program program = driver_->translate(kernel, {});
  const auto built = driver_->build(kernel, program, {});
  const auto& api = api_of(*driver_);
  const std::uint64_t before = api.CreateComputePipelines.calls();
  const std::vector<std::byte> binary = built->binary();
  EXPECT_EQ(api.CreateComputePipelines.calls(), before + 1) << "compiled into the cache";
  EXPECT_EQ(api.DestroyPipeline.calls(), 1u);
  EXPECT_FALSE(driver_->build_identity().empty());
  constexpr std::size_t kHead = 24;
  EXPECT_GE(binary.size(), kHead + program.code.size() + sizeof(VkPipelineCacheHeaderVersionOne));
  const auto loaded = driver_->build(kernel, program, binary);
  const Buffer x = buffer();
  zero(x);
  launch(*second_, x);
  launch(*loaded, x);
  EXPECT_THAT(read(x), testing::Each(4));
}

TEST_F(VulkanRules, W73_PipelinesOfAnotherDriverAreLeftOutAndTheModuleServes) {
  open(32);
  if (!driver_) return;
  const ir::Kernel kernel = doubling();
  const runtime::Program program = driver_->translate(kernel, {});
  std::vector<std::byte> binary = driver_->build(kernel, program, {})->binary();
  // The driver's identity starts 16 bytes into the cache's head.
  binary[24 + program.code.size() + 16] ^= std::byte{0xff};
  static std::size_t given = 0;
  static PFN_vkCreatePipelineCache real = nullptr;
  auto& create = api_of(*driver_).CreatePipelineCache;
  real = create.get();
  create.assign([](VkDevice device, const VkPipelineCacheCreateInfo* info,
                   const VkAllocationCallbacks* with, VkPipelineCache* cache) {
    given = info->initialDataSize;
    return real(device, info, with, cache);
  });
  given = 1;
  const auto loaded = driver_->build(kernel, program, binary);
  EXPECT_EQ(given, 0u);
  const Buffer x = buffer();
  zero(x);
  launch(*second_, x);
  launch(*loaded, x);
  EXPECT_THAT(read(x), testing::Each(4));
}

TEST_F(VulkanRules, W73_ATruncatedBinaryIsRefusedSoThatSourceIsBuilt) {
  open(32);
  if (!driver_) return;
  const ir::Kernel kernel = doubling();
  const runtime::Program program = driver_->translate(kernel, {});
  std::vector<std::byte> binary = driver_->build(kernel, program, {})->binary();
  for (const std::size_t bytes : {std::size_t{3}, std::size_t{30}, binary.size() - 1}) {
    try {
      driver_->build(kernel, program, std::span(binary).first(bytes));
      ADD_FAILURE() << "loaded from " << bytes << " bytes";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::compile_failed);
    }
  }
}

// W48: a merge ends at the push constants.

struct Merged {
  std::uint64_t issued;
  std::uint64_t merges;
  float last;
};

/// Three lengths, 14 scalars each and the consumer's range are 132 bytes.
Merged run_wide_pair(bool large) {
  RuntimeOptions options;
  options.built_in_backends = false;
  options.environment = [](const char*) { return nullptr; };
  options.own.list.push_back(backends::vulkan::make_backend(
      Settings{.validation = test::vulkan_validation(), .large_push_constants = large}));
  Runtime runtime(std::move(options));
  if (runtime.devices().empty()) return {0, 0, 0};
  runtime.window().set_cpu_devices(true);
  runtime.window().set_planner(Planner::always);
  const auto wide = [](const std::string& name) {
    return kernel(name, [](Span<float> x, Span<float> y, Int a, Int b, Int c, Int d, Int e, Int f,
                           Int g, Int h, Int j, Int k, Int l, Int m, Int o, Int n) {
      auto i = global_thread_id();
      if_(i < n,
          [&] { y[i] = x[i] + cast<float>(a + b + c + d + e + f + g + h + j + k + l + m + o); });
    });
  };
  const auto producer = wide("producer");
  const auto consumer = wide("consumer");
  Vector<float> x(std::size_t{kCount}, 1.0f);
  Vector<float> y(std::size_t{kCount});
  Vector<float> z(std::size_t{kCount});
  const Device device = runtime.devices().front();
  const int n = kCount;
  runtime.window().reset_stats();
  device.launch(producer, over(kCount), x, y, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, n);
  device.launch(consumer, over(kCount), y, z, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, n);
  runtime.window().flush();
  const auto stats = runtime.window().stats();
  return {stats.issued, stats.epilogue_merges, z[kCount - 1]};
}

TEST(VulkanLimits, W48_AMergeThatWouldPass128BytesIsNotMade) {
  const Merged at_128 = run_wide_pair(false);
  if (at_128.issued == 0) GTEST_SKIP() << "no Vulkan device";
  EXPECT_EQ(at_128.issued, 2u);
  EXPECT_EQ(at_128.merges, 0u);
  EXPECT_EQ(at_128.last, 183.0f);
}

TEST_F(VulkanRules, W57_ALengthOfMoreThan32BitsIsRefusedAndLeavesNothing) {
  open(32);
  if (!driver_) return;
  const Buffer x = buffer();
  zero(x);
  const std::uint64_t dispatches = backends::vulkan::counters_of(*driver_).dispatches;
  const runtime::Argument arguments[] = {{.buffer = x, .length = std::uint64_t{1} << 31}};
  try {
    driver_->launch(driver_->queue(), *first_, {{1, 1, 1}, {kCount, 1, 1}, 0}, arguments);
    FAIL() << "launched";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::unsupported);
    EXPECT_THAT(error.message(), testing::HasSubstr("2147483648 elements"));
  }
  EXPECT_EQ(backends::vulkan::counters_of(*driver_).dispatches, dispatches);
  EXPECT_THAT(read(x), testing::Each(0));
}

TEST_F(VulkanRules, W31_WithoutAddressesADeviceSaysHowManySpansItBinds) {
  open(32);
  if (!driver_) return;
  EXPECT_EQ(driver_->properties().argument_slots, 0u) << "addresses have no such limit";
  TearDown();
  open(32, kNoAddresses);
  const std::uint32_t slots = driver_->properties().argument_slots;
  EXPECT_GE(slots, 4u) << "Vulkan promises four";
  EXPECT_LE(slots, 1024u);
}

TEST(VulkanLimits, W37_TheDevicesLargerLimitServesOnRequest) {
  const Merged merged = run_wide_pair(true);
  if (merged.issued == 0) GTEST_SKIP() << "no Vulkan device";
  EXPECT_EQ(merged.last, 183.0f);
  if (merged.issued == 2) GTEST_SKIP() << "the device has no larger limit";
  EXPECT_EQ(merged.issued, 1u);
  EXPECT_EQ(merged.merges, 1u);
}

// Memory after many launches. SALVO_TEST_LAUNCHES sets how many; `ctest -C slow` runs a million.

TEST_F(VulkanRules, W75_MemoryReturnsAfterLaunchesAndFrees) {
  const char* asked = std::getenv("SALVO_TEST_LAUNCHES");
  const long launches = asked == nullptr ? 20'000 : std::atol(asked);
  open(Settings{.batch = 32});
  if (!driver_) return;
  const auto& api = api_of(*driver_);
  const std::uint64_t live = live_buffers_of(*driver_);
  const auto round = [&](long count) {
    for (long i = 0; i < count; ++i) {
      const Buffer x = driver_->allocate(kCount * 4);
      launch(*first_, x);
      driver_->release(x);
    }
    driver_->finish(driver_->queue());
  };
  round(2000);
  const auto memory = [&] {
    return std::array{api.AllocateMemory.calls() - api.FreeMemory.calls(),
                      api.CreateBuffer.calls() - api.DestroyBuffer.calls(),
                      api.CreateComputePipelines.calls() - api.DestroyPipeline.calls()};
  };
  const auto before = memory();
  round(launches);
  EXPECT_EQ(live_buffers_of(*driver_), live);
  EXPECT_EQ(memory(), before);
  EXPECT_LE(api.CreateCommandPool.calls(), 65u) << "batches are used again";
}

}  // namespace
}  // namespace salvo::tests
