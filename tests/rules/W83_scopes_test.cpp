// W83: switches for a scope.
// SPDX-License-Identifier: MIT
#include <thread>

#include "rules/window_fixture.hpp"

namespace salvo::tests {

using W83Scopes = WindowRules;

TEST_F(W83Scopes, W83_PauseMakesThisThreadsLaunchesImmediate) {
  device.launch(twice, over(kCount), x, y, kCount);
  {
    const window::Pause pause;
    const window::Pause nested;
    fake.window().keep_decisions(4);
    device.launch(negate, over(kCount), x, z, kCount);
    EXPECT_EQ(fake.control->launched(), std::vector<std::string>({"twice", "negate"}));
    EXPECT_EQ(fake.window().decisions().back().reason, Reason::paused);
  }
  device.launch(twice, over(kCount), x, y, kCount);
  EXPECT_EQ(fake.window().stats().held, 1U);
}

TEST_F(W83Scopes, W83_PauseHoldsForLaunchesThatRepeatAWindow) {
  for (int turn = 0; turn < 4; ++turn) {
    device.launch(twice, over(kCount), x, y, kCount);
    fake.window().flush();
  }
  EXPECT_EQ(fake.window().stats().repeated, 2U);
  const window::Pause pause;
  device.launch(twice, over(kCount), x, y, kCount);
  EXPECT_EQ(launches(), 5U);
  EXPECT_EQ(fake.window().stats().held, 0U);
}

TEST_F(W83Scopes, W83_PauseLeavesOtherThreadsAlone) {
  const window::Pause pause;
  std::thread([&] { device.launch(twice, over(kCount), x, y, kCount); }).join();
  EXPECT_EQ(launches(), 0U);
  EXPECT_EQ(fake.window().stats().held, 1U);
}

TEST_F(W83Scopes, W83_BatchIssuesNothingExceptByNeed) {
  fake.window().set_limits(2, 8);
  {
    const window::Batch batch;
    for (int i = 0; i < 6; ++i) device.launch(increment, over(kCount), x, kCount);
    EXPECT_EQ(launches(), 0U);
    EXPECT_EQ(fake.window().stats().held, 6U);
    EXPECT_EQ(x[0], 9.0f);  // observed: by need
    EXPECT_EQ(launches(), 6U);
    for (int i = 0; i < 5; ++i) device.launch(increment, over(kCount), x, kCount);
    EXPECT_EQ(launches(), 6U);
  }
  device.launch(increment, over(kCount), x, kCount);
  EXPECT_EQ(fake.window().stats().held, 2U);
  EXPECT_EQ(x[0], 15.0f);
}

TEST_F(W83Scopes, W83_BatchRepeatsNoWindowThatMadeRoom) {
  fake.window().set_limits(2, 8);
  const auto turn = [&] {
    for (int i = 0; i < 6; ++i) device.launch(increment, over(kCount), x, kCount);
  };
  for (int k = 0; k < 4; ++k) {
    turn();
    fake.window().flush();
  }
  EXPECT_EQ(fake.window().stats().repeated, 12U);
  const window::Batch batch;
  turn();
  EXPECT_EQ(fake.window().stats().held, 6U);
  EXPECT_EQ(x[0], 33.0f);
}

}  // namespace salvo::tests
