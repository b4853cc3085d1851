// W36, W48, W52, W53 and W55 on the Metal backend, through its stand-in.
// SPDX-License-Identifier: MIT
#include <string>
#include <type_traits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/epilogue_fixture.hpp"

namespace salvo::tests {
namespace {

constexpr int kCount = 1000;
constexpr const char* kDevice = "Metal:0";

class Metal : public testing::Test {
 protected:
  void SetUp() override {
    for (const Device& device : Device::all()) found_ |= device.id() == kDevice;
    if (!found_) GTEST_SKIP() << "the stand-in is not in LD_LIBRARY_PATH";
    subject() = kDevice;
    window().set_enabled(true);
    window().set_planner(Planner::always);
    window().set_limits(64, 64);
    window().reset_stats();
  }
  void TearDown() override {
    subject() = kRecording;
    window().set_limits(8, 8);
  }
  static Window& window() { return window::current(); }
  static Device device() { return Device::get(kDevice); }

 private:
  bool found_ = false;
};
/// With options that keep floating point exact.
class MetalSlots : public Metal {};
class MetalContraction : public Metal {};
/// On a system whose compiler takes no such options.
class MetalWithoutOptions : public Metal {
 protected:
  /// Notes what is said while the devices are opened, which the process does once.
  void SetUp() override {
    set_log_sink([this](LogLevel level, std::string_view message) {
      if (level == LogLevel::warning) warnings_.emplace_back(message);
    });
    Metal::SetUp();
    set_log_sink({});
  }
  std::vector<std::string> warnings_;
};
/// On a device that contracts whatever it is told.
class MetalThatContracts : public Metal {};

TEST_F(MetalSlots, W36_AGroupOverTheSlotsIsSplitIntoSeveralFusedGroups) {
  // Two vectors and a scalar take five slots, a member two more: four members in 31.
  std::vector<Floats> kernels;
  for (int k = 0; k < 10; ++k)
    kernels.push_back(times("slots" + std::to_string(k), 1.5f + static_cast<float>(k)));
  Vector<float> x{std::span<const float>(telling_values(kCount))};
  std::vector<Vector<float>> fused, apart;
  for (auto* results : {&apart, &fused}) {
    window().set_enabled(results == &fused);
    window().reset_stats();
    for (int k = 0; k < 10; ++k) {
      results->emplace_back(static_cast<std::size_t>(kCount));
      device().launch(kernels[static_cast<std::size_t>(k)], over(kCount), x, results->back(),
                      kCount);
    }
    window().flush();
  }
  EXPECT_EQ(window().stats().issued, 3U) << "4 + 4 + 2";
  EXPECT_EQ(window().stats().fused_groups, 3U);
  EXPECT_EQ(window().stats().fallbacks, 0U);
  for (std::size_t k = 0; k < fused.size(); ++k) EXPECT_EQ(bytes_of(fused[k]), bytes_of(apart[k]));
}

TEST_F(MetalSlots, W36_OneKernelOverTheSlotsIsRefusedAtTheCall) {
  const auto wide = []<class... Tail>(std::type_identity<Tail>...) {
    return kernel("wide", [](Span<float> a, Span<float> b, Span<float> c, Span<float> d,
                             Span<float> e, Span<float> f, Span<float> g, Span<float> h,
                             Span<float> i, Span<float> j, Span<float> k, Span<float> l,
                             Span<float> m, Span<float> n, Span<float> o, Tail... rest) {
      const auto at = global_thread_id();
      a[at] = b[at] + c[at] + d[at] + e[at] + f[at] + g[at] + h[at] + i[at] + j[at] + k[at] +
              l[at] + m[at] + n[at] + o[at];
      ((a[at] = a[at] + cast<float>(rest)), ...);
    });
  };
  const std::type_identity<Int> one;
  const auto fits = wide(one);
  std::vector<Vector<float>> v;
  for (int k = 0; k < 15; ++k) v.emplace_back(std::size_t{64}, 1.0f);
  device().launch(fits, grid(1).block(64), v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8],
                  v[9], v[10], v[11], v[12], v[13], v[14], 7);
  EXPECT_EQ(v[0][63], 21.0f);
  try {
    device().launch(wide(one, one), grid(1).block(64), v[0], v[1], v[2], v[3], v[4], v[5], v[6],
                    v[7], v[8], v[9], v[10], v[11], v[12], v[13], v[14], 7, 8);
    FAIL() << "32 slots were accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::unsupported);
    EXPECT_EQ(error.kernel(), "wide");
    EXPECT_EQ(error.message(), "its parameters take 32 argument slots and Metal:0 has 31");
  }
}

TEST_F(MetalSlots, W48_AChainEndsWhereTheSlotsDo) {
  const Program chain = [](const Device& on) -> Bytes {
    std::vector<Vector<float>> steps;
    steps.emplace_back(std::span<const float>(telling_values(100)));
    for (int k = 0; k < 20; ++k) {
      steps.emplace_back(100U);
      on.launch(k % 2 ? plus("step") : times("step"), over(100), steps[k], steps[k + 1], 100);
    }
    Bytes all;
    for (const auto& one : steps) all.push_back(bytes_of(one));
    return all;
  };
  const Ran merged = run_program(chain, true);
  EXPECT_GT(merged.stats.epilogue_merges, 10U);
  EXPECT_GT(merged.launches, 1U);
  EXPECT_EQ(name(merged.epilogue_reason()), name(Reason::slot_limit));
  EXPECT_EQ(merged.stats.fallbacks, 0U);
  EXPECT_EQ(merged.outputs, run_program(chain, false).outputs);
}

Program across_the_seam(Contraction mode) {
  return [mode](const Device& on) -> Bytes {
    Vector<float> x{std::span<const float>(telling_values(kCount))};
    Vector<float> y(static_cast<std::size_t>(kCount)), z(static_cast<std::size_t>(kCount));
    on.launch(times("multiply").contraction(mode), over(kCount), x, y, kCount);
    on.launch(plus("add").contraction(mode), over(kCount), y, z, kCount);
    return {bytes_of(y), bytes_of(z)};
  };
}

TEST_F(MetalContraction, W52_NoModeNeedsAGrant) {
  for (const Contraction mode : {Contraction::fixed, Contraction::off, Contraction::device}) {
    expect_merged(across_the_seam(mode));
  }
}

TEST_F(MetalContraction, W53_TheProbeFindsTheDeviceExact) {
  const FloatProbe probe = device().float_probe();
  EXPECT_TRUE(probe.measured);
  EXPECT_EQ(probe.contracted, 0U);
  EXPECT_EQ(probe.fma_rounded_once, probe.cases);
  EXPECT_TRUE(probe.narrowing_survives);
}

TEST_F(MetalWithoutOptions, W55_AWarningIsLoggedAndEpiloguesStayOffButTheWindowIsOn) {
  EXPECT_FALSE(device().properties().exact_compiler_options);
  EXPECT_THAT(warnings_, testing::ElementsAre(testing::HasSubstr(
                             "cannot be told to leave floating point alone; epilogue fusion stays "
                             "off for Metal")));
  const Ran ran = run_program(across_the_seam(Contraction::fixed), true);
  EXPECT_EQ(ran.stats.epilogue_merges, 0U);
  EXPECT_EQ(name(ran.epilogue_reason()), name(Reason::inexact_compiler));
  window().reset_stats();
  Vector<float> x(static_cast<std::size_t>(kCount), 1.0f);
  Vector<float> y(static_cast<std::size_t>(kCount)), z(static_cast<std::size_t>(kCount));
  device().launch(times("left"), over(kCount), x, y, kCount);
  device().launch(plus("right"), over(kCount), x, z, kCount);
  window().flush();
  EXPECT_EQ(window().stats().issued, 1U);
  EXPECT_EQ(window().stats().fused_groups, 1U);
}

TEST_F(MetalThatContracts, W53_TheProbeFindsItOutAndAMergeNeedsAGrant) {
  EXPECT_GT(device().float_probe().contracted, 0U);
  const Ran ran = run_program(across_the_seam(Contraction::fixed), true);
  EXPECT_EQ(ran.stats.epilogue_merges, 0U);
  EXPECT_EQ(name(ran.epilogue_reason()), name(Reason::needs_grant));
}

}  // namespace
}  // namespace salvo::tests
