// P7: before a launch spills more than any before it, the device is drained and caches give way.
// SPDX-License-Identifier: MIT
#include <atomic>
#include <chrono>
#include <cstring>
#include <map>
#include <string>
#include <thread>

#include "rules/window_fixture.hpp"
#include "runtime/device_state.hpp"

namespace salvo::tests {
namespace {

using namespace std::chrono_literals;

class P7Drain : public testing::Test {
 protected:
  static constexpr int kCount = 100;

  static FakeOptions options() {
    FakeOptions made;
    made.spill = [](const ir::Kernel& kernel) -> std::uint32_t {
      if (kernel.name.find("large") != std::string::npos) return 4096;
      return kernel.name.find("small") != std::string::npos ? 512 : 0;
    };
    return made;
  }
  static EnvironmentLookup lookup(const char* value) {
    return [value](const char* name) {
      return std::strcmp(name, "SALVO_SCRATCH_DRAIN") == 0 ? value : nullptr;
    };
  }
  explicit P7Drain(const char* value = nullptr) : fake(options(), lookup(value)) {
    fake.window().set_enabled(false);
    device.on_scratch_drain([this] { ++reclaimed; });
  }

  /// Drains caused by the launch.
  std::uint64_t drains(const Kernel<Span<float>, Int>& kernel, Stream* stream = nullptr) {
    const std::uint64_t before = device.state()->scratch_drains();
    if (stream) {
      stream->launch(kernel, over(kCount), x, kCount);
    } else {
      device.launch(kernel, over(kCount), x, kCount);
    }
    return device.state()->scratch_drains() - before;
  }

  FakeRuntime fake;
  Device device = fake.device();
  Vector<float> x{std::vector<float>(kCount, 1.0f)};
  Kernel<Span<float>, Int> none = incremented("none");
  Kernel<Span<float>, Int> small = incremented("small_spill");
  Kernel<Span<float>, Int> large = incremented("large_spill");
  Kernel<Span<float>, Int> other_large = incremented("other_large_spill");
  int reclaimed = 0;
};

TEST_F(P7Drain, P7_FirstSameAndLowerSpillDrainOnceNeverNever) {
  EXPECT_EQ(drains(large), 1U);
  EXPECT_EQ(drains(other_large), 0U);
  EXPECT_EQ(drains(large), 0U);
  EXPECT_EQ(drains(small), 0U);
  EXPECT_EQ(drains(none), 0U);
  EXPECT_EQ(reclaimed, 1);
  EXPECT_EQ(x[0], 6.0f);
}

TEST_F(P7Drain, P7_EachNewMaximumDrains) {
  EXPECT_EQ(drains(none), 0U);
  EXPECT_EQ(drains(small), 1U);
  EXPECT_EQ(drains(large), 1U);
  EXPECT_EQ(reclaimed, 2);
}

TEST_F(P7Drain, P7_ADrainWaitsAndThenGivesCachedMemoryBack) {
  {
    Vector<float> brief(kCount, 1.0f);
    drains(none);
    device.launch(none, over(kCount), brief, kCount);
  }
  ASSERT_GT(device.state()->pool().statistics().cached, 0U);
  fake.control->clear();
  EXPECT_EQ(drains(large), 1U);
  EXPECT_EQ(device.state()->pool().statistics().cached, 0U);
  std::vector<Driver> order;
  for (const DriverCall& call : fake.control->calls()) {
    if (call.what == Driver::finish || call.what == Driver::release ||
        call.what == Driver::launch) {
      order.push_back(call.what);
    }
  }
  EXPECT_EQ(order, (std::vector{Driver::finish, Driver::release, Driver::launch}));
}

TEST_F(P7Drain, P7_EachStreamHasAMarkOfItsOwn) {
  Stream stream(device);
  EXPECT_EQ(drains(large), 1U);
  device.synchronize();
  EXPECT_EQ(drains(large, &stream), 1U);
  EXPECT_EQ(drains(large, &stream), 0U);
  EXPECT_EQ(drains(large), 0U);
}

TEST_F(P7Drain, P7_AMergedLaunchDrainsToo) {
  fake.window().set_enabled(true);
  Vector<float> y(kCount, 1.0f);
  device.launch(large, over(kCount), x, kCount);
  device.launch(other_large, over(kCount), y, kCount);
  EXPECT_EQ(device.state()->scratch_drains(), 0U) << "held: nothing ran yet";
  EXPECT_EQ(y[0], 2.0f);
  EXPECT_EQ(fake.window().stats().fused_groups, 1U);
  EXPECT_EQ(device.state()->scratch_drains(), 1U);
}

TEST_F(P7Drain, W25_WhatReclaimsRunsWithoutLocks) {
  Vector<float> other(kCount, 3.0f), mine(kCount, 1.0f);
  device.launch(none, over(kCount), other, kCount);
  float seen = 0;
  device.on_scratch_drain([&] {
    // Another thread that was waited for here would never come back if it needed a lock.
    std::thread([&] {
      seen = other[0];
      Vector<float> brief(kCount, 1.0f);
      device.on_scratch_drain([] {});
    }).join();
    mine = Vector<float>(kCount, 5.0f);
    fake.window().flush();
  });
  EXPECT_EQ(drains(large), 1U);
  EXPECT_EQ(seen, 4.0f);
  EXPECT_EQ(mine[0], 5.0f);
  EXPECT_EQ(x[0], 2.0f);
}

TEST_F(P7Drain, W25_LaunchesKeepTheirOrderWhileMemoryIsReclaimed) {
  fake.window().set_enabled(true);
  fake.window().set_epilogue_enabled(false);
  Vector<float> y(kCount, 1.0f);
  std::thread late;
  std::atomic<bool> begun{false}, ended{false};
  device.on_scratch_drain([&] {
    if (late.joinable()) return;
    late = std::thread([&] {
      begun = true;
      device.launch(small, over(kCount), y, kCount);  // held: after what is being issued
      EXPECT_EQ(y[0], 4.0f);
      EXPECT_EQ(x[0], 2.0f);
      ended = true;
    });
    while (!begun) std::this_thread::yield();
    // Time to overtake what is being issued, if nothing kept it from that.
    for (int k = 0; k < 50 && !ended; ++k) std::this_thread::sleep_for(1ms);
    EXPECT_FALSE(ended);
  });
  device.launch(large, over(kCount), x, kCount);
  device.launch(small, over(kCount), y, kCount);
  device.launch(none, over(kCount), y, kCount);
  fake.window().flush();
  late.join();
  EXPECT_EQ(y[0], 4.0f);
  EXPECT_EQ(fake.window().stats().held, 0U);
}

TEST_F(P7Drain, W25_WhatReclaimsMayFlushWhileHeldLaunchesAreIssued) {
  fake.window().set_enabled(true);
  Vector<float> y(kCount, 1.0f);
  device.on_scratch_drain([&] { fake.window().flush(); });
  device.launch(large, over(kCount), x, kCount);
  device.launch(small, over(kCount), x, kCount);
  device.launch(none, over(kCount), y, kCount);
  fake.window().flush();
  EXPECT_EQ(fake.window().stats().failed, 0U);
  EXPECT_EQ(x[0], 3.0f);
  EXPECT_EQ(y[0], 2.0f);
}

TEST_F(P7Drain, W25_WhatALaunchBindsMayMoveWhileMemoryIsReclaimed) {
  device.launch(none, over(kCount), x, kCount);
  device.on_scratch_drain([&] { std::thread([&] { x.write()[0] = 10.0f; }).join(); });
  EXPECT_EQ(drains(large), 1U);
  EXPECT_EQ(x[0], 11.0f);
  EXPECT_EQ(x[1], 3.0f);
}

TEST_F(P7Drain, W25_WhatReclaimsMustNotLaunch) {
  Errc code{};
  device.on_scratch_drain([&] {
    try {
      device.launch(none, over(kCount), x, kCount);
    } catch (const Error& error) {
      code = error.code();
    }
  });
  EXPECT_EQ(drains(large), 1U);
  EXPECT_EQ(code, Errc::invalid_argument);
  EXPECT_EQ(x[0], 2.0f);
}

TEST_F(P7Drain, W25_AFailureToReclaimIsTheLaunchs) {
  bool fails = true;
  device.on_scratch_drain([&] {
    if (fails) throw Error(Errc::out_of_memory, "nothing to give");
  });
  try {
    device.launch(large, over(kCount), x, kCount);
    FAIL() << "it was launched";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::out_of_memory);
    EXPECT_EQ(error.kernel(), "large_spill");
  }
  EXPECT_EQ(x[0], 1.0f);
  fails = false;
  EXPECT_EQ(drains(large), 1U);
  EXPECT_EQ(x[0], 2.0f);
}

class P7WithoutDrain : public P7Drain {
 protected:
  P7WithoutDrain() : P7Drain("0") {}
};

TEST_F(P7WithoutDrain, P7_TheMarkMovesAllTheSame) {
  EXPECT_EQ(drains(large), 0U);
  EXPECT_EQ(device.state()->scratch_mark(), 4096U);
  EXPECT_EQ(reclaimed, 0);
}

}  // namespace
}  // namespace salvo::tests
