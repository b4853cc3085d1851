// W16-W25: what issues held launches, and what does not.
// SPDX-License-Identifier: MIT
#include "rules/window_fixture.hpp"

namespace salvo::tests {

using W16Flush = WindowRules;

TEST_F(W16Flush, W16_EveryReadBackOfADeviceNewerVectorIssues) {
  const std::vector<std::pair<const char*, std::function<float(Vector<float>&)>>> roads{
      {"operator[]", [](auto& v) { return float(v[1]); }},
      {"read", [](auto& v) { return v.read()[1]; }},
      {"iteration", [](auto& v) { return *(v.begin() + 1); }},
      {"span", [](auto& v) { return std::span<const float>(v)[1]; }},
      {"clone", [](auto& v) { return float(v.clone()[1]); }},
      {"write", [](auto& v) { return v.write()[1]; }},
  };
  for (const auto& [name, read] : roads) {
    fake.control->clear();
    device.launch(twice, over(kCount), x, y, kCount);
    EXPECT_EQ(launches(), 0U) << name;
    EXPECT_EQ(read(y), 6.0f) << name;
    EXPECT_EQ(launches(), 1U) << name;
  }
}

TEST_F(W16Flush, W16_ReadingAVectorWhoseHostCopyIsCurrentIssuesNothing) {
  device.launch(twice, over(kCount), x, y, kCount);
  EXPECT_EQ(values(x)[7], 3.0f);
  EXPECT_EQ(z[0], 0.0f);
  EXPECT_EQ(launches(), 0U);
}

TEST_F(W16Flush, W17_UploadingAVectorThatAHeldLaunchUsesIssuesBeforeTheUpload) {
  device.launch(twice, over(kCount), x, y, kCount);
  x[0] = 50.0f;
  fake.control->clear();
  device.launch(negate, over(kCount), x, z, kCount);  // x must be uploaded again
  const auto calls = fake.control->calls();
  std::vector<Driver> order;
  for (const auto& call : calls) {
    if (call.what == Driver::launch || call.what == Driver::write) order.push_back(call.what);
  }
  ASSERT_GE(order.size(), 2U);
  EXPECT_EQ(order[0], Driver::launch);  // twice saw the old x
  EXPECT_EQ(order[1], Driver::write);
  EXPECT_EQ(y[0], 6.0f);
  EXPECT_EQ(z[0], -50.0f);
}

TEST_F(W16Flush, W17_UploadingAnUnrelatedVectorLeavesTheLaunchesHeld) {
  device.launch(twice, over(kCount), x, y, kCount);
  Vector<float> u{std::vector<float>(kCount, 1.0f)};
  device.launch(negate, over(kCount), u, z, kCount);
  EXPECT_EQ(launches(), 0U);
  EXPECT_EQ(fake.window().stats().held, 2U);
}

TEST_F(W16Flush, W18_SynchronizeIssuesThatDevicesLaunches) {
  device.launch(twice, over(kCount), x, y, kCount);
  device.synchronize();
  EXPECT_EQ(launches(), 1U);
  EXPECT_EQ(fake.control->count(Driver::finish), 1U);
}

TEST(W18TwoDevices, W18_SynchronizeLeavesOtherDevicesLaunchesHeld) {
  FakeRuntime fake{FakeOptions{.devices = 2}};
  Vector<float> x{std::vector<float>(10, 3.0f)}, y(10), v{std::vector<float>(10, 4.0f)}, w(10);
  const auto twice = scaled("twice", 2.0f);
  fake.device(0).launch(twice, over(10), x, y, 10);
  fake.device(1).launch(twice, over(10), v, w, 10);
  fake.device(0).synchronize();
  EXPECT_EQ(fake.control->count(Driver::launch), 1U);
  EXPECT_EQ(fake.window().stats().held, 1U);
}

TEST(W18TwoDevices, W16_UsingAVectorOnAnotherDeviceIssuesFirst) {
  FakeRuntime fake{FakeOptions{.devices = 2}};
  Vector<float> x{std::vector<float>(10, 3.0f)}, y(10), z(10);
  const auto twice = scaled("twice", 2.0f);
  fake.device(0).launch(twice, over(10), x, y, 10);
  fake.device(1).launch(twice, over(10), y, z, 10);
  EXPECT_EQ(fake.control->count(Driver::launch), 1U);
  EXPECT_EQ(z[3], 12.0f);
  EXPECT_EQ(y[3], 6.0f);
}

TEST_F(W16Flush, W22_FlushIssuesAndSubmitsButNeverWaits) {
  device.launch(twice, over(kCount), x, y, kCount);
  fake.window().flush();
  EXPECT_EQ(launches(), 1U);
  EXPECT_EQ(fake.control->count(Driver::submit), 1U);
  EXPECT_EQ(fake.control->count(Driver::finish), 0U);
  EXPECT_EQ(fake.control->count(Driver::read), 0U);
}

TEST_F(W16Flush, W22_WithNothingHeldItDoesNothing) {
  fake.window().flush();
  EXPECT_TRUE(fake.control->calls().empty());
}

TEST_F(W16Flush, W23_EverySetterIssuesFirst) {
  Window& window = fake.window();
  const std::vector<std::pair<const char*, std::function<void()>>> setters{
      {"set_enabled", [&] { window.set_enabled(true); }},
      {"set_backend_enabled", [&] { window.set_backend_enabled("Vulkan", true); }},
      {"set_cpu_devices", [&] { window.set_cpu_devices(false); }},
      {"set_epilogue_enabled", [&] { window.set_epilogue_enabled(true); }},
      {"set_epilogue_backend", [&] { window.set_epilogue_backend("HIP", true); }},
      {"set_planner", [&] { window.set_planner(Planner::always); }},
      {"set_limits", [&] { window.set_limits(8, 8); }},
      {"clear_fused_cache", [&] { window.clear_fused_cache(); }},
  };
  for (const auto& [name, set] : setters) {
    fake.control->clear();
    device.launch(twice, over(kCount), x, y, kCount);
    EXPECT_EQ(launches(), 0U) << name;
    set();
    EXPECT_EQ(launches(), 1U) << name;
  }
}

TEST_F(W16Flush, W23_ASetterWhoseFlushFailsMakesTheChangeAndThrows) {
  device.launch(twice, over(kCount), x, y, kCount);
  fake.control->fail(Driver::launch);
  EXPECT_THROW(fake.window().set_enabled(false), Error);
  EXPECT_FALSE(fake.window().defers("HIP"));
}

TEST_F(W16Flush, W21_DestroyingARuntimeIssuesWhatIsHeld) {
  auto control = std::make_shared<FakeControl>();
  {
    RuntimeOptions options;
    options.built_in_backends = false;
    options.environment = [](const char*) { return nullptr; };
    options.own.list.push_back(make_fake_backend(control));
    Runtime runtime(std::move(options));
    runtime.devices().at(0).launch(twice, over(kCount), x, y, kCount);
    EXPECT_EQ(control->count(Driver::launch), 0U);
  }
  EXPECT_EQ(control->count(Driver::launch), 1U);
  EXPECT_EQ(y[0], 6.0f);
}

}  // namespace salvo::tests
