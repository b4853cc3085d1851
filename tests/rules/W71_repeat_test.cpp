// W71 and W72: what a repeat launch skips, and what makes it start anew.
// SPDX-License-Identifier: MIT
#include <array>

#include "rules/window_fixture.hpp"

namespace salvo::tests {

using W71Repeat = WindowRules;

/// Checks, sources and keys so far.
std::array<std::uint64_t, 3> first_launch_work(FakeRuntime& fake) {
  const WindowStats stats = fake.window().stats();
  return {stats.capability_checks, stats.sources_generated, stats.compile_cache_keys};
}
using Work = std::array<std::uint64_t, 3>;

TEST_F(W71Repeat, W71_ARepeatSkipsCapabilityCheckSourceAndKey) {
  fake.window().set_enabled(false);
  device.launch(twice, over(kCount), x, y, kCount);
  // One source for spans that may overlap and one for those that do not (W80).
  EXPECT_EQ(first_launch_work(fake), (Work{1, 2, 1}));
  fake.window().reset_stats();
  for (int i = 0; i < 10; ++i) device.launch(twice, over(kCount), x, y, kCount);
  EXPECT_EQ(first_launch_work(fake), (Work{0, 0, 0}));
  EXPECT_EQ(fake.control->count(Driver::build), 1U);
  EXPECT_EQ(launches(), 11U);
}

TEST_F(W71Repeat, W71_ARepeatedWindowSkipsThemToo) {
  const auto window_of_two = [&] {
    device.launch(twice, over(kCount), x, y, kCount);
    device.launch(negate, over(kCount), x, z, kCount);
    fake.window().flush();
  };
  window_of_two();
  EXPECT_EQ(first_launch_work(fake), (Work{2, 5, 1}));  // two kernels, one fused
  fake.window().reset_stats();
  for (int i = 0; i < 10; ++i) window_of_two();
  EXPECT_EQ(first_launch_work(fake), (Work{0, 0, 0}));
  EXPECT_EQ(fake.window().stats().fused_groups, 10U);
}

TEST_F(W71Repeat, W71_AStructuralCopyTakesTheFullPath) {
  fake.window().set_enabled(false);
  const Floats copy = scaled("twice", 2.0f);
  device.launch(twice, over(kCount), x, y, kCount);
  fake.window().reset_stats();
  device.launch(copy, over(kCount), x, z, kCount);
  EXPECT_EQ(first_launch_work(fake), (Work{1, 2, 1}));
  EXPECT_EQ(fake.control->count(Driver::build), 1U);  // the key led to what was built before
  EXPECT_TRUE(same_bits(values(y), values(z)));
}

TEST_F(W71Repeat, W71_AHandleIsNoCopy) {
  fake.window().set_enabled(false);
  device.launch(twice, over(kCount), x, y, kCount);
  fake.window().reset_stats();
  const Floats same = twice;
  device.launch(same, over(kCount), x, z, kCount);
  EXPECT_EQ(first_launch_work(fake), (Work{0, 0, 0}));
}

TEST_F(W71Repeat, W71_AnAddressUsedAgainIsNotTheSameKernelOrVector) {
  for (int i = 1; i <= 50; ++i) {
    const Floats fresh = scaled("fresh", static_cast<float>(i));
    Vector<float> to(kCount);
    device.launch(fresh, over(kCount), x, to, kCount);
    device.launch(negate, over(kCount), x, z, kCount);
    ASSERT_EQ(to[kCount - 1], 3.0f * static_cast<float>(i));
    ASSERT_EQ(z[kCount - 1], -3.0f);
  }
}

/// A device whose source changes as if an intrinsic were registered anew.
class W72Clear : public ::testing::Test {
 protected:
  static constexpr int kCount = 1000;

  static FakeOptions rewriting(const std::shared_ptr<std::string>& intrinsic) {
    FakeOptions options;
    options.rewrite = [intrinsic](runtime::Program& program) { program.code += *intrinsic; };
    return options;
  }
  std::vector<std::string> built_since_clear() {
    std::vector<std::string> code;
    for (const DriverCall& call : fake.control->calls()) {
      if (call.what == Driver::build) code.push_back(call.code.substr(call.code.rfind("// ")));
    }
    fake.control->clear();
    return code;
  }
  void launch_both() {
    device.launch(twice, over(kCount), x, y, kCount);
    device.launch(negate, over(kCount), x, z, kCount);
    fake.window().flush();
  }

  std::shared_ptr<std::string> intrinsic = std::make_shared<std::string>("// old");
  FakeRuntime fake{rewriting(intrinsic)};
  Device device = fake.device();
  Floats twice = scaled("twice", 2.0f);
  Floats negate = scaled("negate", -1.0f);
  Vector<float> x{std::vector<float>(kCount, 3.0f)};
  Vector<float> y = Vector<float>(kCount), z = Vector<float>(kCount);
};

TEST_F(W72Clear, W72_OldCodeRunsUntilTheLaunchCacheIsCleared) {
  fake.window().set_enabled(false);
  launch_both();
  EXPECT_EQ(built_since_clear(), std::vector<std::string>(2, "// old"));
  *intrinsic = "// new";
  launch_both();
  EXPECT_EQ(built_since_clear(), std::vector<std::string>());
  fake.runtime.clear_launch_cache();
  launch_both();
  EXPECT_EQ(built_since_clear(), std::vector<std::string>(2, "// new"));
  launch_both();
  EXPECT_EQ(built_since_clear(), std::vector<std::string>());
}

TEST_F(W72Clear, W72_FusedKernelsAreDroppedToo) {
  launch_both();
  launch_both();
  EXPECT_EQ(built_since_clear(), std::vector<std::string>({"// old"}));
  *intrinsic = "// new";
  fake.runtime.clear_launch_cache();
  fake.window().reset_stats();
  launch_both();
  EXPECT_EQ(built_since_clear(), std::vector<std::string>({"// new"}));
  EXPECT_EQ(fake.window().stats().fused_groups, 1U);
  EXPECT_EQ(z[0], -3.0f);
}

TEST_F(W72Clear, W72_WhatIsHeldIsIssuedFirst) {
  device.launch(twice, over(kCount), x, y, kCount);
  *intrinsic = "// new";
  fake.runtime.clear_launch_cache();
  EXPECT_EQ(built_since_clear(), std::vector<std::string>({"// old"}));
  EXPECT_EQ(fake.window().stats().held, 0U);
  EXPECT_EQ(y[0], 6.0f);
}

TEST_F(W72Clear, W72_AFailedFlushPassesOnAfterTheCacheIsCleared) {
  device.launch(twice, over(kCount), x, y, kCount);
  fake.control->fail(Driver::launch);
  EXPECT_THROW(fake.runtime.clear_launch_cache(), Error);
  fake.control->clear();
  *intrinsic = "// new";
  device.launch(twice, over(kCount), x, y, kCount);
  fake.window().flush();
  EXPECT_EQ(built_since_clear(), std::vector<std::string>({"// new"}));
}

TEST_F(W72Clear, W72_AFailedWaitPassesOnAfterTheCacheIsCleared) {
  launch_both();
  fake.control->clear();
  fake.control->fail(Driver::finish);
  EXPECT_THROW(fake.runtime.clear_launch_cache(), Error);
  EXPECT_TRUE(fake.control->all_faults_struck());
  *intrinsic = "// new";
  launch_both();
  EXPECT_EQ(built_since_clear(), std::vector<std::string>({"// new"}));
}

}  // namespace salvo::tests
