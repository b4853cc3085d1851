// P5, P6: the block of over(n), from the kernel's limits and from what its threads spill.
// SPDX-License-Identifier: MIT
#include <optional>

#include "backends/level_zero/level_zero_executable.hpp"
#include "rules/level_zero_fixture.hpp"
#include "runtime/scratch_budget.hpp"
#include "salvo/salvo.hpp"

namespace salvo::tests {
namespace {

using backends::level_zero::most_threads;
using runtime::within_scratch_budget;

TEST(P6Budget, P6_ABlockKeepsWithinOneMebibyteOfSpill) {
  struct Row {
    std::uint32_t most, spill, block;
  };
  for (const Row& row :
       {Row{1024, 0, 1024}, Row{1024, 1024, 1024}, Row{1024, 1025, 512}, Row{1024, 3648, 256},
        Row{1024, 4097, 128}, Row{1024, 65536, 16}, Row{1024, 1'048'576, 1},
        Row{1024, 1'048'577, 1}, Row{1024, 0xffff'ffff, 1}, Row{2048, 512, 2048},
        Row{2048, 513, 1024}, Row{1, 4096, 1}, Row{448, 0, 448}}) {
    EXPECT_EQ(within_scratch_budget(row.most, row.spill), row.block)
        << row.most << " threads that spill " << row.spill;
  }
}

TEST(P6Budget, P6_WithoutTheDriversWordHalfOfTheDevicesMostIsAssumed) {
  EXPECT_EQ(most_threads(std::nullopt, 1024), 512U);
  EXPECT_EQ(most_threads(512, 1024), 512U);
  EXPECT_EQ(most_threads(4096, 1024), 1024U) << "no more than the device takes";
  EXPECT_EQ(most_threads(0, 1024), 1U);
  EXPECT_EQ(most_threads(std::nullopt, 1), 1U);
}

class P6LevelZero : public LevelZeroRules {
 protected:
  std::uint32_t block() { return device_->preferred_block(built(linear()).get()); }
};

TEST_F(P6LevelZero, P6_TheDriversNumbersDecide) {
  const bool told = control_->knobs().lists_max_group_size;
  control_->knobs().kernel_group_size = 1024;
  EXPECT_EQ(block(), told ? 1024U : 512U);
  control_->knobs().kernel_group_size = 256;
  EXPECT_EQ(block(), told ? 256U : 512U);
  control_->knobs().kernel_group_size = 1024;
  control_->knobs().spill_bytes = 3648;
  EXPECT_EQ(block(), 256U);
  control_->knobs().spill_bytes = 65536;
  EXPECT_EQ(block(), 16U);
}

TEST_F(P6LevelZero, P5_BlocksAreQuantised) {
  if (!control_->knobs().lists_max_group_size) GTEST_SKIP() << "the driver does not tell";
  control_->knobs().kernel_group_size = 448;
  EXPECT_EQ(block(), 256U);
}

TEST_F(P6LevelZero, P5_TheConfigurationIsAskedForOnceAndAnExplicitBlockBypassesIt) {
  control_->knobs().spill_bytes = 65536;
  const auto executable = built(linear());
  const auto asked = control_->calls("zeKernelGetProperties");
  for (int i = 0; i < 10; ++i) EXPECT_EQ(device_->preferred_block(executable.get()), 16U);
  const runtime::Buffer buffer = ones();
  launch(device_->queue(), *executable, buffer, 3, 0, 128);
  EXPECT_EQ(contents(device_->queue(), buffer), std::vector<std::int32_t>(kCount, 3));
  device_->release(buffer);
  EXPECT_EQ(control_->calls("zeKernelGetProperties"), asked);
}

TEST_F(P6LevelZero, P5_AnEmptyRangeLaunchesNothing) {
  const Device device = Device::get("LevelZero:0");
  const auto increment = kernel("increment", [](Span<float> x, Int n) {
    auto i = global_thread_id();
    if_(i < n, [&] { x[i] += 1.0f; });
  });
  Vector<float> x(8, 1.0f);
  device.launch(increment, over(8), x, 8);
  EXPECT_EQ(x[0], 2.0f);
  const auto launches = control_->calls("zeCommandListAppendLaunchKernel");
  device.launch(increment, over(0), x, 0);
  device.synchronize();
  EXPECT_EQ(control_->calls("zeCommandListAppendLaunchKernel"), launches);
}

}  // namespace
}  // namespace salvo::tests
