// W1-W7: which launches are held, on which devices, and what a launch that is not held does first.
// SPDX-License-Identifier: MIT
#include "rules/window_fixture.hpp"

namespace salvo::tests {

using W01Held = WindowRules;

TEST_F(W01Held, W1_HoldsAnOrdinaryLaunchUntilItIsObserved) {
  device.launch(twice, over(kCount), x, y, kCount);
  EXPECT_EQ(launches(), 0U);
  EXPECT_EQ(fake.window().stats().held, 1U);
  EXPECT_EQ(y[kCount - 1], 6.0f);
  EXPECT_EQ(launches(), 1U);
  EXPECT_EQ(fake.window().stats().held, 0U);
}

TEST_F(W01Held, W1_RunsAtOnceWithTheWindowOff) {
  fake.window().set_enabled(false);
  device.launch(twice, over(kCount), x, y, kCount);
  EXPECT_EQ(launches(), 1U);
  EXPECT_EQ(y[0], 6.0f);
}

TEST(W02Defaults, W2_HoldsOnExactlyTheBackendsOfTheRule) {
  FakeRuntime fake;
  for (const char* name : {"HIP", "OpenCL", "Vulkan", "Metal", "CUDA/PTX", "CUDA/C", "LevelZero"}) {
    EXPECT_TRUE(fake.window().defers(name)) << name;
    EXPECT_TRUE(fake.window().epilogue_on(name)) << name;
  }
  for (const char* name : {"WebGPU", "Native", "Interpreter"}) {
    EXPECT_FALSE(fake.window().defers(name)) << name;
  }
}

class CpuDevice : public ::testing::Test {
 protected:
  FakeRuntime fake{
      FakeOptions{.backend = "OpenCL", .adjust = [](DeviceProperties& d) { d.is_cpu = true; }}};
  Device device = fake.device();
  Floats twice = scaled("twice", 2.0f);
  Vector<float> x{std::vector<float>(10, 3.0f)};
  Vector<float> y = Vector<float>(10);
};

TEST_F(CpuDevice, W3_IsNotDeferredThoughItsBackendIs) {
  EXPECT_TRUE(fake.window().defers("OpenCL"));
  fake.window().keep_decisions(1);
  device.launch(twice, over(10), x, y, 10);
  EXPECT_EQ(fake.control->count(Driver::launch), 1U);
  EXPECT_EQ(fake.window().decisions().at(0).reason, Reason::cpu_device);
}

TEST_F(CpuDevice, W3_IsDeferredByOptIn) {
  fake.window().set_cpu_devices(true);
  device.launch(twice, over(10), x, y, 10);
  EXPECT_EQ(fake.control->count(Driver::launch), 0U);
  EXPECT_EQ(y[9], 6.0f);
  EXPECT_EQ(fake.control->count(Driver::launch), 1U);
}

TEST(W04Direct, W4_NativeAndInterpreterExecuteDirectly) {
  for (const char* name : {"Native", "Interpreter"}) {
    FakeRuntime fake{FakeOptions{.backend = name, .jit = false}};
    fake.window().set_cpu_devices(true);
    fake.window().set_backend_enabled(name, true);
    Vector<float> x{std::vector<float>(10, 3.0f)}, y(10);
    fake.window().keep_decisions(1);
    fake.device().launch(scaled("twice", 2.0f), over(10), x, y, 10);
    EXPECT_EQ(fake.control->count(Driver::launch), 1U) << name;
    EXPECT_EQ(fake.window().decisions().at(0).reason, Reason::direct_backend) << name;
    EXPECT_FALSE(fake.window().defers(name)) << name;
  }
}

TEST(W05WebGpu, W5_IsHeldOnlyByOptIn) {
  FakeRuntime fake{FakeOptions{.backend = "WebGPU"}};
  Vector<float> x{std::vector<float>(10, 3.0f)}, y(10);
  const auto twice = scaled("twice", 2.0f);
  fake.device().launch(twice, over(10), x, y, 10);
  EXPECT_EQ(fake.control->count(Driver::launch), 1U);
  fake.window().set_backend_enabled("WebGPU", true);
  EXPECT_TRUE(fake.window().defers("WebGPU"));
  fake.device().launch(twice, over(10), x, y, 10);
  EXPECT_EQ(fake.control->count(Driver::launch), 1U);
}

TEST(W06Switches, W6_OneBackendsSwitchLeavesTheOthersAlone) {
  FakeRuntime fake;
  fake.window().set_backend_enabled("CUDA/PTX", false);
  EXPECT_FALSE(fake.window().defers("CUDA/PTX"));
  for (const char* name : {"CUDA/C", "HIP", "OpenCL", "Vulkan", "Metal", "LevelZero"}) {
    EXPECT_TRUE(fake.window().defers(name)) << name;
  }
}

TEST(W06Switches, W6_OffOnOneBackendStillHoldsOnAnother) {
  std::vector<FakeOptions> both(2);
  both[0].backend = "CUDA/PTX";
  both[1].backend = "CUDA/C";
  FakeRuntime fake{std::move(both)};
  fake.window().set_backend_enabled("CUDA/PTX", false);
  Vector<float> x{std::vector<float>(10, 3.0f)}, y(10), v{std::vector<float>(10, 3.0f)}, w(10);
  const auto twice = scaled("twice", 2.0f);
  fake.device(1).launch(twice, over(10), v, w, 10);
  EXPECT_EQ(fake.device(1).backend(), "CUDA/C");
  EXPECT_EQ(fake.control->count(Driver::launch), 0U);
  // W7: the launch that is not held issues what is, then runs.
  fake.device(0).launch(twice, over(10), x, y, 10);
  const auto calls = fake.control->calls();
  std::vector<std::uint32_t> devices;
  for (const auto& call : calls) {
    if (call.what == Driver::launch) devices.push_back(call.device);
  }
  EXPECT_EQ(devices.size(), 2U);
}

TEST_F(W01Held, W7_ALaunchThatIsNotHeldIssuesTheHeldOnesFirst) {
  const auto reads = kernel("reads", [](Span<float> from, Span<float> to, Int n) {
    auto i = global_thread_id();
    if_(i < n, [&] { to[i] = from[i]; });
  });
  device.launch(twice, over(kCount), x, y, kCount);
  fake.window().set_enabled(false);
  EXPECT_EQ(fake.control->launched(), std::vector<std::string>({"twice"}));
  device.launch(reads, over(kCount), y, z, kCount);
  EXPECT_EQ(fake.control->launched(), std::vector<std::string>({"twice", "reads"}));
  EXPECT_EQ(z[5], 6.0f);
}

}  // namespace salvo::tests
