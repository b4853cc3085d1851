// W65-W69: counts, switches and explanations.
// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>

#include "rules/window_fixture.hpp"

namespace salvo::tests {

using W65Seeing = WindowRules;

TEST_F(W65Seeing, W65_CountsSinceTheLastReset) {
  device.launch(twice, over(kCount), x, y, kCount);
  fake.window().flush();
  fake.window().reset_stats();
  auto stats = fake.window().stats();
  EXPECT_EQ(stats.submitted + stats.issued + stats.failed + stats.held, 0U);
  device.launch(twice, over(kCount), x, y, kCount);
  stats = fake.window().stats();
  EXPECT_EQ(stats.submitted, 1U);
  EXPECT_EQ(stats.held, 1U);
  EXPECT_EQ(stats.issued, 0U);
}

TEST_F(W65Seeing, W66_SubmittedCountsWithTheWindowOffToo) {
  fake.window().set_enabled(false);
  device.launch(twice, over(kCount), x, y, kCount);
  EXPECT_EQ(fake.window().stats().submitted, 1U);
  EXPECT_EQ(fake.window().stats().issued, 1U);
}

TEST_F(W65Seeing, W67_TheExampleGivesOneIssuedLaunchAndTwoWithTheWindowOff) {
  for (const bool on : {true, false}) {
    fake.window().set_enabled(on);
    fake.window().reset_stats();
    device.launch(twice, over(kCount), x, y, kCount);
    device.launch(negate, over(kCount), x, z, kCount);
    device.synchronize();
    const auto stats = fake.window().stats();
    EXPECT_EQ(stats.submitted, 2U);
    EXPECT_EQ(stats.issued, on ? 1U : 2U);
    EXPECT_EQ(stats.fused_groups, on ? 1U : 0U);
    EXPECT_EQ(y[0], 6.0f);
    EXPECT_EQ(z[0], -3.0f);
  }
}

TEST_F(W65Seeing, W68_OffThenOnKeepsThePerBackendChoices) {
  Window& window = fake.window();
  window.set_backend_enabled("Metal", false);
  window.set_backend_enabled("WebGPU", true);
  window.set_enabled(false);
  EXPECT_FALSE(window.defers("HIP"));
  EXPECT_FALSE(window.defers("WebGPU"));
  window.set_enabled(true);
  EXPECT_TRUE(window.defers("HIP"));
  EXPECT_TRUE(window.defers("WebGPU"));
  EXPECT_FALSE(window.defers("Metal"));
}

TEST_F(W65Seeing, W68_EpilogueIsTheEffectiveState) {
  Window& window = fake.window();
  window.set_epilogue_enabled(true);
  EXPECT_TRUE(window.epilogue_on("HIP"));
  window.set_epilogue_backend("HIP", false);
  EXPECT_FALSE(window.epilogue_on("HIP"));
  EXPECT_TRUE(window.epilogue_on("OpenCL"));
  window.set_epilogue_enabled(false);
  EXPECT_FALSE(window.epilogue_on("OpenCL"));
  window.set_epilogue_enabled(true);
  window.set_enabled(false);
  EXPECT_FALSE(window.epilogue_on("OpenCL"));
}

TEST_F(W65Seeing, W68_AKnownButAbsentBackendIsAcceptedAndAnUnknownOneListsTheKnown) {
  EXPECT_NO_THROW(fake.window().set_backend_enabled("LevelZero", false));
  try {
    fake.window().set_backend_enabled("Cuda", false);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::invalid_argument);
    EXPECT_EQ(error.message(),
              "there is no backend 'Cuda'; the backends are CUDA/PTX, CUDA/C, HIP, Metal, "
              "LevelZero, OpenCL, Vulkan, WebGPU, Native, Interpreter");
  }
  EXPECT_THROW(fake.window().defers("cuda"), Error);
}

/// Runs the example under SALVO_EXPLAIN and gives what stderr got.
std::string explained(const char* format) {
  FakeRuntime fake{FakeOptions{}, [format](const char* name) -> const char* {
                     return std::string(name) == "SALVO_EXPLAIN" ? format : nullptr;
                   }};
  Vector<float> x{std::vector<float>(10, 3.0f)}, y(10), z(10);
  const auto twice = scaled("twice", 2.0f), negate = scaled("negate", -1.0f);
  ::testing::internal::CaptureStderr();
  for (int round = 0; round < 2; ++round) {
    fake.device().launch(twice, over(10), x, y, 10);
    fake.device().launch(negate, over(10), x, z, 10);
    fake.window().flush();
  }
  fake.window().set_enabled(false);
  fake.device().launch(twice, over(10), x, y, 10);
  return ::testing::internal::GetCapturedStderr();
}

TEST(W69Explain, W69_PrintsEachDecisionOnceAsALine) {
  EXPECT_EQ(explained("1"),
            "salvo-explain twice HIP:0 window applied exact\n"
            "salvo-explain negate HIP:0 window applied exact\n"
            "salvo-explain twice+negate HIP:0 horizontal applied exact\n"
            "salvo-explain twice HIP:0 window refused the window is off\n");
}

TEST(W69Explain, W69_PrintsTheSameAsJsonLines) {
  const std::string lines = explained("json");
  EXPECT_THAT(lines, ::testing::ContainsRegex(
                         R"(\{"applied":false,"detail":"","device":"HIP:0","kernels":"twice",)"
                         R"("kind":"window","launch":"[^"]*W65_seeing_test.cpp:[0-9]+",)"
                         R"("reason":"window_off","words":"the window is off"\})"));
}

TEST_F(W65Seeing, W69_DecisionsSayWhichLaunchesTheyAreAbout) {
  fake.window().keep_decisions(10);
  const unsigned first = __LINE__ + 1;
  device.launch(twice, over(kCount), x, y, kCount);
  device.launch(negate, over(kCount), x, z, kCount);
  const auto decisions = fake.window().decisions();
  ASSERT_EQ(decisions.size(), 3U);
  EXPECT_EQ(decisions[0].launch.line, first);
  EXPECT_FALSE(decisions[0].earlier.known());
  EXPECT_EQ(decisions[2].launch.line, first + 1);
  EXPECT_EQ(decisions[2].earlier.line, first);
  EXPECT_THAT(decisions[2].launch.file, ::testing::EndsWith("W65_seeing_test.cpp"));
}

TEST(W68Environment, W68_TheWindowAndEpiloguesMayStartTurnedOff) {
  const auto with = [](const char* variable) {
    return [variable](const char* name) -> const char* {
      return std::string(name) == variable ? "0" : nullptr;
    };
  };
  FakeRuntime off{FakeOptions{}, with("SALVO_WINDOW")};
  EXPECT_FALSE(off.window().defers("HIP"));
  off.window().set_enabled(true);
  EXPECT_TRUE(off.window().defers("HIP"));
  FakeRuntime apart{FakeOptions{}, with("SALVO_EPILOGUE")};
  EXPECT_TRUE(apart.window().defers("HIP"));
  EXPECT_FALSE(apart.window().epilogue_on("HIP"));
}

TEST(W69Explain, W69_IsSilentByDefault) {
  EXPECT_EQ(explained(nullptr), "");
}

TEST_F(W65Seeing, W69_GivesTheSameAsData) {
  fake.window().keep_decisions(10);
  device.launch(twice, over(kCount), x, y, kCount);
  device.launch(negate, over(kCount), x, z, kCount);
  const auto decisions = fake.window().decisions();
  ASSERT_EQ(decisions.size(), 3U);
  EXPECT_EQ(decisions[2].kind, Decision::Kind::horizontal);
  EXPECT_TRUE(decisions[2].applied);
  EXPECT_EQ(decisions[2].kernels, "twice+negate");
  EXPECT_EQ(decisions[2].device, "HIP:0");
}

TEST(R12Environment, R12_ABadValueIsAnErrorThatListsTheGoodOnes) {
  try {
    FakeRuntime fake{FakeOptions{}, [](const char* name) -> const char* {
                       return std::string(name) == "SALVO_EXPLAIN" ? "loud" : nullptr;
                     }};
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::bad_environment);
    EXPECT_EQ(error.message(), "SALVO_EXPLAIN=loud is not understood; good values: 0, 1, json");
  }
}

}  // namespace salvo::tests
