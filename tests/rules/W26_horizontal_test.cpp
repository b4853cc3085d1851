// W26-W38, W80, W82: which launches fuse side by side, and that nothing but the launch count
// changes.
// SPDX-License-Identifier: MIT
#include <cmath>
#include <limits>
#include <numeric>

#include "rules/window_fixture.hpp"

namespace salvo::tests {

class W26Horizontal : public WindowRules {
 protected:
  /// Launches `first` and `second` held together and gives the number of driver launches.
  template <class F, class G>
  std::size_t issued(F first, G second) {
    fake.control->clear();
    first();
    second();
    fake.window().flush();
    return launches();
  }
  template <class F, class G>
  Reason refusal(F first, G second) {
    fake.window().keep_decisions(8);
    EXPECT_EQ(issued(first, second), 2U);
    for (const auto& decision : fake.window().decisions()) {
      if (decision.kind == Decision::Kind::horizontal) return decision.reason;
    }
    return Reason::none;
  }
  auto launch_twice() {
    return [&] { device.launch(twice, over(kCount), x, y, kCount); };
  }
};

TEST_F(W26Horizontal, W26_GridXMayDiffer) {
  EXPECT_EQ(issued([&] { device.launch(twice, over(10), x, y, 10); },
                   [&] { device.launch(negate, over(kCount), x, z, kCount); }),
            1U);
  EXPECT_EQ(y[9], 6.0f);
  EXPECT_EQ(y[10], 0.0f);
  EXPECT_EQ(z[kCount - 1], -3.0f);
}

TEST_F(W26Horizontal, W26_BlockMustAgree) {
  EXPECT_EQ(refusal([&] { device.launch(twice, grid(8).block(128), x, y, kCount); },
                    [&] { device.launch(negate, grid(16).block(64), x, z, kCount); }),
            Reason::block_differs);
}

TEST_F(W26Horizontal, W26_GridYAndZMustAgree) {
  EXPECT_EQ(refusal([&] { device.launch(twice, grid(4, 1).block(256), x, y, kCount); },
                    [&] { device.launch(negate, grid(4, 2).block(256), x, z, 0); }),
            Reason::grid_differs);
  EXPECT_EQ(refusal([&] { device.launch(twice, grid(4, 1, 1).block(256), x, y, kCount); },
                    [&] { device.launch(negate, grid(4, 1, 2).block(256), x, z, 0); }),
            Reason::grid_differs);
}

TEST_F(W26Horizontal, W26_DynamicSharedMemoryExcludes) {
  const auto dynamic = kernel("dynamic", [](Span<float> from, Span<float> to, Int n) {
    DynamicShared<float> tile;
    auto i = global_thread_id();
    if_(i < n, [&] { tile[thread_idx_x()] = from[i]; });
    barrier();
    if_(i < n, [&] { to[i] = tile[thread_idx_x()]; });
  });
  EXPECT_EQ(
      refusal(launch_twice(),
              [&] { device.launch(dynamic, over(kCount).block(256).shared(1024), x, z, kCount); }),
      Reason::shared_size);
  EXPECT_EQ(z[999], 3.0f);
}

TEST_F(W26Horizontal, W27_DependentLaunchesDoNotFuse) {
  EXPECT_EQ(refusal(launch_twice(), [&] { device.launch(negate, over(kCount), y, z, kCount); }),
            Reason::dependency);
  EXPECT_EQ(z[0], -6.0f);
}

TEST_F(W26Horizontal, W28_ACapturedValueIsAConstantAndALiveOneExcludes) {
  float factor = 2.0f;
  const auto live_scaled =
      kernel("live_scaled", [&factor](Span<float> from, Span<float> to, Int n) {
        auto i = global_thread_id();
        Float now = live(factor);
        if_(i < n, [&] { to[i] = from[i] * now; });
      });
  EXPECT_EQ(
      refusal(launch_twice(), [&] { device.launch(live_scaled, over(kCount), x, z, kCount); }),
      Reason::live_value);
  EXPECT_EQ(z[0], 6.0f);
  factor = 5.0f;
  device.launch(live_scaled, over(kCount), x, z, kCount);
  EXPECT_EQ(z[0], 15.0f);
}

TEST_F(W26Horizontal, W29_SharedArraysOfConstantSizeFuse) {
  const auto reversed = [](const std::string& name) {
    return kernel(name, [](Span<float> from, Span<float> to) {
      Shared<float> tile(256);
      auto t = thread_idx_x();
      tile[t] = from[global_thread_id()];
      barrier();
      to[global_thread_id()] = tile[255 - t];
    });
  };
  const auto first = reversed("first"), second = reversed("second");
  std::vector<float> ramp(512);
  std::iota(ramp.begin(), ramp.end(), 0.0f);
  Vector<float> from{std::span<const float>(ramp)}, a(512), b(512);
  EXPECT_EQ(issued([&] { device.launch(first, grid(2).block(256), from, a); },
                   [&] { device.launch(second, grid(2).block(256), from, b); }),
            1U);
  EXPECT_EQ(a[0], 255.0f);
  EXPECT_EQ(b[511], 256.0f);
  EXPECT_TRUE(same_bits(values(a), values(b)));
}

TEST_F(W26Horizontal, W30_ReadingGridDimXExcludes) {
  const auto strided = kernel("strided", [](Span<float> from, Span<float> to, Int n) {
    auto step = grid_dim_x() * block_dim_x();
    for_(range(global_thread_id(), n, step), [&](Int i) { to[i] = from[i]; });
  });
  EXPECT_EQ(
      refusal(launch_twice(), [&] { device.launch(strided, grid(2).block(256), x, z, kCount); }),
      Reason::reads_grid_dim);
  EXPECT_EQ(z[999], 3.0f);
}

TEST_F(W26Horizontal, W30_NoFuseExcludes) {
  const auto alone = kernel("alone", [](Span<float> from, Span<float> to, Int n) {
    no_fuse();
    auto i = global_thread_id();
    if_(i < n, [&] { to[i] = from[i]; });
  });
  EXPECT_EQ(refusal(launch_twice(), [&] { device.launch(alone, over(kCount), x, z, kCount); }),
            Reason::no_fuse);
}

/// to[i] = from[i] + 1, the 1 by way of a shared array.
template <class T>
Floats tiled(const std::string& name, int length = 256) {
  return kernel(name, [length](Span<float> from, Span<float> to, Int n) {
    Shared<T> tile(length);
    auto i = global_thread_id();
    if_(thread_idx_x() == 0, [&] { tile[length - 1] = T(1); });
    barrier();
    if_(i < n, [&] { to[i] = from[i] + cast<float>(tile[length - 1]); });
  });
}

struct Limit {
  const char* name;
  Reason reason;
  std::function<void(DeviceProperties&)> adjust;
};

class W31Limits : public ::testing::TestWithParam<Limit> {};

TEST_P(W31Limits, W31_AGroupThatWouldPassTheLimitIsSplit) {
  FakeRuntime fake{FakeOptions{.adjust = GetParam().adjust}};
  Vector<float> x{std::vector<float>(1024, 3.0f)}, y(1024), z(1024), w(1024);
  fake.window().keep_decisions(8);
  // Arrays of different types, which add up.
  const auto first = tiled<float>("first"), second = tiled<std::int32_t>("second"),
             third = tiled<std::uint32_t>("third");
  fake.device().launch(first, over(1024), x, y, 1024);
  fake.device().launch(second, over(1024), x, z, 1024);
  fake.device().launch(third, over(1024), x, w, 1024);
  fake.window().flush();
  // Two fit, the third does not.
  EXPECT_EQ(fake.control->count(Driver::launch), 2U);
  EXPECT_EQ(fake.window().stats().fused_groups, 1U);
  EXPECT_EQ(fake.window().decisions().back().reason, GetParam().reason);
  EXPECT_EQ(w[1023], 4.0f);
}

// Each kernel: 4 blocks, 1024 shared bytes, and by the fake's cost 16+16+8 bytes, 2+2+1 slots,
// 4+4+4 push-constant bytes; each member adds 8, 2 and 8.
INSTANTIATE_TEST_SUITE_P(
    Each, W31Limits,
    ::testing::Values(
        Limit{"grid", Reason::grid_limit, [](auto& d) { d.max_grid[0] = 8; }},
        Limit{"shared", Reason::shared_limit, [](auto& d) { d.shared_bytes_per_block = 2048; }},
        Limit{"parameters", Reason::parameter_limit, [](auto& d) { d.parameter_bytes = 96; }},
        Limit{"slots", Reason::slot_limit, [](auto& d) { d.argument_slots = 14; }},
        Limit{"push_constants", Reason::push_constant_limit,
              [](auto& d) { d.push_constant_bytes = 40; }}),
    [](const auto& one) { return one.param.name; });

/// `shared_bytes` a block, and a few kernels held together there.
class W31Shared : public ::testing::Test {
 protected:
  /// Driver launches for one launch of each kernel; each output must be what it is without a
  /// window.
  static std::size_t issued(std::uint32_t shared_bytes, const std::vector<Floats>& kernels) {
    constexpr int kCount = 1000;
    FakeRuntime fake{FakeOptions{
        .adjust = [=](DeviceProperties& d) { d.shared_bytes_per_block = shared_bytes; }}};
    std::vector<float> ramp(kCount);
    std::iota(ramp.begin(), ramp.end(), 0.25f);
    Vector<float> x{std::span<const float>(ramp)};
    const auto run = [&](bool held) {
      fake.window().set_enabled(held);
      std::vector<Vector<float>> outputs;
      for (std::size_t k = 0; k < kernels.size(); ++k) outputs.emplace_back(kCount);
      fake.control->clear();
      for (std::size_t k = 0; k < kernels.size(); ++k) {
        fake.device().launch(kernels[k], over(kCount).block(64), x, outputs[k], kCount);
      }
      fake.window().flush();
      return outputs;
    };
    const auto alone = run(false);
    EXPECT_EQ(fake.control->count(Driver::launch), kernels.size());
    const auto together = run(true);
    for (std::size_t k = 0; k < kernels.size(); ++k) {
      EXPECT_EQ(values(alone[k])[kCount - 1], ramp[kCount - 1] + 1.0f) << k;
      EXPECT_TRUE(same_bits(values(together[k]), values(alone[k]))) << k;
    }
    EXPECT_EQ(fake.window().stats().fallbacks, 0U);
    return fake.control->count(Driver::launch);
  }
};

TEST_F(W31Shared, W31_ArraysOfOneTypeTakeTheLongestAndNotTheSum) {
  const std::vector<Floats> kernels{tiled<float>("short", 100), tiled<float>("long", 256),
                                    tiled<float>("middle", 200)};
  EXPECT_EQ(issued(1024, kernels), 1U);
}

TEST_F(W31Shared, W31_ArraysOfDifferentTypesAddUp) {
  const std::vector<Floats> kernels{tiled<float>("floats"), tiled<std::int32_t>("integers")};
  EXPECT_EQ(issued(2048, kernels), 1U);
  EXPECT_EQ(issued(2032, kernels), 2U);
}

TEST_F(W31Shared, W31_TheLongestShareAndSoDoTheSecondLongest) {
  const auto two = [](const std::string& name, int one_length, int other_length) {
    return kernel(name, [=](Span<float> from, Span<float> to, Int n) {
      Shared<float> one(one_length), other(other_length);
      auto i = global_thread_id();
      if_(thread_idx_x() == 0, [&] {
        one[one_length - 1] = 0.25f;
        other[other_length - 1] = 0.75f;
      });
      barrier();
      if_(i < n, [&] { to[i] = from[i] + one[one_length - 1] + other[other_length - 1]; });
    });
  };
  // 200 and 100 floats.
  const std::vector<Floats> kernels{two("unequal", 48, 200), two("equal", 100, 100)};
  EXPECT_EQ(issued(1200, kernels), 1U);
  EXPECT_EQ(issued(1184, kernels), 2U);
}

TEST_F(W31Shared, W31_AnArrayOfAtomicsIsNotAlsoAPlainOne) {
  const auto counted = kernel("counted", [](Span<float> from, Span<float> to, Int n) {
    Shared<std::int32_t> count(256);
    auto i = global_thread_id();
    if_(thread_idx_x() == 0, [&] { count[0] = 0; });
    barrier();
    if_(thread_idx_x() == 0, [&] { atomic_add(count[0], 1); });
    barrier();
    if_(i < n, [&] { to[i] = from[i] + cast<float>(count[0]); });
  });
  const std::vector<Floats> kernels{counted, tiled<std::int32_t>("plain")};
  EXPECT_EQ(issued(2048, kernels), 1U);
  EXPECT_EQ(issued(1024, kernels), 2U);
}

TEST(W36Slots, W36_AKernelOverTheSlotLimitIsRefusedAtTheCall) {
  FakeRuntime fake{
      FakeOptions{.backend = "Metal", .adjust = [](DeviceProperties& d) { d.argument_slots = 4; }}};
  Vector<float> x(10), y(10);
  try {
    fake.device().launch(scaled("twice", 2.0f), over(10), x, y, 10);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::unsupported);
    EXPECT_EQ(error.kernel(), "twice");
    EXPECT_EQ(error.message(), "its parameters take 5 argument slots and Metal:0 has 4");
  }
}

TEST(W37PushConstants, W37_SixLaunchesOfOneVectorAndThreeScalarsGoAsFivePlusOne) {
  FakeRuntime fake{FakeOptions{.backend = "Vulkan",
                               .adjust = [](DeviceProperties& d) { d.push_constant_bytes = 128; }}};
  const auto set = kernel("set", [](Span<std::int32_t> v, Int a, Int b, Int n) {
    auto i = global_thread_id();
    if_(i < n, [&] { v[i] = a + b * i; });
  });
  std::vector<Vector<std::int32_t>> vectors;
  for (int i = 0; i < 6; ++i) vectors.emplace_back(100);
  for (int i = 0; i < 6; ++i) fake.device().launch(set, over(100), vectors[i], i, 2, 100);
  fake.window().flush();
  EXPECT_EQ(fake.control->launched(), std::vector<std::string>({"fused_set", "set"}));
  for (int i = 0; i < 6; ++i) EXPECT_EQ(vectors[i][99], i + 198);
}

TEST_F(W26Horizontal, W32_SpecialValuesPassUnchanged) {
  const auto pass = [](const std::string& name) {
    return kernel(name, [](Span<float> from, Span<float> to, Int n) {
      auto i = global_thread_id();
      if_(i < n, [&] { to[i] = from[i]; });
    });
  };
  const float special[] = {-0.0f,
                           std::numeric_limits<float>::denorm_min(),
                           1e-42f,
                           std::numeric_limits<float>::infinity(),
                           -std::numeric_limits<float>::infinity(),
                           std::bit_cast<float>(0x7fc12345U),
                           std::bit_cast<float>(0xffc54321U)};
  Vector<float> from{std::span<const float>(special)}, a(7), b(7);
  const auto first = pass("first"), second = pass("second");
  EXPECT_EQ(issued([&] { device.launch(first, over(7), from, a, 7); },
                   [&] { device.launch(second, over(7), from, b, 7); }),
            1U);
  EXPECT_TRUE(same_bits(values(a), special));
  EXPECT_TRUE(same_bits(values(b), special));
}

TEST_F(W26Horizontal, W33_AnEarlyReturnLeavesOnlyThatMember) {
  const auto leaves = kernel("leaves", [](Span<float> from, Span<float> to, Int n) {
    auto i = global_thread_id();
    if_(i >= n, [&] { return_(); });
    to[i] = from[i] + 10.0f;
  });
  EXPECT_EQ(issued([&] { device.launch(leaves, over(kCount), x, y, 3); },
                   [&] { device.launch(negate, over(kCount), x, z, kCount); }),
            1U);
  EXPECT_EQ(y[2], 13.0f);
  EXPECT_EQ(y[3], 0.0f);
  for (float value : values(z)) EXPECT_EQ(value, -3.0f);
}

TEST_F(W26Horizontal, W33_TheSameKernelMayAppearSeveralTimesAndNamesNeverCollide) {
  // Two kernels of one name with different bodies, one of them twice.
  const auto same_name = scaled("twice", 5.0f);
  Vector<float> w(kCount);
  fake.control->clear();
  device.launch(twice, over(kCount), x, y, kCount);
  device.launch(same_name, over(kCount), x, z, kCount);
  device.launch(twice, over(500), x, w, 500);
  fake.window().flush();
  EXPECT_EQ(launches(), 1U);
  EXPECT_EQ(y[999], 6.0f);
  EXPECT_EQ(z[999], 15.0f);
  EXPECT_EQ(w[499], 6.0f);
  EXPECT_EQ(w[500], 0.0f);
}

TEST_F(W26Horizontal, W34_BarriersInsideAMemberStayAligned) {
  // A tree reduction beside an element-wise kernel: the interpreter reports a barrier that some
  // thread of the block does not reach.
  const auto sum = kernel("sum", [](Span<float> from, Span<float> to) {
    Shared<float> tile(256);
    auto t = thread_idx_x();
    tile[t] = from[global_thread_id()];
    barrier();
    Var<std::int32_t> width = 128;
    while_([&] { return width > 0; },
           [&] {
             if_(t < width, [&] { tile[t] += tile[t + width]; });
             barrier();
             width = width / 2;
           });
    if_(t == 0, [&] { to[block_idx_x()] = tile[0]; });
  });
  Vector<float> from{std::vector<float>(512, 1.0f)}, sums(2);
  EXPECT_EQ(issued([&] { device.launch(negate, over(kCount), x, z, kCount); },
                   [&] { device.launch(sum, grid(2).block(256), from, sums); }),
            1U);
  EXPECT_EQ(sums[0], 256.0f);
  EXPECT_EQ(sums[1], 256.0f);
  EXPECT_EQ(z[kCount - 1], -3.0f);
}

TEST_F(W26Horizontal, W35_AnEmptyLaunchEntersNoGroupAndCountsNowhere) {
  device.launch(twice, over(0), x, y, 0);
  device.launch(twice, grid(0).block(256), x, y, 0);
  EXPECT_EQ(fake.window().stats().submitted, 0U);
  EXPECT_EQ(fake.window().stats().held, 0U);
  fake.window().flush();
  EXPECT_EQ(launches(), 0U);
}

TEST_F(W26Horizontal, W35_AZeroBlockIsAnErrorAtTheCall) {
  EXPECT_THROW(device.launch(twice, grid(4).block(0), x, y, kCount), Error);
  EXPECT_EQ(fake.window().stats().submitted, 0U);
}

TEST_F(W26Horizontal, W38_AGroupOfOneKernelIsBuiltOnceForAnyOrderAndNearbyCount) {
  std::vector<Vector<float>> outputs;
  for (int i = 0; i < 8; ++i) outputs.emplace_back(kCount);
  for (const int count : {8, 5, 7, 6}) {
    for (int i = 0; i < count; ++i) {
      device.launch(twice, over(kCount - i), x, outputs[(i * 3) % 8], kCount - i);
    }
    fake.window().flush();
  }
  EXPECT_EQ(fake.control->count(Driver::build), 1U);
  EXPECT_EQ(launches(), 4U);
  EXPECT_EQ(fake.window().stats().fused_cache_hits, 3U);
  EXPECT_EQ(outputs[0][kCount - 1], 6.0f);
}

TEST_F(W26Horizontal, W38_AGroupOfTwoIsBuiltAsOneOfEight) {
  std::vector<Vector<float>> outputs;
  for (int i = 0; i < 8; ++i) outputs.emplace_back(kCount);
  for (const int count : {2, 8, 3}) {
    for (int i = 0; i < count; ++i) device.launch(twice, over(kCount), x, outputs[i], kCount);
    fake.window().flush();
  }
  EXPECT_EQ(fake.control->count(Driver::build), 1U);
  EXPECT_EQ(launches(), 3U);
}

TEST_F(W26Horizontal, W34_EachMemberSeesItsOwnBlocks) {
  // Its own first block is not the group's.
  const auto numbered = [](const std::string& name, int plus) {
    return kernel(name, [plus](Span<std::int32_t> to) {
      to[block_idx_x() * block_dim_x() + thread_idx_x()] = block_idx_x() + plus;
    });
  };
  const auto first = numbered("first", 100), second = numbered("second", 200);
  Vector<std::int32_t> a(128), b(192), c(64);
  for (Vector<std::int32_t>* to : {&a, &b, &c}) {
    const int blocks = static_cast<int>(to->size() / 64);
    device.launch(to == &b ? second : first, grid(blocks).block(64), *to);
  }
  fake.window().flush();
  EXPECT_EQ(launches(), 1U);
  EXPECT_EQ(a[0], 100);
  EXPECT_EQ(a[127], 101);
  EXPECT_EQ(b[0], 200);
  EXPECT_EQ(b[191], 202);
  EXPECT_EQ(c[63], 100);
}

TEST_F(W26Horizontal, W38_TheSameSetInAnotherOrderIsAHit) {
  EXPECT_EQ(issued(launch_twice(), [&] { device.launch(negate, over(kCount), x, z, kCount); }), 1U);
  EXPECT_EQ(issued([&] { device.launch(negate, over(kCount), x, z, kCount); }, launch_twice()), 1U);
  EXPECT_EQ(fake.window().stats().fused_cache_hits, 1U);
  EXPECT_EQ(fake.window().stats().fused_cache_misses, 1U);
  EXPECT_EQ(y[0], 6.0f);
  EXPECT_EQ(z[0], -3.0f);
}

TEST_F(W26Horizontal, W38_TwoHundredAndFiftySixMembersFormOneLaunch) {
  fake.window().set_limits(8, 256);
  constexpr int kMembers = 256;
  Vector<float> from{std::vector<float>(kMembers * 4, 1.0f)}, to(kMembers * 4);
  for (int m = 0; m < kMembers; ++m) {
    device.launch(twice, over(4), from.view(m * 4, 4), to.view(m * 4, 4), m % 4 + 1);
  }
  fake.window().flush();
  EXPECT_EQ(launches(), 1U);
  for (int m = 0; m < kMembers; ++m) {
    for (int i = 0; i < 4; ++i) EXPECT_EQ(to[m * 4 + i], i <= m % 4 ? 2.0f : 0.0f) << m << ' ' << i;
  }
}

TEST(W82Planner, W82_ProfitDeclinesWhatWouldLoseAndSaysSo) {
  FakeRuntime fake{
      FakeOptions{.backend = "OpenCL", .adjust = [](DeviceProperties& d) { d.is_cpu = true; }}};
  fake.window().set_cpu_devices(true);
  const auto tiled = [](const std::string& name) {
    return kernel(name, [](Span<float> from, Span<float> to) {
      Shared<float> tile(256);
      tile[thread_idx_x()] = from[global_thread_id()];
      barrier();
      to[global_thread_id()] = tile[255 - thread_idx_x()];
    });
  };
  Vector<float> x{std::vector<float>(256, 3.0f)}, y(256), z(256);
  const auto first = tiled("first"), second = tiled("second");
  const auto run = [&](Planner planner) {
    fake.window().set_planner(planner);
    fake.control->clear();
    fake.window().keep_decisions(0);
    fake.window().keep_decisions(8);
    fake.device().launch(first, grid(1).block(256), x, y);
    fake.device().launch(second, grid(1).block(256), x, z);
    fake.window().flush();
    return fake.control->count(Driver::launch);
  };
  EXPECT_EQ(run(Planner::always), 1U);
  EXPECT_EQ(run(Planner::profit), 2U);
  EXPECT_EQ(fake.window().decisions().back().reason, Reason::not_profitable);
  EXPECT_EQ(fake.window().decisions().back().kernels, "first+second");
}

TEST(W82Planner, W82_ProfitLeavesLaunchesAloneThatFillTheDeviceManyTimes) {
  FakeRuntime fake{
      FakeOptions{.backend = "CUDA/C", .adjust = [](DeviceProperties& d) { d.compute_units = 1; }}};
  const auto first = scaled("first", 2.0f), second = scaled("second", 3.0f);
  const auto launches = [&](Planner planner, int threads) {
    fake.window().set_planner(planner);
    fake.control->clear();
    Vector<float> x{std::vector<float>(16, 3.0f)}, y(16), z(16);
    const auto blocks = grid(threads / 256).block(256);
    fake.device().launch(first, blocks, x, y, 16);
    fake.device().launch(second, blocks, x, z, 16);
    EXPECT_EQ(y[15], 6.0f);
    EXPECT_EQ(z[15], 9.0f);
    return fake.control->count(Driver::launch);
  };
  EXPECT_EQ(launches(Planner::profit, 4096), 1U);
  EXPECT_EQ(launches(Planner::profit, 131072), 2U);
  EXPECT_EQ(launches(Planner::always, 131072), 1U);
}

}  // namespace salvo::tests
