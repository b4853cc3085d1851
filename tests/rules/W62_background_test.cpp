// W62, W82: fused kernels that are built on a thread of their own while members go one by one.
// SPDX-License-Identifier: MIT
#include <chrono>
#include <cstring>
#include <thread>

#include "rules/window_fixture.hpp"

namespace salvo::tests {
namespace {

class W62Background : public WindowRules {
 protected:
  W62Background() { fake.window().set_background_compile(true); }
  ~W62Background() override { fake.control->release_builds(); }

  void launch_both() {
    device.launch(twice, over(kCount), x, y, kCount);
    device.launch(negate, over(kCount), x, z, kCount);
    fake.window().flush();
  }
  /// Launches until they fuse; the other thread may take its time.
  ::testing::AssertionResult fuses_in_the_end() {
    for (int round = 0; round < 5000; ++round) {
      fake.control->clear();
      launch_both();
      if (launches() == 1) return ::testing::AssertionSuccess();
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return ::testing::AssertionFailure() << "never fused";
  }
};

TEST_F(W62Background, W62_MembersAreIssuedOneByOneWhileTheFusedKernelIsBuilt) {
  fake.control->hold_builds("fused");
  for (int round = 0; round < 3; ++round) {
    fake.control->clear();
    launch_both();
    EXPECT_EQ(fake.control->launched(), std::vector<std::string>({"twice", "negate"})) << round;
    EXPECT_EQ(y[kCount - 1], 6.0f);
    EXPECT_EQ(z[kCount - 1], -3.0f);
  }
  auto stats = fake.window().stats();
  EXPECT_EQ(stats.issued, 6U);
  EXPECT_EQ(stats.fused_groups, 0U);
  EXPECT_EQ(stats.fallbacks, 0U);
  EXPECT_EQ(stats.refusals[Reason::compiling], 3U);
  fake.control->release_builds();
  EXPECT_TRUE(fuses_in_the_end());
  EXPECT_EQ(y[0], 6.0f);
  EXPECT_EQ(z[0], -3.0f);
  EXPECT_EQ(fake.window().stats().fused_groups, 1U);
}

TEST_F(W62Background, W62_AFusedKernelIsBuiltOnce) {
  EXPECT_TRUE(fuses_in_the_end());
  fake.control->clear();
  launch_both();
  EXPECT_EQ(fake.control->count(Driver::build), 0U);
}

TEST_F(W62Background, W62_AMergedPairIsIssuedInPartsWhileItIsBuilt) {
  fake.window().set_epilogue_enabled(true);
  fake.control->hold_builds("+");
  const auto run = [&] {
    fake.control->clear();
    device.launch(twice, over(kCount), x, y, kCount);
    device.launch(negate, over(kCount), y, z, kCount);
    EXPECT_EQ(z[kCount - 1], -6.0f);
    EXPECT_EQ(y[0], 6.0f);
    return launches();
  };
  EXPECT_EQ(run(), 2U);
  EXPECT_EQ(run(), 2U);
  fake.control->release_builds();
  std::size_t merged = 2;
  for (int round = 0; round < 5000 && merged == 2; ++round) {
    merged = run();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  EXPECT_EQ(merged, 1U);
}

TEST_F(W62Background, W62_ABuildThatFailsThereIsNotTriedAgain) {
  fake.control->fail(Driver::build, 1, "fused", Errc::compile_failed);
  auto stats = fake.window().stats();
  for (int round = 0; round < 5000 && stats.fallbacks == 0; ++round) {
    launch_both();
    stats = fake.window().stats();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  EXPECT_EQ(stats.fallbacks, 1U);
  fake.control->clear();
  launch_both();
  EXPECT_EQ(fake.control->count(Driver::build), 0U);
  EXPECT_EQ(launches(), 2U);
  EXPECT_EQ(fake.window().stats().refusals[Reason::failed_before], 1U);
  EXPECT_EQ(z[0], -3.0f);
}

TEST_F(W62Background, W62_ClearingTheLaunchCacheWaitsForABuildThatHasBegun) {
  fake.control->hold_builds("fused");
  launch_both();
  std::thread releases([&] {
    while (fake.control->count(Driver::build) < 3) std::this_thread::yield();
    fake.control->release_builds();
  });
  while (fake.control->count(Driver::build) < 3) std::this_thread::yield();
  fake.runtime.clear_launch_cache();
  releases.join();
  EXPECT_TRUE(fuses_in_the_end());
}

TEST_F(W62Background, W62_ARuntimeMayEndWhileOneIsBuilt) {
  fake.control->hold_builds("fused");
  auto control = fake.control;
  launch_both();
  std::thread releases([control] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    control->release_builds();
  });
  releases.join();
}

TEST(W62BackgroundSetting, R12_TheEnvironmentTurnsItOn) {
  FakeRuntime fake(FakeOptions{}, [](const char* name) -> const char* {
    return std::strcmp(name, "SALVO_BACKGROUND_COMPILE") == 0 ? "1" : nullptr;
  });
  fake.control->hold_builds("fused");
  const Floats twice = scaled("twice", 2.0f), negate = scaled("negate", -1.0f);
  Vector<float> x(100), y(100), z(100);
  fake.device().launch(twice, over(100), x, y, 100);
  fake.device().launch(negate, over(100), x, z, 100);
  fake.window().flush();
  EXPECT_EQ(fake.control->count(Driver::launch), 2U);
  fake.control->release_builds();
}

}  // namespace
}  // namespace salvo::tests
