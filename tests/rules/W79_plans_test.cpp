// W79, W80: plans replay only what they were made for; spans that overlap a written one are told.
// SPDX-License-Identifier: MIT
#include "rules/window_fixture.hpp"

namespace salvo::tests {
namespace {

class W79Plans : public WindowRules {
 protected:
  /// Two independent launches, issued; a plan found again is a hit.
  void launch_pair(const VectorView<float>& from, const VectorView<float>& one,
                   const VectorView<float>& other, int count = kCount) {
    device.launch(twice, over(count), from, one, count);
    device.launch(negate, over(count), from, other, count);
    fake.window().flush();
  }
  WindowStats since_reset() {
    const WindowStats stats = fake.window().stats();
    fake.window().reset_stats();
    fake.control->clear();
    return stats;
  }
};

TEST_F(W79Plans, W79_ARepeatedWindowReplaysItsPlan) {
  launch_pair(x, y, z);
  EXPECT_EQ(since_reset().fused_cache_misses, 1U);
  for (int round = 0; round < 3; ++round) launch_pair(x, y, z);
  const WindowStats stats = since_reset();
  EXPECT_EQ(stats.fused_cache_hits, 3U);
  EXPECT_EQ(stats.fused_cache_misses, 0U);
  EXPECT_EQ(stats.fused_groups, 3U);
}

TEST_F(W79Plans, W79_SwappingVectorsBetweenRoundsIsSeen) {
  fake.window().set_epilogue_enabled(false);
  Vector<float> a{std::vector<float>(kCount, 3.0f)}, b{std::vector<float>(kCount, 5.0f)};
  launch_pair(a, y, z);
  EXPECT_EQ(y[0], 6.0f);
  // The same kernels in the same order, and now the second reads what the first writes.
  device.launch(twice, over(kCount), a, b, kCount);
  device.launch(negate, over(kCount), b, a, kCount);
  fake.window().flush();
  EXPECT_EQ(b[kCount - 1], 6.0f);
  EXPECT_EQ(a[kCount - 1], -6.0f);
  // And back.
  device.launch(twice, over(kCount), b, a, kCount);
  device.launch(negate, over(kCount), a, b, kCount);
  fake.window().flush();
  EXPECT_EQ(a[0], 12.0f);
  EXPECT_EQ(b[0], -12.0f);
}

TEST_F(W79Plans, W79_OtherSizesAreBoundAnew) {
  launch_pair(x, y, z);
  Vector<float> small{std::vector<float>(10, 1.0f)}, one(10), other(10);
  launch_pair(small, one, other, 10);
  EXPECT_EQ(values(one), std::vector<float>(10, 2.0f));
  EXPECT_EQ(values(other), std::vector<float>(10, -1.0f));
  launch_pair(x, y, z);
  EXPECT_EQ(y[kCount - 1], 6.0f);
  EXPECT_EQ(since_reset().fused_groups, 3U);
}

TEST_F(W79Plans, W79_SwitchesAndLimitsArePartOfIt) {
  launch_pair(x, y, z);
  since_reset();
  fake.window().set_limits(8, 1);
  launch_pair(x, y, z);
  EXPECT_EQ(since_reset().issued, 2U);
  fake.window().set_limits(8, 8);
  fake.window().set_enabled(false);
  launch_pair(x, y, z);
  EXPECT_EQ(since_reset().issued, 2U);
  fake.window().set_enabled(true);
  launch_pair(x, y, z);
  EXPECT_EQ(since_reset().issued, 1U);
  EXPECT_EQ(z[0], -3.0f);
}

TEST_F(W79Plans, W79_AnOverlapThatAppearsIsPartOfIt) {
  // In the second round one member writes a part of what it reads elsewhere.
  Vector<float> buffer{std::vector<float>(2 * kCount, 3.0f)};
  launch_pair(x, y, z);
  since_reset();
  device.launch(twice, over(kCount), buffer.view(0, kCount), buffer.view(kCount, kCount), kCount);
  device.launch(negate, over(kCount), x, z, kCount);
  fake.window().flush();
  EXPECT_EQ(buffer[kCount], 6.0f);
  EXPECT_EQ(since_reset().fused_groups, 1U);
  device.launch(scaled("halve", 0.5f), over(1), buffer.view(4, 2), buffer.view(5, 2), 1);
  EXPECT_EQ(buffer[5], 1.5f);
}

class W80Aliases : public ::testing::Test {
 protected:
  static constexpr int kCount = 100;
  static FakeOptions noting() {
    FakeOptions options;
    options.notes_aliases = true;
    return options;
  }
  /// Whether each build since the last call was told that spans may overlap.
  std::vector<bool> builds() {
    std::vector<bool> told;
    for (const DriverCall& call : fake.control->calls()) {
      if (call.what == Driver::build) {
        told.push_back(call.code.find("spans may overlap") != std::string::npos);
      }
    }
    fake.control->clear();
    return told;
  }

  FakeRuntime fake{noting()};
  Device device = fake.device();
  Floats twice = scaled("twice", 2.0f), negate = scaled("negate", -1.0f);
  Vector<float> all{std::vector<float>(2 * kCount, 3.0f)};
};

TEST_F(W80Aliases, W80_OnlyALaunchWhoseSpansOverlapAWrittenOneIsCompiledForIt) {
  fake.window().set_enabled(false);
  device.launch(twice, over(kCount), all.view(0, kCount), all.view(kCount, kCount), kCount);
  EXPECT_EQ(builds(), std::vector<bool>({false}));  // of one allocation, and apart
  device.launch(twice, over(1), all.view(0, 2), all.view(1, 2), 1);
  EXPECT_EQ(builds(), std::vector<bool>({true}));
  device.launch(twice, over(1), all.view(0, 2), all.view(0, 2), 1);
  device.launch(twice, over(kCount), all.view(0, kCount), all.view(kCount, kCount), kCount);
  EXPECT_EQ(builds(), std::vector<bool>());  // both forms are kept
  EXPECT_EQ(all[1], 6.0f);
}

TEST_F(W80Aliases, W80_SpansThatAreOnlyReadMayOverlap) {
  fake.window().set_enabled(false);
  const auto sum = kernel("sum", [](Span<float> a, Span<float> b, Span<float> to) {
    const auto i = global_thread_id();
    to[i] = a[i] + b[i];
  });
  const Vector<float> to(std::size_t{4});
  device.launch(sum, grid(1).block(4), all.view(0, 4), all.view(1, 4), to);
  EXPECT_EQ(builds(), std::vector<bool>({false}));
  EXPECT_EQ(to[0], 6.0f);
}

TEST_F(W80Aliases, W80_AFusedKernelIsToldIfAMemberIs) {
  const Vector<float> x(kCount), y(kCount);
  device.launch(twice, over(1), all.view(0, 2), all.view(1, 2), 1);
  device.launch(negate, over(1), x, y, 1);
  fake.window().flush();
  EXPECT_EQ(fake.control->count(Driver::launch), 1U);
  EXPECT_EQ(builds(), std::vector<bool>({true}));
}

}  // namespace
}  // namespace salvo::tests
