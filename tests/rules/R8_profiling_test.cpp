// R8, W20: timers and per-kernel times on the device's clock, of exactly the launches inside.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "rules/window_fixture.hpp"
#include "runtime/device_state.hpp"

namespace salvo::tests {
namespace {

/// The fake device's clock counts launches, a millisecond each.
class R8Profiling : public WindowRules {
 protected:
  static const KernelTime& of(const std::vector<KernelTime>& times, const std::string& name) {
    const auto found = std::ranges::find(times, name, &KernelTime::name);
    if (found == times.end()) throw std::runtime_error("no kernel " + name);
    return *found;
  }
};

TEST_F(R8Profiling, R8_ATimerMeasuresOnTheDevicesClock) {
  Timer timer(device);
  device.launch(twice, over(kCount), x, y, kCount);  // outside: issued by start
  timer.start();
  device.launch(twice, over(kCount), x, y, kCount);
  device.launch(increment, over(kCount), y, kCount);
  timer.stop();
  device.launch(twice, over(kCount), x, y, kCount);
  EXPECT_EQ(timer.elapsed_ms(), 2.0);
}

TEST_F(R8Profiling, R8_AProfilerTellsLaunchesTotalAndMeanOfEachKernel) {
  fake.window().set_enabled(false);
  Profiler profiler(device);
  for (int round = 0; round < 3; ++round) device.launch(twice, over(kCount), x, y, kCount);
  device.launch(increment, over(kCount), y, kCount);
  const std::vector<KernelTime> times = profiler.kernels();
  ASSERT_EQ(times.size(), 2U);
  EXPECT_EQ(times[0].name, "twice");  // the longest first
  EXPECT_EQ(times[0].launches, 3U);
  EXPECT_EQ(times[0].total_ms, 3.0);
  EXPECT_EQ(times[0].mean_ms, 1.0);
  EXPECT_EQ(times[1].name, "increment");
  EXPECT_EQ(times[1].launches, 1U);
}

TEST_F(R8Profiling, R8_W20_ExactlyTheLaunchesInsideCount) {
  device.launch(twice, over(kCount), x, y, kCount);  // held, and issued before the profiler starts
  Profiler profiler(device);
  EXPECT_EQ(launches(), 1U);
  device.launch(increment, over(kCount), y, kCount);
  profiler.stop();
  device.launch(negate, over(kCount), x, z, kCount);
  fake.window().flush();
  const std::vector<KernelTime> times = profiler.kernels();
  ASSERT_EQ(times.size(), 1U);
  EXPECT_EQ(times[0].name, "increment");
}

TEST_F(R8Profiling, R8_AFusedLaunchStandsUnderItsOwnName) {
  Profiler profiler(device);
  device.launch(twice, over(kCount), x, y, kCount);
  device.launch(negate, over(kCount), x, z, kCount);
  const std::vector<KernelTime> times = profiler.kernels();
  ASSERT_EQ(times.size(), 1U);
  EXPECT_EQ(times[0].name.substr(0, 6), "fused_");
  EXPECT_EQ(times[0].launches, 1U);
}

TEST_F(R8Profiling, R8_LaunchesOnStreamsCountToo) {
  Profiler profiler(device);
  const Stream stream(device);
  stream.launch(twice, over(kCount), x, y, kCount);
  EXPECT_EQ(of(profiler.kernels(), "twice").launches, 1U);
}

TEST_F(R8Profiling, R8_TwoProfilersWatchOneDevice) {
  Profiler outer(device);
  device.launch(twice, over(kCount), x, y, kCount);
  {
    Profiler inner(device);
    device.launch(increment, over(kCount), y, kCount);
    EXPECT_EQ(inner.kernels().size(), 1U);
  }
  device.launch(increment, over(kCount), y, kCount);
  EXPECT_EQ(of(outer.kernels(), "increment").launches, 2U);
  EXPECT_EQ(of(outer.kernels(), "twice").launches, 1U);
}

TEST_F(R8Profiling, R8_WithoutAProfilerNoEventIsRecorded) {
  { const Profiler profiler(device); }
  fake.control->clear();
  device.launch(twice, over(kCount), x, y, kCount);
  device.synchronize();
  EXPECT_EQ(fake.control->count(Driver::record), 0U);
  EXPECT_EQ(&device.state()->driver(), &device.state()->unwatched_driver());
}

TEST_F(R8Profiling, R8_W62_ALaunchWhoseEndCannotBeNotedWasMadeAllTheSame) {
  Profiler profiler(device);
  device.launch(increment, over(kCount), y, kCount);
  device.launch(twice, over(kCount), x, z, kCount);
  fake.control->fail(Driver::record, 2);  // the first is of its begin
  fake.window().flush();
  EXPECT_TRUE(fake.control->all_faults_struck());
  EXPECT_EQ(launches(), 1U) << "its members were launched again";
  EXPECT_EQ(y[0], 1.0f);
  EXPECT_EQ(z[0], 6.0f);
  EXPECT_TRUE(profiler.kernels().empty());
}

TEST_F(R8Profiling, R8_ALaunchThatFailsIsNotCounted) {
  fake.window().set_enabled(false);
  Profiler profiler(device);
  fake.control->fail(Driver::launch);
  EXPECT_THROW(device.launch(twice, over(kCount), x, y, kCount), Error);
  EXPECT_TRUE(profiler.kernels().empty());
}

}  // namespace
}  // namespace salvo::tests
