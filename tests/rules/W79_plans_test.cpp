// W79, W80: a plan is replayed only for the window it was made for, and code that may assume that
// spans are apart runs only where they are.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "rules/window_fixture.hpp"

namespace salvo::tests {
namespace {

constexpr int kCount = 256;

/// The recording device writes down how each kernel was compiled.
struct Plans : public ::testing::Test {
  FakeRuntime fake{FakeOptions{.marks_aliases = true}};
  Device device = fake.device();
  Floats twice = scaled("twice", 2.0f), thrice = scaled("thrice", 3.0f);
  Vector<float> x = Vector<float>(kCount, 1.0f);
  Vector<float> y = Vector<float>(kCount), z = Vector<float>(kCount);

  Plans() { fake.window().set_epilogue_enabled(false); }

  /// How kernels whose name contains `name` were compiled so far, in order.
  std::vector<std::string> compiled(const std::string& name) const {
    std::vector<std::string> all;
    for (const DriverCall& call : fake.control->calls()) {
      if (call.what != Driver::build || call.kernel.find(name) == std::string::npos) continue;
      all.push_back(call.code.substr(call.code.rfind(' ') + 1));
    }
    return all;
  }
  void round(const VectorView<float>& from, const VectorView<float>& first,
             const VectorView<float>& second) {
    device.launch(twice, over(kCount), from, first, kCount);
    device.launch(thrice, over(kCount), from, second, kCount);
    fake.window().flush();
  }
};
using W79Plans = Plans;
using W80Aliasing = Plans;
using Names = std::vector<std::string>;

TEST_F(W79Plans, W79_ARepeatedWindowIsReplayed) {
  for (int turn = 0; turn < 3; ++turn) round(x, y, z);
  EXPECT_EQ(fake.control->count(Driver::launch), 3U);
  EXPECT_EQ(fake.window().stats().fused_cache_misses, 1U);
  EXPECT_EQ(fake.window().stats().fused_cache_hits, 2U);
}

TEST_F(W79Plans, W79_AnotherConflictPatternIsPlannedAnew) {
  round(x, y, z);
  fake.control->clear();
  device.launch(twice, over(kCount), x, y, kCount);
  device.launch(thrice, over(kCount), y, z, kCount);  // reads what the first one writes
  EXPECT_EQ(z[0], 6.0f);
  EXPECT_EQ(fake.control->launched(), Names({"twice", "thrice"}));
}

TEST_F(W79Plans, W79_SwappedVectorsAreBoundAnew) {
  round(x, y, z);
  device.launch(thrice, over(kCount), y, x, kCount);
  fake.window().flush();
  round(y, x, z);  // x and y swapped
  EXPECT_EQ(x[0], 4.0f);
  EXPECT_EQ(y[0], 2.0f);
  EXPECT_EQ(z[0], 6.0f);
}

TEST_F(W79Plans, W79_DimsBelongToTheLaunchNotToThePlan) {
  round(x, y, z);
  device.launch(twice, over(kCount), x, y, kCount);
  device.launch(thrice, grid(1).block(64), x, z, kCount);  // other blocks: no group
  fake.window().flush();
  EXPECT_EQ(fake.control->launched().back(), "thrice");
  Vector<float> more(4 * kCount, 5.0f), a(4 * kCount), b(4 * kCount);
  device.launch(twice, over(4 * kCount), more, a, 4 * kCount);
  device.launch(thrice, over(4 * kCount), more, b, 4 * kCount);
  EXPECT_EQ(a[4 * kCount - 1], 10.0f);
  EXPECT_EQ(b[4 * kCount - 1], 15.0f);
}

TEST_F(W79Plans, W79_OverlapIsPartOfThePlan) {
  round(x, y, z);
  EXPECT_EQ(compiled("fused"), Names({"apart"}));
  // In place: what the first member reads and what it writes are one.
  device.launch(twice, over(kCount), y, y, kCount);
  device.launch(thrice, over(kCount), x, z, kCount);
  fake.window().flush();
  EXPECT_EQ(compiled("fused"), Names({"apart", "aliasing"}));
  EXPECT_EQ(y[0], 4.0f);
  round(x, y, z);
  EXPECT_EQ(compiled("fused"), Names({"apart", "aliasing"}));
}

TEST_F(W79Plans, W79_LimitsAndTheClearedCacheEndAPlan) {
  round(x, y, z);
  fake.window().set_limits(8, 1);
  fake.control->clear();
  round(x, y, z);
  EXPECT_EQ(fake.control->count(Driver::launch), 2U);
  fake.window().set_limits(8, 8);
  fake.window().clear_fused_cache();
  fake.window().reset_stats();
  round(x, y, z);
  EXPECT_EQ(fake.window().stats().fused_cache_misses, 1U);
}

TEST_F(W80Aliasing, W80_SpansThatAreApartAreCompiledSo) {
  auto low = x.view(0, 100), high = x.view(100, 100);
  device.launch(twice, over(100), low, high, 100);
  fake.window().flush();
  EXPECT_EQ(compiled("twice"), Names({"apart"}));
}

TEST_F(W80Aliasing, W80_SpansThatOverlapAWrittenOneAreCompiledSoSingleLaunchesIncluded) {
  device.launch(twice, over(kCount), x, x, kCount);
  fake.window().flush();
  EXPECT_EQ(compiled("twice"), Names({"aliasing"}));
  fake.window().set_enabled(false);
  device.launch(thrice, over(kCount), y, y, kCount);
  EXPECT_EQ(compiled("thrice"), Names({"aliasing"}));
  device.launch(thrice, over(kCount), x, y, kCount);
  EXPECT_EQ(compiled("thrice"), Names({"aliasing", "apart"}));
}

TEST_F(W80Aliasing, W80_TwoReadersOfOneVectorAreApart) {
  const auto sum = kernel("sum", [](Span<float> a, Span<float> b, Span<float> c, Int n) {
    auto i = global_thread_id();
    if_(i < n, [&] { c[i] = a[i] + b[i]; });
  });
  device.launch(sum, over(kCount), x, x, y, kCount);
  fake.window().flush();
  EXPECT_EQ(compiled("sum"), Names({"apart"}));
}

TEST_F(W80Aliasing, W80_AConsumerInPlaceAliasesInTheMergedKernel) {
  fake.window().set_epilogue_enabled(true);
  device.launch(twice, over(kCount), x, y, kCount);
  device.launch(thrice, over(kCount), y, z, kCount);
  fake.window().flush();
  // Producer and consumer both bind y.
  EXPECT_EQ(compiled("twice+thrice"), Names({"aliasing"}));
}

TEST_F(W80Aliasing, W80_AFusedKernelIsCompiledAsAliasingIfAMemberIs) {
  device.launch(twice, over(1), x.view(0, 2), x.view(1, 2), 1);
  device.launch(thrice, over(1), y, z, 1);
  fake.window().flush();
  EXPECT_EQ(fake.control->count(Driver::launch), 1U);
  EXPECT_EQ(compiled("fused"), Names({"aliasing"}));
}

}  // namespace
}  // namespace salvo::tests
