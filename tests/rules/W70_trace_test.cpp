// W70: the timeline that SALVO_TRACE writes, read back as the JSON it must be.
// SPDX-License-Identifier: MIT
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "rules/window_fixture.hpp"
#include "runtime/device_state.hpp"
#include "temporary_folder.hpp"

namespace salvo::tests {
namespace {

class W70Trace : public ::testing::Test {
 protected:
  static constexpr int kCount = 1000;

  std::string path() const { return folder.string() + "/trace.json"; }
  FakeRuntime& traced() {
    return fake.emplace(FakeOptions{}, [this](const char* name) -> const char* {
      return std::strcmp(name, "SALVO_TRACE") == 0 ? file.c_str() : nullptr;
    });
  }
  /// Ends the runtime and reads what it wrote.
  nlohmann::json events() {
    fake.reset();
    std::ifstream in(path());
    return nlohmann::json::parse(in);
  }
  static std::vector<nlohmann::json> named(const nlohmann::json& all, const std::string& name) {
    std::vector<nlohmann::json> found;
    for (const auto& event : all) {
      if (event.at("name") == name) found.push_back(event);
    }
    return found;
  }

  TemporaryFolder folder;
  std::string file = path();
  std::optional<FakeRuntime> fake;
  Floats twice = scaled("twice", 2.0f), negate = scaled("negate", -1.0f);
};

TEST_F(W70Trace, W70_ShowsWhereTheTimeOfALaunchGoes) {
  FakeRuntime& run = traced();
  const Device device = run.device();
  {
    Vector<float> x{std::vector<float>(kCount, 3.0f)}, y(kCount), z(kCount);
    device.launch(twice, over(kCount), x, y, kCount);
    device.launch(negate, over(kCount), x, z, kCount);
    EXPECT_EQ(y[0], 6.0f);
    run.window().flush();
  }
  const nlohmann::json all = events();
  ASSERT_TRUE(all.is_array());
  const auto submits = named(all, "submit");
  ASSERT_EQ(submits.size(), 2U);
  EXPECT_EQ(submits[0]["args"]["kernel"], "twice");
  EXPECT_EQ(submits[1]["args"]["kernel"], "negate");
  EXPECT_EQ(named(all, "hold").size(), 2U);
  ASSERT_EQ(named(all, "join").size(), 1U);
  EXPECT_EQ(named(all, "join")[0]["args"]["kernel"], "twice+negate");
  EXPECT_EQ(named(all, "fuse").size(), 1U);
  ASSERT_EQ(named(all, "compile").size(), 1U);
  EXPECT_EQ(named(all, "compile")[0]["args"]["kernel"].get<std::string>().substr(0, 6), "fused_");
  EXPECT_EQ(named(all, "issue").size(), 1U);
  EXPECT_EQ(named(all, "flush").size(), 1U);
  ASSERT_EQ(named(all, "launch").size(), 1U);
  EXPECT_EQ(named(all, "launch")[0]["args"]["device"], "HIP:0");
  EXPECT_EQ(named(all, "launch")[0]["args"]["stream"], 0);
  // Three uploads and a read-back.
  ASSERT_EQ(named(all, "write").size(), 3U);
  EXPECT_EQ(named(all, "write")[0]["args"]["bytes"], kCount * sizeof(float));
  ASSERT_EQ(named(all, "read").size(), 1U);
  EXPECT_EQ(named(all, "read")[0]["args"]["stream"], 0);
}

TEST_F(W70Trace, W70_DeviceTimesStandInTheDevicesOwnProcessByStream) {
  FakeRuntime& run = traced();
  {
    const Device device = run.device();
    const Stream stream(device);
    Vector<float> x{std::vector<float>(kCount, 3.0f)}, y(kCount);
    device.launch(twice, over(kCount), x, y, kCount);
    run.window().flush();
    stream.launch(negate, over(kCount), x, y, kCount);
    stream.synchronize();
  }
  const nlohmann::json all = events();
  const auto runs = named(all, "run");
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[0]["args"]["kernel"], "twice");
  EXPECT_EQ(runs[0]["tid"], 0);
  EXPECT_NEAR(runs[0]["dur"].get<double>(), 1000.0,
              1e-3);  // the fake clock counts a millisecond a launch
  EXPECT_EQ(runs[1]["args"]["kernel"], "negate");
  EXPECT_EQ(runs[1]["tid"], 1);
  EXPECT_NEAR(runs[1]["ts"].get<double>() - runs[0]["ts"].get<double>(), 1000.0, 1e-3);
  const auto processes = named(all, "process_name");
  ASSERT_EQ(processes.size(), 2U);
  EXPECT_EQ(processes[0]["args"]["name"], "host");
  EXPECT_EQ(processes[1]["args"]["name"], "HIP:0");
  EXPECT_EQ(processes[1]["pid"], runs[0]["pid"]);
}

TEST_F(W70Trace, W70_EveryEventHasWhatAViewerNeeds) {
  FakeRuntime& run = traced();
  {
    Vector<float> x(kCount), y(kCount);
    run.device().launch(twice, over(kCount), x, y, kCount);
    run.device().synchronize();
  }
  for (const auto& event : events()) {
    EXPECT_TRUE(event.at("name").is_string()) << event;
    EXPECT_TRUE(event.at("pid").is_number()) << event;
    const std::string phase = event.at("ph");
    if (phase == "M") continue;
    EXPECT_TRUE(event.at("tid").is_number()) << event;
    EXPECT_GE(event.at("ts").get<double>(), 0.0) << event;
    if (phase == "X") {
      EXPECT_GE(event.at("dur").get<double>(), 0.0) << event;
    }
  }
}

TEST_F(W70Trace, W70_RefusalsCarryTheReason) {
  FakeRuntime& run = traced();
  {
    Vector<float> x(kCount), y(kCount);
    const window::Pause pause;
    run.device().launch(twice, over(kCount), x, y, kCount);
  }
  const auto refused = named(events(), "not held");
  ASSERT_EQ(refused.size(), 1U);
  EXPECT_EQ(refused[0]["args"]["words"], "paused");
}

TEST_F(W70Trace, W70_AFileThatCannotBeMadeIsAnError) {
  file = folder.string() + "/none/trace.json";
  try {
    traced();
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::io);
    EXPECT_NE(error.message().find("SALVO_TRACE=" + file), std::string::npos);
  }
}

TEST(W70NoTrace, W70_WithoutTheVariableDriversAreCalledDirectly) {
  FakeRuntime fake;
  EXPECT_EQ(&fake.device().state()->driver(), &fake.device().state()->unwatched_driver());
  EXPECT_EQ(fake.device().state()->trace(), nullptr);
}

}  // namespace
}  // namespace salvo::tests
