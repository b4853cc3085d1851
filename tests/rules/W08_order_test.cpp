// W8-W15: order, capacity, joining, byte ranges, capture and ownership.
// SPDX-License-Identifier: MIT
#include "rules/window_fixture.hpp"

namespace salvo::tests {

using W08Order = WindowRules;

TEST_F(W08Order, W8_ReadAfterWriteIsIssuedInOrder) {
  device.launch(twice, over(kCount), x, y, kCount);
  device.launch(negate, over(kCount), y, z, kCount);
  EXPECT_EQ(z[0], -6.0f);
  EXPECT_EQ(fake.control->launched(), std::vector<std::string>({"twice", "negate"}));
}

TEST_F(W08Order, W8_WriteAfterReadIsIssuedInOrder) {
  device.launch(twice, over(kCount), x, y, kCount);
  device.launch(negate, over(kCount), z, x, kCount);
  EXPECT_EQ(y[0], 6.0f);
  EXPECT_EQ(x[0], -0.0f);
  EXPECT_EQ(fake.control->launched(), std::vector<std::string>({"twice", "negate"}));
}

TEST_F(W08Order, W8_WriteAfterWriteIsIssuedInOrder) {
  device.launch(twice, over(kCount), x, y, kCount);
  device.launch(negate, over(kCount), x, y, kCount);
  EXPECT_EQ(y[0], -3.0f);
  EXPECT_EQ(fake.control->launched(), std::vector<std::string>({"twice", "negate"}));
}

TEST_F(W08Order, W8_TwoReadersOfTheSameBytesAreIndependent) {
  device.launch(twice, over(kCount), x, y, kCount);
  device.launch(negate, over(kCount), x, z, kCount);
  EXPECT_EQ(y[0], 6.0f);
  EXPECT_EQ(launches(), 1U);
}

TEST_F(W08Order, W8_AnAtomicIsAReadAndAWrite) {
  const auto count = kernel("count", [](Span<std::int32_t> bins, Int n) {
    auto i = global_thread_id();
    if_(i < n, [&] { atomic_add(bins[0], 1); });
  });
  Vector<std::int32_t> bins(1);
  device.launch(count, over(100), bins, 100);
  device.launch(count, over(50), bins, 50);
  EXPECT_EQ(bins[0], 150);
  EXPECT_EQ(launches(), 2U);
}

TEST_F(W08Order, W9_ResultsAreThoseOfImmediateLaunches) {
  const auto run = [&](bool on) {
    fake.window().set_enabled(on);
    Vector<float> a{std::vector<float>(kCount, 1.5f)}, b(kCount), c(kCount);
    for (int round = 0; round < 5; ++round) {
      device.launch(twice, over(kCount), a, b, kCount);
      device.launch(negate, over(kCount), b, c, kCount);
      device.launch(increment, over(kCount), a, kCount);
      device.launch(twice, over(kCount), c, a, kCount);
    }
    auto all = values(a);
    for (const auto& more : {values(b), values(c)}) all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  EXPECT_TRUE(same_bits(run(true), run(false)));
}

TEST_F(W08Order, W10_ANinthGroupIssuesTheOldestFirst) {
  // A chain: each launch depends on the one before, so each is a group of its own.
  std::vector<Floats> chain;
  for (int i = 0; i < 9; ++i) chain.push_back(scaled("k" + std::to_string(i), 2.0f));
  for (int i = 0; i < 8; ++i) device.launch(chain[i], over(kCount), x, x, kCount);
  EXPECT_EQ(launches(), 0U);
  EXPECT_EQ(fake.window().stats().held, 8U);
  device.launch(chain[8], over(kCount), x, x, kCount);
  EXPECT_EQ(fake.control->launched(), std::vector<std::string>({"k0"}));
  EXPECT_EQ(fake.window().stats().held, 8U);
  EXPECT_EQ(x[0], 3.0f * 512);
}

TEST_F(W08Order, W10_AGroupFusesAtMostEightLaunches) {
  std::vector<Vector<float>> outputs;
  for (int i = 0; i < 9; ++i) outputs.emplace_back(kCount);
  for (auto& output : outputs) device.launch(twice, over(kCount), x, output, kCount);
  fake.window().flush();
  EXPECT_EQ(launches(), 2U);
  EXPECT_EQ(fake.window().stats().fused_groups, 1U);
  for (auto& output : outputs) EXPECT_EQ(output[kCount - 1], 6.0f);
}

TEST_F(W08Order, W10_BothLimitsAreSettable) {
  fake.window().set_limits(2, 3);
  std::vector<Vector<float>> outputs;
  for (int i = 0; i < 7; ++i) outputs.emplace_back(kCount);
  for (auto& output : outputs) device.launch(twice, over(kCount), x, output, kCount);
  // Groups of 3, 3 and 1: opening the third issued the first.
  EXPECT_EQ(launches(), 1U);
  fake.window().flush();
  EXPECT_EQ(launches(), 3U);
  EXPECT_THROW(fake.window().set_limits(0, 8), Error);
}

TEST_F(W08Order, W11_AnIndependentLaunchJoinsAheadOfAnUnrelatedLaterGroup) {
  Vector<float> u{std::vector<float>(kCount, 1.0f)}, v(kCount);
  device.launch(twice, over(kCount), x, y, kCount);   // group 1
  device.launch(negate, over(kCount), y, z, kCount);  // group 2, reads y
  device.launch(twice, over(kCount), u, v, kCount);   // joins group 1
  fake.window().flush();
  const auto calls = fake.control->launched();
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_EQ(calls[0], "fused_twice");
  EXPECT_EQ(calls[1], "negate");
  EXPECT_EQ(v[0], 2.0f);
  EXPECT_EQ(z[0], -6.0f);
}

TEST_F(W08Order, W11_ALaunchThatConflictsWithALaterGroupDoesNotJoinAnEarlierOne) {
  Vector<float> u(kCount);
  device.launch(twice, over(kCount), x, y, kCount);   // group 1
  device.launch(negate, over(kCount), y, z, kCount);  // group 2, writes z
  device.launch(twice, over(kCount), z, u, kCount);   // reads z: after group 2
  EXPECT_EQ(u[0], -12.0f);
  EXPECT_EQ(launches(), 3U);
}

TEST_F(W08Order, W12_ALaunchThatCannotFuseIsIssuedInOrderAsItsOwnGroup) {
  const auto strided = kernel("strided", [](Span<float> from, Span<float> to, Int n) {
    auto step = grid_dim_x() * block_dim_x();
    for_(range(global_thread_id(), n, step), [&](Int i) { to[i] = from[i]; });
  });
  device.launch(twice, over(kCount), x, y, kCount);
  device.launch(strided, over(kCount), x, z, kCount);
  device.launch(negate, over(kCount), z, y, kCount);
  EXPECT_EQ(fake.window().stats().held, 3U);
  EXPECT_EQ(y[0], -3.0f);
  EXPECT_EQ(fake.control->launched(), std::vector<std::string>({"twice", "strided", "negate"}));
}

TEST_F(W08Order, W13_OverlappingViewsConflict) {
  Vector<float> all{std::vector<float>(kCount, 1.0f)};
  device.launch(twice, over(600), x, all.view(0, 600), 600);
  device.launch(negate, over(600), x, all.view(400, 600), 600);
  EXPECT_EQ(all[399], 6.0f);
  EXPECT_EQ(all[400], -3.0f);
  EXPECT_EQ(all[599], -3.0f);
  EXPECT_EQ(launches(), 2U);
}

TEST_F(W08Order, W13_DisjointViewsOfOneVectorAreIndependent) {
  Vector<float> all(kCount);
  device.launch(twice, over(500), x, all.view(0, 500), 500);
  device.launch(negate, over(500), x, all.view(500, 500), 500);
  EXPECT_EQ(all[0], 6.0f);
  EXPECT_EQ(all[999], -3.0f);
  EXPECT_EQ(launches(), 1U);
}

TEST_F(W08Order, W13_AWholeVectorConflictsWithItsView) {
  device.launch(twice, over(10), x, y.view(990, 10), 10);
  device.launch(negate, over(kCount), y, z, kCount);
  EXPECT_EQ(z[989], -0.0f);
  EXPECT_EQ(z[990], -6.0f);
  EXPECT_EQ(launches(), 2U);
}

TEST(W13StoreUnit, W13_RangesWidenToTheSmallestStoreUnit) {
  const auto mark = kernel(
      "mark", [](Span<std::uint8_t> bytes, UInt value) { bytes[global_thread_id()] = value; });
  for (const std::uint32_t unit : {1U, 4U}) {
    FakeRuntime fake{FakeOptions{
        .adjust = [unit](DeviceProperties& device) { device.store_unit_bytes = unit; }}};
    Vector<std::uint8_t> bytes(8);
    fake.device().launch(mark, grid(1), bytes.view(0, 1), 7);
    fake.device().launch(mark, grid(1), bytes.view(1, 1), 9);
    fake.window().flush();
    EXPECT_EQ(fake.control->count(Driver::launch), unit == 1 ? 1U : 2U);
    EXPECT_EQ(bytes[0], 7);
    EXPECT_EQ(bytes[1], 9);
  }
}

TEST_F(W08Order, W14_ScalarsAndDimsAreCapturedAtTheCall) {
  int n = 10;
  device.launch(twice, over(n), x, y, n);
  n = kCount;
  EXPECT_EQ(y[9], 6.0f);
  EXPECT_EQ(y[10], 0.0f);
}

TEST_F(W08Order, W14_UploadsHaveReadTheHostsBytesWhenTheCallReturns) {
  device.launch(twice, over(kCount), x, y, kCount);
  x[0] = 100.0f;  // after the call: this launch does not see it
  EXPECT_EQ(y[0], 6.0f);
  EXPECT_EQ(x[0], 100.0f);
}

TEST_F(W08Order, W14_StalenessIsMarkedAtTheCallAndReadingAnInputCostsNothing) {
  device.launch(twice, over(kCount), x, y, kCount);
  EXPECT_EQ(x[0], 3.0f);  // only read by the launch: no flush, no transfer
  EXPECT_EQ(launches(), 0U);
  EXPECT_EQ(fake.control->count(Driver::read), 0U);
  EXPECT_EQ(y[0], 6.0f);
  EXPECT_EQ(fake.control->count(Driver::read), 1U);
}

TEST_F(W08Order, W15_AHeldLaunchOwnsWhatItBinds) {
  {
    Vector<float> gone{std::vector<float>(kCount, 5.0f)};
    const auto short_lived = scaled("short_lived", 3.0f);
    device.launch(short_lived, over(kCount), gone, y, kCount);
  }
  EXPECT_EQ(launches(), 0U);
  EXPECT_EQ(y[0], 15.0f);
  EXPECT_EQ(fake.control->launched(), std::vector<std::string>({"short_lived"}));
}

TEST_F(W08Order, W15_MemoryThatAHeldLaunchReadsIsNotUsedForAnother) {
  const auto triple = scaled("triple", 3.0f);
  {
    Vector<float> gone{std::vector<float>(kCount, 5.0f)};
    device.launch(triple, over(kCount), gone, y, kCount);
  }
  // It is of the same size, and its bytes go to the device while the launch is held.
  Vector<float> other{std::vector<float>(kCount, 8.0f)};
  to_device(device, other);
  EXPECT_EQ(launches(), 0U);
  EXPECT_EQ(y[0], 15.0f);
}

TEST_F(W08Order, W15_ASpanThatTheKernelLeavesAloneIsOwnedToo) {
  const auto ignoring =
      kernel("ignoring", [](Span<float> from, Span<float> to, Span<float> unused) {
        static_cast<void>(unused);
        const auto i = global_thread_id();
        to[i] = from[i] + 1.0f;
      });
  {
    Vector<float> gone(std::vector<float>(kCount, 5.0f));
    device.launch(ignoring, grid(1).block(64), x, y, gone);
  }
  // Memory of the same size would take its place if it were free.
  Vector<float> other{std::vector<float>(kCount, 8.0f)};
  to_device(device, other);
  const std::size_t allocations = fake.control->count(Driver::allocate);
  fake.window().flush();
  EXPECT_EQ(y[0], x[0] + 1.0f);
  Vector<float> third{std::vector<float>(kCount, 9.0f)};
  to_device(device, third);
  EXPECT_EQ(fake.control->count(Driver::allocate), allocations);  // free from here on
}

}  // namespace salvo::tests
